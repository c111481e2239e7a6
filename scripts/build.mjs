// Builds everything that ships: sdk/dist, dashboard-ui/dist, docs-site/dist and server/dist, which contains the packed SDK.
//
// --if-stale     builds only the folders whose sources have changed since they were built. `npm start` and `npm test` use it. Contents are compared,
//                and not times: a checkout, or a copy into a container, gives every file a new time.
// --if-possible  exits with 0 if build tools are missing, and reports them. An installation for production has no build tools, and the built
//                folders may be copied into it afterwards.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const onlyStale = process.argv.includes("--if-stale");
const onlyIfPossible = process.argv.includes("--if-possible");

/** A file in each `dist`, with a digest of the sources that it was built from. */
const STAMP = ".sources";

/**
 * The folders to build, in their order. `entry`: a file of the `dist` that exists if it was built. `tools`: the packages that building it needs.
 */
const steps = [
  {
    folder: "sdk",
    entry: "index.js",
    sources: [
      "sdk/src",
      "sdk/build.mjs",
      "scripts/third-party-notices.mjs",
      "sdk/package.json",
      "sdk/tsconfig.json",
    ],
    tools: ["esbuild", "typescript", "commander"],
  },
  {
    folder: "dashboard-ui",
    entry: "index.html",
    sources: [
      "dashboard-ui/src",
      "dashboard-ui/index.html",
      "dashboard-ui/sign-in.html",
      "dashboard-ui/build.mjs",
      "dashboard-ui/vite.config.ts",
      "dashboard-ui/package.json",
      "scripts/compress.mjs",
      "scripts/third-party-notices.mjs",
      "sdk/src",
    ],
    tools: ["vite", "@vitejs/plugin-react"],
  },
  {
    folder: "docs-site",
    entry: "docs/index.html",
    sources: [
      "docs",
      "sdk/README.md",
      "sdk/examples/README.md",
      "docs-site/src",
      "docs-site/browser",
      "docs-site/build.mjs",
      "dashboard-ui/src/styles",
      "scripts/compress.mjs",
    ],
    tools: ["esbuild", "marked"],
  },
  {
    folder: "server",
    entry: "main.js",
    sources: [
      "server/src",
      "server/build.mjs",
      "scripts/third-party-notices.mjs",
      "server/package.json",
      "packages/embedded-postgres",
      "sdk/src",
      "sdk/build.mjs",
      "sdk/package.json",
      "sdk/README.md",
      "sdk/CHANGELOG.md",
    ],
    tools: ["esbuild", "@ostiary/embedded-postgres"],
  },
];

for (const step of steps) build(step);

function build(step) {
  const { folder, entry, sources, tools } = step;
  const isBuilt = existsSync(join(root, folder, "dist", entry));
  // An image may contain a built folder without its sources.
  if (isBuilt && !existsSync(join(root, folder, "src"))) return;
  const stamp = join(root, folder, "dist", STAMP);
  // The lock file counts as a source, because the bundles contain packages of these versions.
  const digest = digestOf([...sources, "tsconfig.base.json", "package-lock.json"]);
  if (onlyStale && isBuilt && existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;

  const missing = tools.filter((tool) => !isInstalled(tool, folder));
  if (missing.length > 0) {
    const packages = missing.join(", ");
    const why = isBuilt ? "was built from other sources than those that are here" : "does not exist";
    process.stderr.write(
      `${folder}/dist ${why}, and building it takes ${packages}, which is not installed.\n` +
        `Run "npm ci && npm run build", or copy a ${folder}/dist that was built from these sources.\n`,
    );
    process.exit(onlyIfPossible ? 0 : 1);
  }
  process.stderr.write(`building ${folder}\n`);
  const { status } = spawnSync(process.execPath, [join(root, folder, "build.mjs")], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, digest);
}

/** A digest of the names and contents of files and of all that is in folders. What does not exist counts as empty. */
function digestOf(paths) {
  const hash = createHash("sha256");
  const add = (path) => {
    const found = statSync(join(root, path), { throwIfNoEntry: false });
    if (found === undefined) return;
    if (found.isDirectory()) {
      for (const name of readdirSync(join(root, path)).sort()) add(`${path}/${name}`);
      return;
    }
    const content = readFileSync(join(root, path));
    hash.update(`${path} ${content.length}\n`).update(content);
  };
  for (const path of paths) add(path);
  return hash.digest("hex");
}

function isInstalled(tool, folder) {
  return [folder, "."].some((place) => existsSync(join(root, place, "node_modules", tool, "package.json")));
}
