// Builds everything that ships: sdk/dist, dashboard-ui/dist and server/dist. With --if-stale, only what is older
// than its sources, so that `npm start` and `npm test` never run yesterday's code and cost nothing otherwise.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const onlyStale = process.argv.includes("--if-stale");

/** Newest modification time below a path, in milliseconds; 0 where there is nothing. */
function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const steps = [
  {
    name: "sdk",
    made: "sdk/dist/index.js",
    sources: ["sdk/src", "sdk/build.mjs", "sdk/package.json"],
    script: "sdk/build.mjs",
  },
  {
    name: "dashboard-ui",
    made: "dashboard-ui/dist/index.html",
    sources: [
      "dashboard-ui/src",
      "dashboard-ui/index.html",
      "dashboard-ui/build.mjs",
      "dashboard-ui/package.json",
    ],
    script: "dashboard-ui/build.mjs",
  },
  {
    name: "server",
    made: "server/dist/main.js",
    sources: ["server/src", "sdk/src/contract", "server/build.mjs", "server/package.json"],
    script: "server/build.mjs",
  },
];

for (const step of steps) {
  const made = newest(join(root, step.made));
  if (onlyStale && made > 0 && step.sources.every((source) => newest(join(root, source)) <= made)) continue;
  process.stderr.write(`building ${step.name}\n`);
  const { status } = spawnSync(process.execPath, [join(root, step.script)], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0) process.exit(status ?? 1);
}
