import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isCanonicalUuid } from "../contract/ids.ts";
import { codeOf } from "../errors/system-errors.ts";
import { fileSystem } from "../journal/file-system.ts";
import { unusableDataDir } from "./data-dir.ts";

const ID_FILE = "node-id";

/** The name of this process, for people. */
export function nodeLabel(dataDir: string): string {
  return `${hostname()}, process ${process.pid}, data folder ${dataDir}`;
}

/**
 * The node's id. It is stored in the data folder, which one node uses at a time, and so survives a crash.
 *
 * @throws {StartupFailure} when it can't be read, or the folder has none and can't store one, such as on a full disk.
 */
export async function nodeId(dataDir: string): Promise<string> {
  const file = join(dataDir, ID_FILE);
  try {
    const known = (await readFile(file, "utf8").catch(emptyIfMissing)).trim();
    if (isCanonicalUuid(known)) return known;
    const id = randomUUID();
    await fileSystem.replace(file, Buffer.from(`${id}\n`));
    return id;
  } catch (error) {
    throw unusableDataDir(dataDir, error);
  }
}

function emptyIfMissing(error: unknown): string {
  if (codeOf(error) === "ENOENT") return "";
  throw error;
}
