import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

export const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;
/** `sun_path` holds 104 bytes on macOS and 108 on Linux, with a terminating zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The paths in the data folder. */
export interface Folders {
  readonly dataDir: string;
  /** The data directory of Postgres. */
  readonly cluster: string;
  /** The password of the database user. Only the service's user can read the file. */
  readonly passwordFile: string;
  readonly logFile: string;
  /** See {@link provideLibraryLinks}. */
  readonly libraryLinks: string;
}

/** Returns the layout of a data folder, and creates the folder if it is absent. */
export async function openFolders(givenDataDir: string): Promise<Folders> {
  await mkdir(givenDataDir, { recursive: true });
  const dataDir = await realpath(givenDataDir);
  return {
    dataDir,
    cluster: join(dataDir, "postgres"),
    passwordFile: join(dataDir, "postgres.password"),
    logFile: join(dataDir, "postgres.log"),
    libraryLinks: join(dataDir, "postgres-lib"),
  };
}

/** Creates the folder of the server's socket, for the server's user only. */
export async function makeSocketFolder(
  dataDir: string,
  owner: { readonly uid: number; readonly gid: number },
  dataDirIsReachable: boolean,
): Promise<string> {
  const inDataDir = join(dataDir, "postgres-socket");
  const fits = Buffer.byteLength(join(inDataDir, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
  const folder =
    fits && dataDirIsReachable ? inDataDir : join(await makeOutsideFolder(socketBase(), dataDir), "s");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  if (found.uid !== owner.uid) await chown(folder, owner.uid, owner.gid);
  await chmod(folder, 0o700);
  return folder;
}

/**
 * Creates a folder outside the data folder, the same at each start, and checks its owner: every user can write to temporary
 * folders and could have prepared it.
 */
export async function makeOutsideFolder(base: string, dataDir: string): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const hash = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  const folder = join(base, `ostiary-${uid}-${hash}`);
  // Other users may pass through to their own files inside, but may not list the folder.
  await mkdir(folder, { mode: 0o711 }).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o022) !== 0) {
    throw new EmbeddedPostgresError(
      `${folder} belongs to someone else; remove it, or set TMPDIR to another folder.`,
    );
  }
  await chmod(folder, 0o711);
  return folder;
}

/** The base for files that must stay while the machine runs: some systems clean up /tmp after days, /var/tmp after weeks. */
export function lastingBase(): string {
  return existsSync("/var/tmp") ? "/var/tmp" : tmpdir();
}

function socketBase(): string {
  const base = tmpdir();
  return Buffer.byteLength(base) <= 40 ? base : "/tmp";
}
