// Command manifests checks what is deployed with the tools that read it: the chart with Helm's own linter and templates, Kubernetes
// objects with the types of its API, Compose files with Compose's own loader.
//
//	manifests lint <chart> <values.yaml>      prints what Helm's linter finds; fails for warnings
//	manifests render <chart> <values.yaml>    prints the manifests
//	manifests decode                          reads manifests; fails for a field that the API does not have
//	manifests compose <compose.yaml>          prints the project as Compose understands it, as JSON
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

const kubeVersion = "v1.30.0"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 3 && arguments[0] == "lint":
		return lintChart(arguments[1], arguments[2])
	case len(arguments) == 3 && arguments[0] == "render":
		return renderChart(arguments[1], arguments[2])
	case len(arguments) == 1 && arguments[0] == "decode":
		return decodeManifests(os.Stdin)
	case len(arguments) == 2 && arguments[0] == "compose":
		return loadCompose(arguments[1])
	}
	return errors.New("usage: manifests lint|render <chart> <values.yaml>, manifests decode, manifests compose <file>")
}

func lintChart(folder, valuesFile string) error {
	values, err := chartutil.ReadValuesFile(valuesFile)
	if err != nil {
		return err
	}
	version := &chartutil.KubeVersion{Version: kubeVersion, Major: "1", Minor: "30"}
	linter := lint.AllWithKubeVersion(folder, values, "default", version)
	for _, message := range linter.Messages {
		fmt.Println(message.Error())
	}
	if linter.HighestSeverity >= support.WarningSev {
		return errors.New("the linter has warnings or errors")
	}
	return nil
}

func renderChart(folder, valuesFile string) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	given, err := chartutil.ReadValuesFile(valuesFile)
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: "demo", Namespace: "default", Revision: 1, IsInstall: true}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: kubeVersion, Major: "1", Minor: "30"}
	// This applies values.schema.json.
	values, err := chartutil.ToRenderValues(chart, given, release, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(text) != "" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("---\n# %s\n%s\n", name, strings.TrimSpace(files[name]))
	}
	return nil
}

func decodeManifests(input io.Reader) error {
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	text, err := io.ReadAll(input)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text))
	for {
		var document json.RawMessage
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(document) == 0 || string(document) == "null" {
			continue
		}
		var object runtime.Object
		if object, _, err = strict.Decode(document, nil, nil); err != nil {
			return fmt.Errorf("%w in %s", err, document)
		}
		fmt.Println(object.GetObjectKind().GroupVersionKind().String())
	}
}

func loadCompose(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv, cli.WithName("ostiary"))
	if err != nil {
		return err
	}
	// This applies the schema of the Compose specification.
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}
