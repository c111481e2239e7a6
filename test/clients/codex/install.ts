import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const BINARY = join(FOLDER, "node_modules/.bin/codex");

/** The Codex CLI, which is installed beside this file when it is needed for the first time. @returns the path of its command. */
export async function installCodex(): Promise<string> {
  try {
    await access(BINARY);
  } catch {
    await promisify(execFile)("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: FOLDER });
  }
  return BINARY;
}
