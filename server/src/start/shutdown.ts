import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { endEarlySignals } from "./early-signals.ts";
import type { Teardown } from "./teardown.ts";

/** The time after the drain time in which aborted requests are recorded and every part stops. */
export const STOP_MS = 5_000;
/** The part of it that is reserved for the exit of the process. */
const MARGIN_MS = 250;
/** Signals within this time count as one: a terminal signals both npm and the service, and npm passes its signal on. */
const ONE_SIGNAL_MS = 1_000;

/**
 * Why the service stops. Supervisors that take a node out of service send SIGTERM. `replaced`: another process is this node now. `restored`:
 * the node must start again, because its database is not the one that it knows.
 */
type ShutdownReason = "SIGTERM" | "SIGINT" | "replaced" | "restored" | "drained";

interface ShutdownParts {
  readonly times: Pick<Config, "prestopS" | "drainS">;
  readonly log: Logger;
  /** Called once, when the service is to stop. */
  readonly end: () => void;
  /** Called when the time is over and the process still runs. */
  readonly overdue: () => void;
}

/**
 * The times of a shutdown. For `OSTIARY_PRESTOP_S` after SIGTERM the service is not ready but still serves; then it takes no
 * more requests, and running requests have `OSTIARY_DRAIN_S` to end. A second signal ends both waits. {@link STOP_MS} later
 * the process ends even if a part hangs.
 */
export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #hurry = new AbortController();
  #startedMs: number | null = null;
  #prestopMs = 0;
  #endMs = Number.POSITIVE_INFINITY;
  #overdueTimer: NodeJS.Timeout | undefined;
  #exitCode = 0;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#startedMs !== null;
  }

  /** Aborted by a second signal. */
  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }

  /** How long requests are still accepted. */
  get prestopMs(): number {
    return this.#prestopMs;
  }

  /** The exit code of the process when all parts have stopped. A supervisor that starts what has failed must start a `restored` node again. */
  get exitCode(): number {
    return this.#exitCode;
  }

  /** How much time is left for the parts of the service to stop. */
  leftMs(): number {
    return Math.max(0, this.#endMs - MARGIN_MS - performance.now());
  }

  /** Begins the shutdown. A second call, unless it follows at once, aborts the running requests. */
  begin(reason: ShutdownReason): void {
    if (this.#startedMs === null) this.#start(reason);
    else if (performance.now() - this.#startedMs > ONE_SIGNAL_MS && !this.hurry.aborted) {
      this.#parts.log.warn(
        { reason },
        "second signal received: aborting the requests that are being answered",
      );
      this.#endWithin(Math.min(this.#endMs - performance.now(), STOP_MS));
      this.#hurry.abort();
    }
  }

  #start(reason: ShutdownReason): void {
    const { prestopS, drainS } = this.#parts.times;
    this.#startedMs = performance.now();
    this.#exitCode = reason === "restored" ? 1 : 0;
    this.#prestopMs = reason === "SIGTERM" ? prestopS * 1_000 : 0;
    this.#endWithin(this.#prestopMs + drainS * 1_000 + STOP_MS);
    this.#parts.log.info({ reason, prestopS: this.#prestopMs / 1_000, drainS }, "stopping");
    this.#parts.end();
  }

  #endWithin(ms: number): void {
    this.#endMs = performance.now() + ms;
    clearTimeout(this.#overdueTimer);
    this.#overdueTimer = setTimeout(() => this.#parts.overdue(), ms);
  }

  /** Resolves after this time, or at a second signal. */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.hurry }).catch(() => {});
  }
}

/** Begins the shutdown on SIGTERM and SIGINT, and ends the process when the teardown has run or its time is over. */
export function stopOnSignals(config: Config, log: Logger, teardown: Teardown): Shutdown {
  const shutdown = new Shutdown({
    times: config,
    log,
    end: () =>
      void teardown
        .run(log, () => shutdown.leftMs())
        .then(() => {
          log.info("stopped");
          process.exit(shutdown.exitCode);
        }),
    overdue: () => {
      log.fatal({ part: teardown.current }, "the time to stop is over: the process ends now");
      process.exit(1);
    },
  });
  process.on("SIGTERM", () => shutdown.begin("SIGTERM"));
  process.on("SIGINT", () => shutdown.begin("SIGINT"));
  endEarlySignals();
  return shutdown;
}
