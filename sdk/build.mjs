// Builds the package into sdk/dist, or into the folder given: its entries as ES modules and CommonJS modules, each with
// declarations of its own kind, and the command line.
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = resolve(process.argv[2] ?? join(here, "dist"));
rmSync(dist, { recursive: true, force: true });

const common = {
  bundle: true,
  platform: "neutral",
  target: "es2022",
  logLevel: "warning",
};
for (const name of ["index", "operator"]) {
  const entryPoints = [join(here, `src/${name}.ts`)];
  await build({ ...common, entryPoints, format: "esm", outfile: join(dist, `${name}.js`) });
  await build({ ...common, entryPoints, format: "cjs", outfile: join(dist, `${name}.cjs`) });
}
// tRPC's own packages stay outside: the errors that the link throws must be those of the application's version.
for (const [format, extension] of [
  ["esm", "js"],
  ["cjs", "cjs"],
]) {
  await build({
    ...common,
    entryPoints: [join(here, "src/trpc.ts")],
    external: ["@trpc/*"],
    format,
    outfile: join(dist, `trpc.${extension}`),
  });
}
await build({
  ...common,
  entryPoints: [join(here, "src/cli/main.ts")],
  platform: "node",
  format: "esm",
  outfile: join(dist, "cli.js"),
  banner: {
    // commander is CommonJS, which asks for Node's own modules in its own way.
    js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
  },
});
chmodSync(join(dist, "cli.js"), 0o755);

const { status } = spawnSync("npx", ["--no-install", "tsc", "-p", here, "--outDir", dist], {
  stdio: ["ignore", "inherit", "inherit"],
});
if (status !== 0) process.exit(status ?? 1);

// TypeScript leaves the imports of declarations as they were written, to `.ts` files that are not published. And it
// takes a declaration's module kind from its name.
for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".d.ts")) continue;
  const path = join(dist, name);
  const text = readFileSync(path, "utf8");
  const importing = (extension) => text.replaceAll(/(["'])(\.\.?\/[^"']+)\.ts\1/g, `$1$2.${extension}$1`);
  writeFileSync(path, importing("js"));
  writeFileSync(path.replace(/\.d\.ts$/, ".d.cts"), importing("cjs"));
}
