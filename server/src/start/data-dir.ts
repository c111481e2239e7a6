import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { codeOf, fileReasonOf, fileRemedyOf, isDiskFull } from "../errors/system-errors.ts";
import { requireWritableFolder, syncFolder } from "../journal/file-system.ts";
import { StartupFailure } from "./startup-failure.ts";

/** The reasons of errors that mean something else for a folder that is to be created. */
const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "it is not a folder",
  // The answer of file systems that take no folders or files, such as /proc.
  ENOENT: "folders and files cannot be created there",
};

/** A file system becomes read-only by itself after an error of its disk. In another folder the service would then have none of its data. */
const AFTER_DISK_ERROR = "If it was writable before, read the log of the system (dmesg), and check the disk.";

/** Creates the data folder if it does not exist. @throws {StartupFailure} if it can't be created or written to. */
export async function openDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir);
    await requireWritableFolder(dataDir);
  } catch (error) {
    if (isDiskFull(error)) return;
    throw unusableDataDir(dataDir, error);
  }
}

/** Why the data folder can't be used, after an error of the system. */
export function unusableDataDir(dataDir: string, error: unknown): StartupFailure {
  const reason = REASONS[codeOf(error) ?? ""] ?? fileReasonOf(error);
  const user = process.getuid?.();
  const who = user === undefined ? "the service" : `user ${user}, which runs the service,`;
  const folder = `a folder that ${who} can write to`;
  const remedy =
    codeOf(error) === "EROFS"
      ? `${AFTER_DISK_ERROR} Otherwise mount it read-write, or set OSTIARY_DATA_DIR to ${folder}.`
      : (fileRemedyOf(error) ?? `Set OSTIARY_DATA_DIR to ${folder}.`);
  return new StartupFailure(
    `The data folder ${dataDir} of OSTIARY_DATA_DIR cannot be used: ${reason}. ${remedy}`,
  );
}

/** Creates a folder and those above it. Node's recursive `mkdir` never ends below a folder that takes no folders, such as /proc. */
async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  await makeFolder(dirname(folder));
  await mkdir(folder).catch(async (error: unknown) => {
    // Another worker may have created it in the meantime.
    if (!(await isFolder(folder))) throw error;
  });
  await syncFolder(dirname(folder));
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
