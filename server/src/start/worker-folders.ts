import { access, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

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
  const names = await readdir(dataDir).catch(() => []);
  const numbers = names.map((name) => Number(WORKER_FOLDER.exec(name)?.[1] ?? 0));
  const continued = workers > 1 ? workers : 0;
  const beyond = numbers.filter((number) => number > continued).sort((a, b) => a - b);
  const folders = beyond.map((number) => workerFolder(dataDir, number));
  const wasAlone = workers > 1 && (await exists(join(dataDir, "node-id")));
  return wasAlone ? [dataDir, ...folders] : folders;
}

/** Removes a folder that has no entries left. @returns whether it had none. */
export async function removeDrained(folder: string, dataDir: string): Promise<boolean> {
  const journal = await readdir(join(folder, "journal")).catch(() => []);
  if (journal.length > 0) return false;
  // The data folder has more than what its node left.
  await rm(folder === dataDir ? join(dataDir, "node-id") : folder, { recursive: true, force: true });
  return true;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
