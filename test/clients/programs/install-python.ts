import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const FOLDER = dirname(fileURLToPath(import.meta.url));
/** For a test that calls {@link installPython}. */
export const PYTHON_TIMEOUT_MS = 300_000;

/** Installs the packages of requirements.txt when they are needed for the first time. @returns the folder of `python`. */
export async function installPython(): Promise<string> {
  const requirements = join(FOLDER, "requirements.txt");
  const digest = createHash("sha256").update(await readFile(requirements));
  const environment = join(FOLDER, "node_modules", `.python-${digest.digest("hex").slice(0, 12)}`);
  if (await exists(environment)) return join(environment, "bin");
  await mkdir(join(FOLDER, "node_modules"), { recursive: true });
  // Installed aside and then renamed: an installation that was interrupted is never used.
  const aside = await mkdtemp(join(FOLDER, "node_modules", ".python-"));
  try {
    await run("python3", ["-m", "venv", aside]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"];
    await run(join(aside, "bin/python"), [...pip, "--requirement", requirements]);
    await rename(aside, environment);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return join(environment, "bin");
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
