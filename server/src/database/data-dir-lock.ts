import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, mkdtemp, open, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, parse } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { codeOf, fileReasonOf, fileRemedyOf } from "../errors/system-errors.ts";

const execute = promisify(execFile);

const LOCKS_FOLDER = "lock";
const CONTENDER_NAME = /^(\d+)-[0-9a-f]{16}$/;
/** A busy process answers late. One that accepts the connection but never answers counts as alive. */
const CONTENDER_TIMEOUT_MS = 5_000;
/** Between `listen` and `rename` a socket has its temporary name for microseconds. */
const ABANDONED_AFTER_MS = 60_000;
/** `sun_path` holds 104 bytes on macOS and 108 on Linux, with a terminating zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Another service works in the data folder. The message is for the operator. */
export class DataDirLockedError extends Error {
  override readonly name = "DataDirLockedError";

  /** `holder` is the name of the holder's socket. It contains the holder's process id, which means nothing in another container. */
  constructor(dataDir: string, holder: string) {
    const pid = CONTENDER_NAME.exec(holder)?.[1] ?? 0;
    super(
      `The data folder ${dataDir} is in use by another Ostiary (process ${pid}). ` +
        "Stop that one, or give this one a folder of its own in OSTIARY_DATA_DIR.",
    );
  }
}

/** The path is too long for a socket, and no shorter one leads there. The message is for the operator. */
class PathTooLongError extends Error {
  override readonly name = "PathTooLongError";

  constructor(folder: string, cause: unknown) {
    super(
      `The path ${folder} is too long for a socket, and the folder for temporary files, ${tmpdir()}, cannot be used: ${fileReasonOf(cause)}. ` +
        "Set TMPDIR to a writable folder, or OSTIARY_DATA_DIR to a shorter path.",
      { cause },
    );
  }
}

/** A lock on the data folder, held until it is released or the process ends. */
export interface DataDirLock {
  release(): Promise<void>;
}

/**
 * Takes the data folder, which must exist, for this process.
 *
 * Each contender listens on a unix socket of its own in `<dataDir>/lock` and asks every other one that it finds there.
 * A socket stops answering with its process, so what a killed process left is known to be stale whatever its pid is
 * now, in this container or another that shares the folder. Names are never used twice, so removing a stale one can't
 * hit a live one.
 *
 * On Deno a socket answers too long: what the service starts inherits it, and PostgreSQL outlives a killed service. So
 * each contender also keeps a named pipe open, which nothing inherits. Where that can't be made (an image
 * without `mkfifo`) the socket alone decides.
 *
 * @throws {DataDirLockedError} when another process has it, or takes it at this moment.
 * @throws {Error} when the folder can't be locked; the message is for the operator.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  try {
    const folder = join(dataDir, LOCKS_FOLDER);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const alias = await shortAlias(folder);
    try {
      const contender = new Contender(dataDir);
      await contender.enter(alias.folder);
      return { release: () => contender.withdraw(folder) };
    } finally {
      await alias.remove();
    }
  } catch (cause) {
    if (cause instanceof DataDirLockedError || cause instanceof PathTooLongError) throw cause;
    const remedy = fileRemedyOf(cause) ?? "Set OSTIARY_DATA_DIR to a writable folder on a local file system.";
    throw new Error(`The data folder ${dataDir} cannot be locked: ${fileReasonOf(cause)}. ${remedy}`, {
      cause,
    });
  }
}

/** A process that wants the data folder: it listens on its socket, asks the others, and becomes the holder or withdraws. */
class Contender {
  readonly #dataDir: string;
  readonly #name = `${process.pid}-${randomBytes(8).toString("hex")}`;
  readonly #server = createServer();
  #pipe: FileHandle | null = null;
  #state: "contending" | "holding" | "out" = "contending";
  /** The contender that was told that it may have the folder. */
  #yieldedTo: string | null = null;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /**
   * Becomes the holder, or leaves nothing behind and throws.
   *
   * @param folder a path of the folder of sockets that is short enough for them.
   */
  async enter(folder: string): Promise<void> {
    try {
      await this.#listen(folder);
      await this.#contend(folder);
    } catch (error) {
      await this.withdraw(folder);
      throw error;
    }
  }

  /** Leaves the folder, by whatever path it is reached then. */
  async withdraw(folder: string): Promise<void> {
    if (this.#state === "out") return;
    this.#state = "out";
    await removeFiles(join(folder, this.#name));
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#pipe?.close();
  }

  async #listen(folder: string): Promise<void> {
    const path = join(folder, this.#name);
    const server = this.#server;
    this.#pipe = await openPipe(`${path}.pipe`);
    server.on("connection", (socket) => {
      socket.unref();
      // The asker may have given up, which is no error here.
      socket.on("error", () => socket.destroy());
      socket.setTimeout(CONTENDER_TIMEOUT_MS, () => socket.destroy());
      socket.once("data", (question) => socket.end(this.#answerTo(question.toString().trim())));
    });
    await new Promise<void>((resolve, reject) => {
      // It stays: a connection that can't be accepted later, without free descriptors, must not end the process.
      server.on("error", reject);
      server.listen(`${path}.new`, resolve);
    });
    server.unref();
    // A socket that is bound but does not listen yet refuses like a stale one, so it gets its name afterwards.
    await rename(`${path}.new`, `${path}.sock`);
  }

  /** Whether another contender may have the folder. */
  #answerTo(asker: string): "taken" | "yours" {
    if (this.#state === "holding") return "taken";
    if (this.#state === "out") return "yours";
    if (asker > this.#name) return "taken";
    this.#yieldedTo = asker;
    return "yours";
  }

  /**
   * Asks every contender that was there first. If two contenders ask each other, at least one of them sees the other's socket, and the lower name
   * stays. An answer and the change of state that goes with it happen in one turn of the event loop, so that no contender becomes the holder after it
   * has yielded.
   */
  async #contend(folder: string): Promise<void> {
    for (const entry of await readdir(folder)) {
      const { name, ext } = parse(entry);
      if (name === this.#name) continue;
      const path = join(folder, name);
      if (ext !== ".sock") {
        await removeAbandoned(path, ext);
        continue;
      }
      const answer = await ask(path, this.#name);
      if (answer === "taken") throw new DataDirLockedError(this.#dataDir, name);
      if (answer === "stale") await removeFiles(path);
    }
    if (this.#yieldedTo !== null) throw new DataDirLockedError(this.#dataDir, this.#yieldedTo);
    this.#state = "holding";
  }
}

type Answer = "taken" | "yours" | "stale";

async function ask(path: string, name: string): Promise<Answer> {
  if (await isClosedPipe(`${path}.pipe`)) return "stale";
  return new Promise((resolve) => {
    const socket = connect({ path: `${path}.sock` });
    const settle = (answer: Answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(CONTENDER_TIMEOUT_MS, () => settle("taken"));
    socket.once("connect", () => socket.write(`${name}\n`));
    socket.once("data", (answer) => settle(answer.toString() === "yours" ? "yours" : "taken"));
    // The other process ended or withdrew meanwhile.
    socket.once("close", () => settle("yours"));
    socket.once("error", (error) => {
      const code = codeOf(error);
      if (code === "ECONNREFUSED") settle("stale");
      else if (code === "ENOENT" || code === "ECONNRESET" || code === "EPIPE") settle("yours");
      // The connection was not permitted, so the other process may be alive.
      else settle("taken");
    });
  });
}

async function openPipe(path: string): Promise<FileHandle | null> {
  try {
    await execute("mkfifo", ["-m", "666", path]);
    // Every user may open the pipe, so that a run as another user finds that what a run as root left is stale. It is opened for both directions,
    // because opening it for one would wait for the other.
    return await open(path, "r+");
  } catch {
    // Without the program, or on a file system without pipes.
    await rm(path, { force: true });
    return null;
  }
}

/** Whether the pipe is there and no process has it open. */
async function isClosedPipe(path: string): Promise<boolean> {
  try {
    const pipe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
    await pipe.close();
    return false;
  } catch (error) {
    // A missing pipe, or one without permission, says nothing.
    return codeOf(error) === "ENXIO";
  }
}

/** Files of a contender that ended before it had its name. */
async function removeAbandoned(path: string, ext: string): Promise<void> {
  const found = await stat(path + ext).catch(() => null);
  const named = await stat(`${path}.sock`).catch(() => null);
  if (found === null || named !== null || Date.now() - found.mtimeMs < ABANDONED_AFTER_MS) return;
  await removeFiles(path);
}

async function removeFiles(path: string): Promise<void> {
  for (const ext of [".sock", ".pipe", ".new"]) await rm(path + ext, { force: true });
}

/** A path to the folder that leaves room for a socket's name. */
async function shortAlias(folder: string): Promise<{ folder: string; remove(): Promise<void> }> {
  const sampleName = `/${"9".repeat(10)}-${"f".repeat(16)}.sock`;
  if (Buffer.byteLength(folder + sampleName) <= MAX_SOCKET_PATH_BYTES) {
    return { folder, remove: async () => {} };
  }
  const parent = await mkdtemp(join(tmpdir(), "ostiary-")).catch((cause: unknown) => {
    throw new PathTooLongError(folder, cause);
  });
  await symlink(folder, join(parent, "l"));
  return { folder: join(parent, "l"), remove: () => rm(parent, { recursive: true, force: true }) };
}
