// Builds the package into sdk/dist, or into the folder given: its entries as ES modules and CommonJS modules, each with
// declarations of its own kind and a source map; the command line; and the licenses of the packages bundled with it.
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { thirdPartyNotices } from "../scripts/third-party-notices.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = resolve(process.argv[2] ?? join(here, "dist"));
rmSync(dist, { recursive: true, force: true });

/** Source files of every bundle, by their paths in the repository. */
const inputs = new Set();

/** Bundles an entry of sdk/src into dist. Its source map contains the sources, which are not published otherwise. */
async function bundle(entry, outfile, options) {
  const { metafile } = await build({
    absWorkingDir: join(here, ".."),
    entryPoints: [join(here, "src", entry)],
    outfile: join(dist, outfile),
    bundle: true,
    platform: "neutral",
    target: "es2022",
    sourcemap: true,
    sourcesContent: true,
    metafile: true,
    logLevel: "warning",
    ...options,
  });
  for (const input of Object.keys(metafile.inputs)) inputs.add(input);
}

/** Takes the classes of errors from the package's main module: an application finds out by `instanceof` what was thrown. */
function errorsOf(path) {
  return {
    name: "errors",
    setup: ({ onResolve }) =>
      onResolve({ filter: /\/errors\.ts$/ }, () => ({ path, external: true, sideEffects: false })),
  };
}

for (const [format, extension] of [
  ["esm", "js"],
  ["cjs", "cjs"],
]) {
  await bundle("index.ts", `index.${extension}`, { format });
  const plugins = [errorsOf(`./index.${extension}`)];
  await bundle("operator.ts", `operator.${extension}`, { format, plugins });
  // tRPC's own packages stay outside: the errors that the link throws must be those of the application's version.
  await bundle("trpc.ts", `trpc.${extension}`, { format, plugins, external: ["@trpc/*"] });
}
await bundle("cli/main.ts", "cli.js", {
  platform: "node",
  format: "esm",
  banner: {
    // commander is CommonJS, which asks for Node's own modules in its own way.
    js: '#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
  },
});
// If esbuild is still running when this process ends, it may print that it is in a deadlock.
await stop();
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

writeFileSync(join(dist, "THIRD-PARTY-NOTICES.txt"), thirdPartyNotices("The package ostiary", [...inputs]));
