// Prints the software bill of materials of the package ostiary-server, as CycloneDX: what npm installs with it, and the packages of which
// its bundles contain files, as their notices list them. What only builds or tests it is left out.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BUNDLES = ["server/dist", "dashboard-ui/dist"];

const everything = sbomOf();
const installed = refsOf(sbomOf("--omit", "dev"));
const bundled = new Set(BUNDLES.flatMap(noticed));
const components = everything.components
  .filter((component) => installed.has(component["bom-ref"]) || bundled.has(component["bom-ref"]))
  .filter(isForeign);
const missing = [...bundled].filter((ref) => !components.some((component) => component["bom-ref"] === ref));
if (missing.length > 0) throw new Error(`npm does not know these bundled packages: ${missing.join(", ")}`);

const { version, license } = manifest("server/package.json");
const self = `ostiary-server@${version}`;
const refs = new Set(components.map((component) => component["bom-ref"]));
const dependencies = everything.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
const component = {
  "bom-ref": self,
  type: "application",
  name: "ostiary-server",
  version,
  purl: `pkg:npm/${self}`,
  licenses: [{ license: { id: license } }],
};
const sbom = {
  ...everything,
  metadata: { ...everything.metadata, component },
  components,
  dependencies: [{ ref: self, dependsOn: [...refs] }, ...dependencies],
};
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`);

function sbomOf(...options) {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only", ...options];
  const text = execFileSync("npm", args, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1_024 * 1_024,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return JSON.parse(text);
}

function refsOf({ components: listed }) {
  return new Set(listed.map((each) => each["bom-ref"]));
}

/** The packages that the notices of a bundle name, as `name@version`. */
function noticed(folder) {
  const text = readFileSync(join(ROOT, folder, "THIRD-PARTY-NOTICES.txt"), "utf8");
  return [...text.matchAll(/^-{80}\n\n(\S+) (\S+) \(/gm)].map(([, name, of]) => `${name}@${of}`);
}

/** The repository's own packages are the described software itself. */
function isForeign({ properties = [] }) {
  return !properties.some(({ name, value }) => name === "cdx:npm:package:private" && value === "true");
}

function manifest(path) {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}
