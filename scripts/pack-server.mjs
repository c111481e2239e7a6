// Packs the service as the npm package `ostiary-server`: the built server with its migrations, the dashboard, the documentation and the
// package of the SDK. What the bundle contains is no dependency; only packages with binaries are.
//
//   node scripts/pack-server.mjs [folder]    writes the tarball there, by default to the working folder, and prints its path
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BUILT = ["server/dist", "dashboard-ui/dist", "docs-site/dist"];
/** What stays outside of the bundle: see EXTERNAL in server/build.mjs. */
const DEPENDENCIES = ["oslo"];
const read = (path) => readFileSync(join(ROOT, path), "utf8");
const json = (path) => JSON.parse(read(path));

const destination = resolve(process.argv[2] ?? ".");
execFileSync(process.execPath, [join(ROOT, "scripts/build.mjs"), "--if-stale"], {
  stdio: ["ignore", "ignore", "inherit"],
});
const staged = mkdtempSync(join(tmpdir(), "ostiary-server-"));
try {
  stage(staged);
  const name = execFileSync("npm", ["pack", "--silent", "--pack-destination", destination], {
    cwd: staged,
    encoding: "utf8",
  });
  process.stdout.write(`${join(destination, name.trim())}\n`);
} finally {
  rmSync(staged, { recursive: true, force: true });
}

/** Fills a folder with what the package contains, where the built server looks for it. */
function stage(folder) {
  for (const path of BUILT) {
    const filter = (source) => basename(source) !== ".sources";
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter });
  }
  for (const name of ["LICENSE", "CHANGELOG.md"]) cpSync(join(ROOT, name), join(folder, name));
  cpSync(join(ROOT, "server/README.md"), join(folder, "README.md"));
  const notices = ["server/dist", "dashboard-ui/dist"].map((path) => read(`${path}/THIRD-PARTY-NOTICES.txt`));
  writeFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), notices.join("\n"));
  const { version } = json("server/package.json");
  writeJson(join(folder, "server/package.json"), { private: true, version, type: "module" });
  writeJson(join(folder, "package.json"), manifestOf(version));
}

function manifestOf(version) {
  const { description, license, engines } = json("package.json");
  const { dependencies } = json("server/package.json");
  return {
    name: "ostiary-server",
    version,
    description,
    keywords: ["ostiary", "ai", "llm", "gateway", "proxy", "openai", "anthropic", "audit-log", "rate-limit"],
    license,
    author: "The Ostiary authors",
    type: "module",
    engines,
    bin: { "ostiary-server": "server/dist/ostiary-server.js" },
    files: ["server", "dashboard-ui", "docs-site", "THIRD-PARTY-NOTICES.txt", "CHANGELOG.md"],
    dependencies: Object.fromEntries(DEPENDENCIES.map((name) => [name, dependencies[name]])),
    optionalDependencies: json("packages/embedded-postgres/package.json").optionalDependencies,
  };
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
