import { access, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../errors/system-errors.ts";
import { unusableDataDir } from "../data-dir.ts";

const WORKER_FOLDER = /^worker-(\d+)$/;

/** The data folder of a worker. It is the same at each start, so that a worker finds the journal of an earlier one. */
export function workerFolder(dataDir: string, number: number): string {
  return join(dataDir, `worker-${number}`);
}

/**
 * Returns the folders of nodes that this start does not continue: those of workers beyond `workers`, and the data folder itself
 * if one process used it before. With one worker, that process uses the data folder itself.
 */
export async function leftoverFolders(dataDir: string, workers: number): Promise<readonly string[]> {
  const names = await namesIn(dataDir).catch((error: unknown) => {
    throw unusableDataDir(dataDir, error);
  });
  const numbers = names.map((name) => Number(WORKER_FOLDER.exec(name)?.[1] ?? 0));
  const continued = workers > 1 ? workers : 0;
  const beyond = numbers.filter((number) => number > continued).sort((a, b) => a - b);
  const folders = beyond.map((number) => workerFolder(dataDir, number));
  const wasAlone = workers > 1 && (await exists(join(dataDir, "node-id")));
  return wasAlone ? [dataDir, ...folders] : folders;
}

/** Removes a folder that has no entries left. @returns `false` if it may have some, such as when its journal can't be read. */
export async function removeDrained(folder: string, dataDir: string): Promise<boolean> {
  const journal = await namesIn(join(folder, "journal")).catch(() => null);
  if (journal === null || journal.length > 0) return false;
  // The data folder has more than what its node left.
  await rm(folder === dataDir ? join(dataDir, "node-id") : folder, { recursive: true, force: true });
  return true;
}

/** The names in a folder; none if it does not exist. */
function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
