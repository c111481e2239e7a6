import { readFile, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Command, PLAIN_ENVIRONMENT, run } from "./command.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { type Folders, lastingBase, makeOutsideFolder } from "./folders.ts";
import { libraryPathVariable, provideLibraryLinks } from "./library-links.ts";
import { canPass, canRead, type User } from "./reach.ts";
import { relocateBinaries } from "./relocated-binaries.ts";

/** How to run Postgres's programs here, and as which user. */
export interface Runner {
  /** The required owner of the cluster's files. */
  readonly owner: User;
  /** False if the server cannot access the data folder by its path, see {@link clusterArgument}. */
  readonly reachesDataDir: boolean;
  readonly majorVersion: number;
  /** The path of the cluster's folder for a program that is started in it. */
  clusterArgument(cluster: string): string;
  command(program: "postgres" | "initdb", args: readonly string[], cwd: string): Command;
  /** A command that runs a shell script as the server's user. */
  script(text: string): Command;
}

/** One way to run the programs, which may not work here. */
interface Way {
  readonly owner: User;
  readonly native: string;
  readonly libraryLinks: string | null;
  readonly reachesDataDir: boolean;
  /** The command that executes the program in its place, with the same pid. */
  readonly prefix: readonly string[];
  readonly user?: User;
}

/** The user id that `unshare -U` gives to every user, on every Linux. */
const OVERFLOW_ID = 65_534;

/**
 * Finds a way to run Postgres, which refuses root.
 *
 * - As an ordinary user: as that user. If it has no name, which initdb requires (containers run as any uid): in a user
 *   namespace, where every user has the name `nobody`.
 * - As root: as the owner of the cluster, or as `nobody`.
 * - As root where those users cannot access the programs or the data (a checkout in /root): in a user namespace. The process
 *   keeps access to root's files but has no privilege.
 * - Where user namespaces are forbidden too (some containers), or the folder of another user is in one that only root can enter (systemd's for
 *   dynamic users): as the owner of the cluster, or as `nobody`, with a copy of the programs outside. The data
 *   stays in place: the server is started inside its folder and accesses it as `/proc/self/cwd`, which needs
 *   no permission on the folders above.
 *
 * @throws {EmbeddedPostgresError} none of them works.
 */
export async function findRunner(folders: Folders, native: string): Promise<Runner> {
  let problem = "";
  for await (const way of waysToTry(folders, native)) {
    const outcome = await run(commandOf(way, "postgres", ["--version"], "/"));
    const major = /\(PostgreSQL\) (\d+)/.exec(outcome.output)?.[1];
    if (outcome.code === 0 && major !== undefined) return runnerOf(way, Number(major));
    problem ||= outcome.output.trim().split("\n", 1)[0] ?? "";
  }
  throw new EmbeddedPostgresError(
    `The bundled PostgreSQL can't be run here (${problem || "no user fits"}); ${adviceFor(process.getuid?.() ?? 0)}.`,
  );
}

/** What to do if no way works for the user that runs the service. */
function adviceFor(uid: number): string {
  const otherServer = "set DATABASE_URL to a PostgreSQL 15+ server";
  if (uid === 0) return `start the service as an ordinary user, or ${otherServer}`;
  if (hasName()) return otherServer;
  return `user ${uid} has no name here, and needs one: add it to the system's list of users, for a dynamic user of systemd install libnss-systemd, or ${otherServer}`;
}

async function* waysToTry(folders: Folders, native: string): AsyncGenerator<Way> {
  const self: User = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const libraryLinks = await provideLibraryLinks(native, folders.libraryLinks);
  const inPlace = { native, libraryLinks, reachesDataDir: true };
  const unshared: Way = { ...inPlace, owner: self, prefix: ["unshare", "-U"] };
  if (self.uid !== 0) {
    if (hasName()) yield { ...inPlace, owner: self, prefix: [] };
    yield unshared;
    return;
  }
  const nobody = await findNobody();
  const owner = await ownerOf(folders.cluster);
  const users = owner === null || owner.uid === 0 ? [nobody] : [owner, nobody];
  for (const user of users) {
    if (!(await canUseInPlace(folders, native, user))) continue;
    yield { ...inPlace, owner: user, user, prefix: [] };
  }
  if (await canUseInPlace(folders, native, self)) yield unshared;
  const relocated = await relocateBinaries(native, await makeOutsideFolder(lastingBase(), folders.dataDir));
  const [first = nobody] = users;
  const { uid, gid } = first;
  // A program changes the user, because Deno's spawn enters the folder after the change, when it may lack permission.
  const prefix = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  yield { native: relocated, libraryLinks: null, reachesDataDir: false, owner: first, prefix };
}

function runnerOf(way: Way, majorVersion: number): Runner {
  return {
    owner: way.owner,
    reachesDataDir: way.reachesDataDir,
    majorVersion,
    clusterArgument: (cluster) => (way.reachesDataDir ? cluster : "/proc/self/cwd"),
    command: (program, args, cwd) => commandOf(way, program, args, cwd),
    script: (text) => ({ ...inWay(way, "/bin/sh", ["-c", text]), cwd: "/", env: PLAIN_ENVIRONMENT }),
  };
}

function commandOf(way: Way, program: string, args: readonly string[], cwd: string): Command {
  const env = { ...PLAIN_ENVIRONMENT, ...libraryPathVariable(way.native, way.libraryLinks) };
  return { ...inWay(way, join(way.native, "bin", program), args), cwd, env };
}

function inWay(
  way: Way,
  executable: string,
  executableArgs: readonly string[],
): Pick<Command, "file" | "args" | "user"> {
  const [file = executable, ...args] = [...way.prefix, executable, ...executableArgs];
  return { file, args, ...(way.user && { user: way.user }) };
}

async function canUseInPlace(folders: Folders, native: string, user: User): Promise<boolean> {
  const files = ["bin/postgres", "bin/initdb", "share/postgresql/postgres.bki"];
  const readable = await Promise.all(files.map((file) => canRead(join(native, file), user)));
  return readable.every(Boolean) && (await canPass(folders.dataDir, user));
}

async function ownerOf(path: string): Promise<User | null> {
  return stat(path).catch(() => null);
}

async function findNobody(): Promise<User> {
  const users = await readFile("/etc/passwd", "utf8").catch(() => "");
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(users) ?? [];
  return { uid: Number(uid ?? OVERFLOW_ID), gid: Number(gid ?? OVERFLOW_ID) };
}

function hasName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    // The user has no entry in the system's list.
    return false;
  }
}
