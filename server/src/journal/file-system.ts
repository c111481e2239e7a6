import { writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, isDiskFull } from "../errors/system-errors.ts";

/** A file that is created and removed at start, to test whether its folder is writable. */
const TRIAL_NAME = "writable";
/** Errors of file systems that can't sync a folder, or of folders that the service may use but not read. PostgreSQL ignores the same. */
const CANNOT_SYNC = new Set(["EISDIR", "EACCES", "EPERM", "EBADF", "EINVAL", "ENOTSUP"]);

/** A journal file that is open for appending. */
export interface JournalFile {
  /** Distinguishes the file from another one at the same path: see {@link JournalFiles.identityAt}. */
  readonly identity: string;
  /** Appends all bytes. If it throws, a part of them may have been written. */
  write(bytes: Uint8Array): void;
  /** Resolves when everything that was written has reached the disk. */
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** The file system as the journal uses it. Tests replace it with one that is full, read-only or broken. */
export interface JournalFiles {
  /** Creates a folder and its parents. Their names have reached the disk when this resolves. */
  makeFolder(path: string): Promise<void>;
  names(folder: string): Promise<readonly string[]>;
  /** Creates a file. @throws if the path exists. */
  create(path: string): Promise<JournalFile>;
  /** Resolves when the names of the files in a folder have reached the disk. */
  syncFolder(path: string): Promise<void>;
  /** The identity of the file at a path; `null` if there is none. */
  identityAt(path: string): Promise<string | null>;
  /** The content of a file. @throws {NotAFile} */
  read(path: string): Promise<Uint8Array>;
  /** Replaces a file's content atomically. The content and the name have reached the disk when this resolves. */
  replace(path: string, content: Uint8Array): Promise<void>;
  /** Renames a file within its folder. The name has reached the disk when this resolves. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file if it exists. */
  remove(path: string): Promise<void>;
}

/** The path is a folder, a device or a pipe. */
class NotAFile extends Error {
  override readonly name = "NotAFile";
}

/** The file system. */
export const fileSystem: JournalFiles = {
  makeFolder: async (path) => {
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let made = resolve(path); made.length >= first.length; made = dirname(made))
      await syncFolder(dirname(made));
  },
  names: (folder) => readdir(folder),
  create: async (path) => openedFile(await open(path, "ax", 0o600)),
  syncFolder,
  identityAt: async (path) => {
    try {
      return identityOf(await stat(path, { bigint: true }));
    } catch (error) {
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
      throw error;
    }
  },
  read: async (path) => {
    // Reading a pipe would wait.
    if (!(await stat(path)).isFile()) throw new NotAFile("it is not a file");
    return readFile(path);
  },
  replace: async (path, content) => {
    const unfinished = `${path}.new`;
    const file = await open(unfinished, "w", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
    await syncFolder(dirname(path));
  },
  rename: async (from, to) => {
    await rename(from, to);
    await syncFolder(dirname(to));
  },
  remove: (path) => rm(path, { force: true }),
};

/** Requires that files can be created in a folder. A full disk counts as writable: what is deleted later makes room. @throws the system's error. */
export async function requireWritableFolder(folder: string, files: JournalFiles = fileSystem): Promise<void> {
  const path = join(folder, TRIAL_NAME);
  try {
    await files.remove(path);
    const file = await files.create(path);
    await file.close();
    await files.remove(path);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}

/** Resolves when the names of the files in a folder have reached the disk, if its file system can do that. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!CANNOT_SYNC.has(codeOf(error) ?? "")) throw error;
  }
}

async function openedFile(file: FileHandle): Promise<JournalFile> {
  const identity = identityOf(await file.stat({ bigint: true }));
  return {
    identity,
    // The write is synchronous: passing some hundred bytes to the operating system takes less CPU time than passing them to
    // another thread. `datasync` waits for the disk.
    write: (bytes) => {
      for (let written = 0; written < bytes.length; ) written += writeSync(file.fd, bytes, written);
    },
    datasync: () => file.datasync(),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
  };
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}
