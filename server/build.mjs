// Bundles the server's own modules into one file, and the operator's command line into another (dependencies stay in
// node_modules), with the migrations beside them.
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
  sourcemap: true,
  external: Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => [name, `${name}/*`]),
  logLevel: "warning",
});
cpSync(`${here}/src/store/migrations`, `${here}/dist/store/migrations`, { recursive: true });
