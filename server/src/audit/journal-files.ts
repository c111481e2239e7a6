import { writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";

/** A file that the journal appends to. */
export interface JournalFile {
  /** Tells the file from another one that has come to stand at its path: see {@link JournalFiles.identityAt}. */
  readonly identity: string;
  /** Appends all of the bytes. When it throws a part of them may have been written. */
  write(bytes: Uint8Array): void;
  /** Resolves when what was written has reached the disk. */
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** What the journal does with the file system. Tests give it one that is full, read-only or broken. */
export interface JournalFiles {
  /** With the folders above it. */
  makeFolder(path: string): Promise<void>;
  names(folder: string): Promise<readonly string[]>;
  /** @throws when there is something of that name. */
  create(path: string): Promise<JournalFile>;
  /** Resolves when the names of the files in a folder have reached the disk. */
  syncFolder(path: string): Promise<void>;
  /** What stands at a path; `null`: nothing. */
  identityAt(path: string): Promise<string | null>;
  /** The content of a file. @throws {NotAFile} */
  read(path: string): Promise<Uint8Array>;
  /** Replaces a file's content, all or nothing; it has reached the disk when this resolves. */
  replace(path: string, content: Uint8Array): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, if it is there. */
  remove(path: string): Promise<void>;
}

/** A folder, a device or a pipe where a file should be. */
export class NotAFile extends Error {
  override readonly name = "NotAFile";
}

/** The file system. */
export const fileSystem: JournalFiles = {
  makeFolder: async (path) => void (await mkdir(path, { recursive: true, mode: 0o700 })),
  names: (folder) => readdir(folder),
  create: async (path) => openedFile(await open(path, "ax", 0o600)),
  syncFolder: async (path) => {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
  identityAt: async (path) => {
    try {
      return identityOf(await stat(path, { bigint: true }));
    } catch (error) {
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
      throw error;
    }
  },
  read: async (path) => {
    // A pipe would have to be waited for.
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
  },
  rename,
  remove: (path) => rm(path, { force: true }),
};

async function openedFile(file: FileHandle): Promise<JournalFile> {
  const identity = identityOf(await file.stat({ bigint: true }));
  return {
    identity,
    // At once: to hand some hundred bytes to the operating system takes less than to ask another thread to, who would take a
    // core from whoever answers the request meanwhile. What has to reach the disk is waited for elsewhere.
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

/** The system's code for an error, such as `ENOSPC`; `null` when it has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
}
