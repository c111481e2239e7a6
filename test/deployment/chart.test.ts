import { readdirSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import { Job } from "kubernetes-models/batch/v1/Job";
import { Ingress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Service } from "kubernetes-models/v1/Service";
import { ServiceAccount } from "kubernetes-models/v1/ServiceAccount";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { readConfig } from "../../server/src/config/config.ts";
import { ROOT } from "../fixtures/service.ts";
import { buildManifests, type Manifests, MISSING_GO } from "./manifests.ts";

const CHART = "deploy/helm/ostiary";
const SAMPLES = readdirSync(join(ROOT, CHART, "ci"));
const BUILD_TIMEOUT_MS = 900_000;

const MODELS = {
  ConfigMap,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
  ServiceMonitor,
  StatefulSet,
};

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly startupProbe: { readonly httpGet: { readonly path: string } };
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly scheme: string } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly kind: keyof typeof MODELS;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly topologySpreadConstraints: readonly unknown[];
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

let manifests: Manifests;
let folder: string;

async function render(values: object | string): Promise<readonly Manifest[]> {
  const file = typeof values === "string" ? join(CHART, "ci", values) : await written(values);
  const { status, stdout, stderr } = manifests.run(["render", CHART, file]);
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

async function written(values: object): Promise<string> {
  const file = join(folder, "values.yaml");
  await writeFile(file, stringify(values));
  return file;
}

function only(objects: readonly Manifest[], kind: Manifest["kind"]): Manifest {
  const [object, ...others] = objects.filter((each) => each.kind === kind);
  if (object === undefined || others.length > 0) throw new Error(`not exactly one ${kind}`);
  return object;
}

function environmentOf({ env }: Container): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

describe.skipIf(MISSING_GO !== null)("the chart", () => {
  beforeAll(async () => {
    manifests = buildManifests();
    folder = await mkdtemp(join(tmpdir(), "ostiary-chart-"));
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    manifests[Symbol.dispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(SAMPLES)(
    "has no fault for Helm's linter, and makes objects that Kubernetes knows: %s",
    async (sample) => {
      const lint = manifests.run(["lint", CHART, join(CHART, "ci", sample)]);
      expect(lint, lint.stdout + lint.stderr).toMatchObject({ status: 0 });
      const { stdout } = manifests.run(["render", CHART, join(CHART, "ci", sample)]);
      const decoded = manifests.run(["decode"], { input: stdout });
      expect(decoded.stderr).toBe("");
      // Kubernetes' types find fields that it does not have; the schemas, what is missing or has a wrong value.
      const objects = await render(sample);
      for (const object of objects) {
        const Model = MODELS[object.kind];
        expect(() => new Model(object as never).validate(), JSON.stringify(object)).not.toThrow();
      }
      expect(decoded.stdout.trim().split("\n")).toHaveLength(objects.length);
    },
  );

  it.each(SAMPLES)(
    "mounts each volume that it has, and sets only settings that exist: %s",
    async (sample) => {
      const documented = await readFile(join(ROOT, "docs/reference/configuration.md"), "utf8");
      for (const { kind, spec } of await render(sample)) {
        if (kind !== "StatefulSet" && kind !== "Job") continue;
        const pod = spec.template.spec;
        const [container] = pod.containers;
        const claimed = kind === "StatefulSet" && !sample.startsWith("single") ? ["data"] : [];
        expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(
          [...claimed, ...pod.volumes.map(({ name }) => name)].sort(),
        );
        for (const name of Object.keys(environmentOf(container))) {
          const setting = documented.includes(`\`${name}\``) ? name : name.replace(/_FILE$/, "");
          expect(documented, name).toContain(`\`${setting}\``);
        }
      }
    },
  );

  it("takes every secret from an existing Secret, as a file", async () => {
    const [container] = only(await render("replicated-values.yaml"), "StatefulSet").spec.template.spec
      .containers;
    expect(environmentOf(container)).toMatchObject({
      DATABASE_URL_FILE: "/run/secrets/database/url",
      DATABASE_CA_FILE: "/run/secrets/database-ca/ca.crt",
      REDIS_URL_FILE: "/run/secrets/redis/url",
      REDIS_CA_FILE: "/run/secrets/redis-ca/ca.crt",
      OSTIARY_OPERATOR_PASSWORD_FILE: "/run/secrets/operator/password",
      OSTIARY_RESPONSES_KEY_FILE: "/run/secrets/responses-key/key",
      TLS_CERT_FILE: "/run/secrets/tls/tls.crt",
      TLS_KEY_FILE: "/run/secrets/tls/tls.key",
    });
  });

  it("mounts the whole Secret of an upstream's credential, where the catalog finds its file", async () => {
    const objects = await render("replicated-values.yaml");
    const { containers, volumes } = only(objects, "StatefulSet").spec.template.spec;
    const mount = containers[0].volumeMounts.find(
      ({ mountPath }) => mountPath === "/run/secrets/credentials/models-credentials",
    );
    // Kubernetes does not update files that are mounted one by one.
    expect(mount).not.toHaveProperty("subPath");
    expect(volumes.find(({ name }) => name === mount?.name)).toMatchObject({
      secret: { secretName: "models-credentials" },
    });
  });

  it("writes large numbers of settings as the service reads them", async () => {
    const settings = { OSTIARY_MAX_BODY_BYTES: 20_971_520, OSTIARY_SERVICE_NAME: 'Our "models"' };
    const [container] = only(await render({ settings }), "StatefulSet").spec.template.spec.containers;
    expect(environmentOf(container)).toMatchObject({
      OSTIARY_MAX_BODY_BYTES: "20971520",
      OSTIARY_SERVICE_NAME: 'Our "models"',
    });
  });

  it("gives the service the outgoing proxy of its settings", async () => {
    const settings = { HTTPS_PROXY: "http://proxy.example.com:3128", NO_PROXY: "10.0.0.0/8,.internal" };
    const [container] = only(await render({ settings }), "StatefulSet").spec.template.spec.containers;
    expect(environmentOf(container)).toMatchObject(settings);
  });

  it("lets the service listen where the probes of a cluster with IPv6 find it", async () => {
    const listensAt = async (values: object) =>
      environmentOf(only(await render(values), "StatefulSet").spec.template.spec.containers[0]).HOST;
    expect(await listensAt({})).toBe("0.0.0.0");
    expect(await listensAt({ listenAddress: "::" })).toBe("::");
  });

  it("gives Prometheus the job's name that the alert rules expect", async () => {
    const values = { nameOverride: "gateway", metrics: { serviceMonitor: { enabled: true } } };
    const { spec } = only(await render(values), "ServiceMonitor") as unknown as {
      spec: {
        endpoints: readonly { relabelings: readonly { targetLabel: string; replacement: string }[] }[];
      };
    };
    const [job] = spec.endpoints.flatMap(({ relabelings }) => relabelings);
    expect(job?.targetLabel).toBe("job");
    const rules = await readFile(join(ROOT, "deploy/alerts/ostiary.yaml"), "utf8");
    expect(rules).toContain(`up{job="${job?.replacement}"}`);
  });

  it("migrates an external database before pods of a new version start", async () => {
    const job = only(await render("replicated-values.yaml"), "Job");
    expect(job.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-install,pre-upgrade" });
    expect(job.spec.template.spec.containers[0].args).toEqual(["migrate"]);
    // What the hook needs exists before the release.
    expect(job.spec.template.spec).not.toHaveProperty("serviceAccountName");
    const pods = only(await render("replicated-values.yaml"), "StatefulSet").spec.template.spec;
    expect(environmentOf(pods.containers[0])).toMatchObject({ OSTIARY_MIGRATE: "0" });
    expect((await render("bundled-values.yaml")).map(({ kind }) => kind)).not.toContain("Job");
  });

  it("gives pods longer than their shutdown takes, and a probe for each question", async () => {
    const { spec } = only(await render("replicated-values.yaml"), "StatefulSet");
    const pod = spec.template.spec;
    const [container] = pod.containers;
    const config = readConfig({ ...environmentOf(container), ...WITHOUT_FILES });
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(config.prestopS + config.drainS + 5);
    expect(container).toMatchObject({
      startupProbe: { httpGet: { path: "/healthz" } },
      livenessProbe: { httpGet: { path: "/healthz" } },
      readinessProbe: { httpGet: { path: "/readyz", scheme: "HTTPS" } },
    });
    expect(pod.topologySpreadConstraints).toHaveLength(2);
  });

  it("scales by the autoscaler alone, and keeps pods during disruptions", async () => {
    const objects = await render("replicated-values.yaml");
    expect(only(objects, "StatefulSet").spec).not.toHaveProperty("replicas");
    only(objects, "HorizontalPodAutoscaler");
    only(objects, "PodDisruptionBudget");
    const external = { database: { existingSecret: "a" }, redis: { existingSecret: "b" } };
    const three = await render({ replicaCount: 3, ...external });
    expect(only(three, "StatefulSet").spec.replicas).toBe(3);
    only(three, "PodDisruptionBudget");
  });

  it.each([
    [{ replicaCount: 2 }, "existingSecret"],
    [{ replicaCount: 2, database: { existingSecret: "a" } }, "/redis/existingSecret"],
    [{ replicaCount: 2, redis: { existingSecret: "a" } }, "/database/existingSecret"],
    [{ autoscaling: { enabled: true } }, "existingSecret"],
    [{ persistence: { enabled: false } }, "/database/existingSecret"],
    [{ settings: { DATABASE_URL: "postgres://user:password@host/db" } }, "DATABASE_URL"],
    [{ settings: { OSTIARY_OPERATOR_PASSWORD: "a password" } }, "OSTIARY_OPERATOR_PASSWORD"],
    [{ settings: { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer" } }, "OTEL_EXPORTER_OTLP_HEADERS"],
    [{ settings: { HTTPS_PROXY: "http://user:password@proxy.example.com:3128" } }, "/settings/HTTPS_PROXY"],
    [{ settings: { OSTIARY_DEMO: false } }, "/settings/OSTIARY_DEMO"],
    [{ metrics: { port: 8080 } }, "/metrics/port"],
    [{ operator: { email: "operator@example.com" } }, "/operator/existingSecret"],
    [{ ingress: { enabled: true } }, "/ingress/host"],
    [{ replicas: 2 }, "replicas"],
  ])("refuses values that cannot work: %j", async (values, reason) => {
    const { status, stderr } = manifests.run(["render", CHART, await written(values)]);
    expect(status).toBe(1);
    expect(stderr).toContain(reason);
  });
});

/** Files that exist in the cluster only. */
const WITHOUT_FILES = Object.fromEntries(
  [
    "DATABASE_URL_FILE",
    "DATABASE_CA_FILE",
    "REDIS_URL_FILE",
    "REDIS_CA_FILE",
    "OSTIARY_OPERATOR_PASSWORD_FILE",
    "OSTIARY_OPERATOR_EMAIL",
    "OSTIARY_RESPONSES_KEY_FILE",
    "TLS_CERT_FILE",
    "TLS_KEY_FILE",
  ].map((name) => [name, undefined]),
);
