import { execFile } from "node:child_process";
import { access, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const PROGRAMS = join(FOLDER, "node_modules/.bin");
/** Exists when everything is installed. */
const INSTALLED = join(FOLDER, "node_modules/.package-lock.json");
/** Exists while some test file installs. */
const LOCK = join(FOLDER, "installing");
const POLL_MS = 500;

/** For a hook that calls {@link installPrograms}. */
export const INSTALL_TIMEOUT_MS = 300_000;

/** Installs the programs beside this file when they are needed for the first time. @returns the folder of their commands. */
export async function installPrograms(): Promise<string> {
  const deadline = Date.now() + INSTALL_TIMEOUT_MS;
  while (!(await exists(INSTALLED)) || (await exists(LOCK))) {
    if (Date.now() > deadline)
      throw new Error(`${LOCK} remains of an installation that was interrupted: delete it`);
    try {
      await mkdir(LOCK);
    } catch {
      // Another test file installs them.
      await setTimeout(POLL_MS);
      continue;
    }
    try {
      await promisify(execFile)("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
        cwd: FOLDER,
      });
    } finally {
      await rm(LOCK, { recursive: true, force: true });
    }
  }
  return PROGRAMS;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
