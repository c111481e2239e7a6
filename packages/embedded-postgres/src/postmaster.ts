import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, spawnOptions } from "./command.ts";
import { roomRemedy } from "./disk-full.ts";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { LogFile } from "./log-file.ts";
import type { OrphanGuard } from "./orphan-guard.ts";
import { pollUntil } from "./poll.ts";

const READY_TIMEOUT_MS = 10 * 60_000;
const FAST_SHUTDOWN_TIMEOUT_MS = 60_000;
const IMMEDIATE_SHUTDOWN_TIMEOUT_MS = 10_000;

export interface PostmasterParts {
  /** The data directory of the server. */
  readonly cluster: string;
  readonly log: LogFile;
  /** Ends the server if this process cannot. */
  readonly guard: OrphanGuard;
  /** Aborting it cancels the start. */
  readonly abort: AbortSignal;
}

/** One run of the server's main process. */
export class Postmaster {
  readonly pid: number;
  /** A description of how the process ended. Never rejects. */
  readonly exited: Promise<string>;
  readonly #child: ChildProcess;
  #ended = false;

  private constructor(child: ChildProcess, pid: number, guard: OrphanGuard) {
    this.pid = pid;
    this.#child = child;
    guard.watch(pid);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#ended = true;
        guard.watch(null);
        resolve(signal === null ? `exit code ${code}` : signal);
      });
    });
    // The child must not keep the service's process alive.
    child.unref();
  }

  /**
   * Starts the server and waits until it accepts connections. After a crash, this includes its recovery.
   *
   * @throws {EmbeddedPostgresError} with the reason from the server's log.
   */
  static async start(command: Command, parts: PostmasterParts): Promise<Postmaster> {
    const { cluster, log, guard, abort } = parts;
    const offset = await log.bytes();
    const postmaster = await Postmaster.#spawn(command, log, guard);
    const isReady = async () =>
      postmaster.#ended || abort.aborted || (await saysReady(cluster, postmaster.pid));
    const inTime = await pollUntil(isReady, READY_TIMEOUT_MS);
    if (!postmaster.#ended && !abort.aborted && inTime) return postmaster;
    await postmaster.stop();
    const reason = inTime ? await log.lastError(offset) : "it did not become ready in ten minutes";
    throw new EmbeddedPostgresError(
      `The bundled PostgreSQL did not start: ${reason} (more in ${log.path})${roomRemedy(reason)}`,
    );
  }

  /** Ends connections and writes everything to disk; kills the server if that takes too long. */
  async stop(): Promise<void> {
    this.#child.ref();
    const hasEnded = async () => this.#ended;
    for (const [signal, timeoutMs] of [
      ["SIGINT", FAST_SHUTDOWN_TIMEOUT_MS],
      ["SIGQUIT", IMMEDIATE_SHUTDOWN_TIMEOUT_MS],
      ["SIGKILL", IMMEDIATE_SHUTDOWN_TIMEOUT_MS],
    ] as const) {
      if (this.#ended) return;
      this.#child.kill(signal);
      await pollUntil(hasEnded, timeoutMs);
    }
  }

  static async #spawn(command: Command, log: LogFile, guard: OrphanGuard): Promise<Postmaster> {
    // The output is a file, because a pipe would break when the service is killed.
    const output = await open(log.path, "a");
    try {
      return await new Promise<Postmaster>((resolve, reject) => {
        const stdio = ["ignore", output.fd, output.fd] as const;
        const child = spawn(command.file, [...command.args], { ...spawnOptions(command), stdio: [...stdio] });
        // It stays: a signal that is not permitted later must not end the service.
        child.on("error", reject);
        if (child.pid !== undefined) resolve(new Postmaster(child, child.pid, guard));
      });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new EmbeddedPostgresError(`The bundled PostgreSQL could not be started: ${reason}`, { cause });
    } finally {
      await output.close();
    }
  }
}

/** The server writes its state to the eighth line of its pid file, where `pg_ctl` reads it too. */
async function saysReady(cluster: string, pid: number): Promise<boolean> {
  const lines = (await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}
