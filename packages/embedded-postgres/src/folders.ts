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
const LONGEST_SOCKET_PATH_BYTES = 103;

/** Where things are in the data folder. */
export interface Folders {
  readonly dataDir: string;
  /** Postgres's own folder. */
  readonly cluster: string;
  /** The password of the database user, only for the service's user to read. */
  readonly passwordFile: string;
  readonly logFile: string;
  /** See {@link provideLibraryLinks}. */
  readonly libraryLinks: string;
}

/** The layout of a data folder, which is made if absent. */
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

/** Makes the folder of the server's socket, for the server's user only. */
export async function makeSocketFolder(
  dataDir: string,
  owner: { readonly uid: number; readonly gid: number },
  dataDirIsReachable: boolean,
): Promise<string> {
  const inDataDir = join(dataDir, "postgres-socket");
  const fits = Buffer.byteLength(join(inDataDir, SOCKET_NAME)) <= LONGEST_SOCKET_PATH_BYTES;
  const folder =
    fits && dataDirIsReachable ? inDataDir : join(await makeOutsideFolder(socketBase(), dataDir), "s");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  if (found.uid !== owner.uid) await chown(folder, owner.uid, owner.gid);
  await chmod(folder, 0o700);
  return folder;
}

/**
 * A folder outside of the data folder, the same at each start, that nobody else can have prepared: temporary folders
 * are everyone's to write to.
 */
export async function makeOutsideFolder(base: string, dataDir: string): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const hash = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  const folder = join(base, `ostiary-${uid}-${hash}`);
  // Others may pass through, to what is theirs inside, but not look around.
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

/** For what must stay while the machine runs: some systems tidy up /tmp after days, /var/tmp after weeks. */
export function lastingBase(): string {
  return existsSync("/var/tmp") ? "/var/tmp" : tmpdir();
}

function socketBase(): string {
  const base = tmpdir();
  return Buffer.byteLength(base) <= 40 ? base : "/tmp";
}
