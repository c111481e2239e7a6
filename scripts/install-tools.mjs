// Installs the packages that only tests and checks need. They have lock files of their own, so that an installation of the service does not
// download them. Does nothing for a folder whose packages were installed from its present lock file.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["test", "packages/sdk-reference"];
/** A digest of the lock from which a folder's packages were installed. */
const STAMP = "node_modules/.installed-lock";

for (const folder of FOLDERS) install(join(root, folder));

function install(folder) {
  const digest = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  const stamp = join(folder, STAMP);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  process.stderr.write(`installing the packages of ${folder}\n`);
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, digest);
}
