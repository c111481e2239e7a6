import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { run } from "./command.ts";
import { roomRemedy } from "./disk-full.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { Folders } from "./folders.ts";
import type { User } from "./reach.ts";
import type { Runner } from "./runner.ts";
import { ACCESS_FILE, configurationFile, DATABASE_USER } from "./settings.ts";

/** Parts of a cluster of which a copy that was cut off, or that left something out, lacks one. */
const PARTS = ["PG_VERSION", "base", "global/pg_control", "pg_wal", "pg_xact"];

/** Creates the cluster at the first start, and otherwise checks that it can be used. Returns the user's password. */
export async function openCluster(folders: Folders, runner: Runner, socketFolder: string): Promise<string> {
  await requireOwnCluster(folders);
  const entries = await readdir(folders.cluster).catch(missing);
  // An empty folder may be one that was prepared for it.
  if (entries === null || entries.length === 0) {
    await requireFirstStart(folders);
    return makeCluster(folders, runner, socketFolder);
  }
  await requireWhole(folders);
  const version = await readFile(join(folders.cluster, "PG_VERSION"), "utf8");
  requireVersion(folders, runner, Number(version.trim()));
  return readPassword(folders);
}

/** Checks that there never was a cluster. A new, empty one would look as if all data were lost, and requests would be answered 401. */
async function requireFirstStart(folders: Folders): Promise<void> {
  if ((await stat(folders.passwordFile).catch(missing)) === null) return;
  throw new EmbeddedPostgresError(
    `The database of ${folders.dataDir} is missing: there is postgres.password, but nothing in the folder postgres. ` +
      "Restore the whole data folder from a backup. If the database was moved to a server of your own, set DATABASE_URL. " +
      "To begin with an empty database, set OSTIARY_DATA_DIR to a new folder.",
  );
}

async function requireWhole(folders: Folders): Promise<void> {
  const found = await Promise.all(PARTS.map((part) => stat(join(folders.cluster, part)).catch(missing)));
  const lacking = PARTS.filter((_part, index) => found[index] === null);
  if (lacking.length === 0) return;
  throw new EmbeddedPostgresError(
    `The database in ${folders.cluster} is incomplete: it lacks ${lacking.join(", ")}. Restore the whole data folder from a backup.`,
  );
}

/**
 * Prepares the cluster for a start, after its last server has ended. Settings are written each time, so that those of a
 * new version apply to an old cluster.
 */
export async function prepareCluster(folders: Folders, runner: Runner, socketFolder: string): Promise<void> {
  await giveTo(folders, runner.owner);
  const files = { "postgresql.conf": configurationFile(socketFolder), "pg_hba.conf": ACCESS_FILE };
  for (const [name, content] of Object.entries(files)) {
    const path = join(folders.cluster, name);
    await writeFile(`${path}.new`, content, { mode: 0o600 });
    await setOwner(`${path}.new`, runner.owner);
    await rename(`${path}.new`, path);
  }
}

async function makeCluster(folders: Folders, runner: Runner, socketFolder: string): Promise<string> {
  await removeUnfinished(folders);
  const password = randomBytes(24).toString("base64url");
  const unfinished = `${folders.cluster}.new-${randomBytes(4).toString("hex")}`;
  await mkdir(unfinished, { mode: 0o700 });
  await setOwner(unfinished, runner.owner);
  // The server's user can always access the socket's folder.
  const initialPassword = join(socketFolder, "initial-password");
  await rm(initialPassword, { force: true });
  await writeFile(initialPassword, password, { mode: 0o600, flag: "wx" });
  await setOwner(initialPassword, runner.owner);

  const args = [
    `--pgdata=${runner.clusterArgument(unfinished)}`,
    `--username=${DATABASE_USER}`,
    `--pwfile=${initialPassword}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    // This provider sorts text the same on every system, whatever its C library.
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
    "--lc-messages=C",
    "--no-instructions",
    // One call syncs the whole cluster. A call for each of its thousand files would make initdb slow.
    ...(process.platform === "linux" ? ["--sync-method=syncfs"] : []),
  ];
  const outcome = await run(runner.command("initdb", args, unfinished));
  await rm(initialPassword, { force: true });
  if (outcome.code !== 0) {
    await rm(unfinished, { recursive: true, force: true });
    const line = /^.*(?:error|FATAL|PANIC|fatal):.*$/m.exec(outcome.output)?.[0] ?? outcome.output.trim();
    const reason = line.split("\n", 1)[0] ?? "";
    throw new EmbeddedPostgresError(
      `The bundled database could not be made in ${folders.dataDir}: ${reason}${roomRemedy(reason)}`,
    );
  }
  await writeFile(newPasswordFile(folders), `${password}\n`, { mode: 0o600, flush: true });
  // The rename completes the cluster. A start that is interrupted before it begins again.
  await rename(unfinished, folders.cluster);
  // The password's file says that there is a cluster, so it comes last.
  await rename(newPasswordFile(folders), folders.passwordFile);
  return password;
}

/** Removes the remains of an interrupted first start. */
async function removeUnfinished(folders: Folders): Promise<void> {
  for (const entry of await readdir(folders.dataDir)) {
    if (!entry.startsWith("postgres.new-")) continue;
    // Its initdb may still be writing. It fails soon, and the next start removes the rest.
    await rm(join(folders.dataDir, entry), { recursive: true, force: true }).catch(() => {});
  }
}

/** Where the password is until the cluster is complete. */
function newPasswordFile(folders: Folders): string {
  return `${folders.passwordFile}.new`;
}

async function readPassword(folders: Folders): Promise<string> {
  try {
    // A first start that was interrupted at its very end leaves it there.
    if ((await stat(folders.passwordFile).catch(missing)) === null) {
      await rename(newPasswordFile(folders), folders.passwordFile).catch(missing);
    }
    const password = (await readFile(folders.passwordFile, "utf8")).trim();
    if (password !== "") return password;
    throw new Error("it is empty");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `Can't read the bundled database's password (${reason}); restore ${folders.passwordFile} from a copy of the data folder.`;
    throw new EmbeddedPostgresError(message, { cause });
  }
}

function requireVersion(folders: Folders, runner: Runner, version: number): void {
  if (version === runner.majorVersion) return;
  throw new EmbeddedPostgresError(
    `The database in ${folders.cluster} was made by PostgreSQL ${version}, and this Ostiary brings ${runner.majorVersion}; ` +
      "use the Ostiary that made it, or move the data to a new folder with pg_dump.",
  );
}

/** Gives the cluster to the user that runs the server, if another user did before. */
async function giveTo(folders: Folders, owner: User): Promise<void> {
  const { uid } = await stat(folders.cluster);
  if (uid !== owner.uid) {
    for (const entry of await readdir(folders.cluster, { recursive: true })) {
      await lchown(join(folders.cluster, entry), owner.uid, owner.gid);
    }
    // The folder itself comes last, so that an interrupted change is repeated.
    await chown(folders.cluster, owner.uid, owner.gid);
  }
  await chmod(folders.cluster, 0o700);
}

/** Checks that this user owns the cluster: only root can change its owner. */
async function requireOwnCluster(folders: Folders): Promise<void> {
  const ownUid = process.getuid?.() ?? 0;
  const found = await stat(folders.cluster).catch(missing);
  if (ownUid === 0 || found === null || found.uid === ownUid) return;
  throw new EmbeddedPostgresError(
    `${folders.cluster} belongs to user ${found.uid} and this is user ${ownUid}; run: sudo chown -R ${ownUid} ${folders.dataDir}`,
  );
}

async function setOwner(path: string, owner: User): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, owner.uid, owner.gid);
}

function missing(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}
