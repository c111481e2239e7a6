// Builds sdk/dist: one ES module and one CommonJS module, each with declarations of its own kind.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "dist");
rmSync(dist, { recursive: true, force: true });

const common = {
  entryPoints: [join(here, "src/index.ts")],
  bundle: true,
  platform: "neutral",
  target: "es2022",
  logLevel: "warning",
};
await build({ ...common, format: "esm", outfile: join(dist, "index.js") });
await build({ ...common, format: "cjs", outfile: join(dist, "cjs/index.js") });

const { status } = spawnSync("npx", ["--no-install", "tsc", "-p", here], {
  stdio: ["ignore", "inherit", "inherit"],
});
if (status !== 0) process.exit(status ?? 1);

// A declaration file takes its module kind from the nearest package.json.
mkdirSync(join(dist, "cjs"), { recursive: true });
writeFileSync(join(dist, "cjs/package.json"), '{ "type": "commonjs" }\n');
for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  if (name.endsWith(".d.ts") && !name.startsWith("cjs")) cpSync(join(dist, name), join(dist, "cjs", name));
}
