// Bundles the server's own modules, and the operator's command line (dependencies stay in node_modules), with the
// migrations beside them. What is loaded only where it is asked for stays in chunks of its own: in one file the packages
// that it imports would be loaded at every start.
import { cpSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${here}/package.json`, "utf8"));

rmSync(`${here}/dist`, { recursive: true, force: true });
await build({
  entryPoints: [`${here}/src/main.ts`, `${here}/src/operator.ts`],
  outdir: `${here}/dist`,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  splitting: true,
  // Beside main.js, as what looks for a file starts from where its module is.
  chunkNames: "[name]-[hash]",
  sourcemap: true,
  external: Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => [name, `${name}/*`]),
  logLevel: "warning",
});
cpSync(`${here}/src/store/migrations`, `${here}/dist/store/migrations`, { recursive: true });
