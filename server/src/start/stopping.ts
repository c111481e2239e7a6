import type { Logger } from "pino";
import type { Config } from "../config/config.ts";

/** Beyond the drain time, for what was cut off to be recorded and for every part to stop. */
export const STOP_MS = 5_000;
/** Of it, what is kept back for the end itself. */
const MARGIN_MS = 250;
/** A terminal and npm both send the signal that they were sent: those are one. */
const ONE_SIGNAL_MS = 1_000;

/** Why the service stops: who takes nodes out of service sends SIGTERM, and waits for them. */
export type StopReason = "SIGTERM" | "SIGINT" | "replaced";

export interface StoppingParts {
  readonly times: Pick<Config, "prestopS" | "drainS">;
  readonly log: Logger;
  /** Called once, when the service is to stop. */
  readonly end: () => void;
  /** Called when the time is over and the process is still there. */
  readonly overdue: () => void;
}

/**
 * How the process comes to its end. For `OSTIARY_PRESTOP_S` after a SIGTERM it only says that it is not ready; then it takes
 * no more requests, and ends those under way within `OSTIARY_DRAIN_S`. Another signal ends both waits. By
 * {@link STOP_MS} later it has ended.
 */
export class Stopping {
  readonly #times: StoppingParts["times"];
  readonly #log: Logger;
  readonly #end: StoppingParts["end"];
  readonly #overdue: StoppingParts["overdue"];
  readonly #hurry = new AbortController();
  #begunMs: number | null = null;
  #prestopMs = 0;
  #endMs = Number.POSITIVE_INFINITY;
  #overdueTimer: NodeJS.Timeout | undefined;

  constructor({ times, log, end, overdue }: StoppingParts) {
    this.#times = times;
    this.#log = log;
    this.#end = end;
    this.#overdue = overdue;
  }

  get isStopping(): boolean {
    return this.#begunMs !== null;
  }

  /** Aborted when nothing is to be waited for any more. */
  get hurry(): AbortSignal {
    return this.#hurry.signal;
  }

  /** For how long requests are still taken. */
  get prestopMs(): number {
    return this.#prestopMs;
  }

  /** How much time is left for the parts of the service to stop. */
  leftMs(): number {
    return Math.max(0, this.#endMs - MARGIN_MS - performance.now());
  }

  /** Begins to stop; said again, stops at once. */
  stop(reason: StopReason): void {
    if (this.#begunMs === null) this.#begin(reason);
    else if (performance.now() - this.#begunMs > ONE_SIGNAL_MS && !this.hurry.aborted) {
      this.#log.warn({ reason }, "told again to stop: requests under way are cut off");
      this.#endWithin(Math.min(this.#endMs - performance.now(), STOP_MS));
      this.#hurry.abort();
    }
  }

  #begin(reason: StopReason): void {
    const { prestopS, drainS } = this.#times;
    this.#begunMs = performance.now();
    this.#prestopMs = reason === "SIGTERM" ? prestopS * 1_000 : 0;
    this.#endWithin(this.#prestopMs + drainS * 1_000 + STOP_MS);
    this.#log.info({ reason, prestopMs: this.#prestopMs, drainS }, "stopping");
    this.#end();
  }

  #endWithin(ms: number): void {
    this.#endMs = performance.now() + ms;
    clearTimeout(this.#overdueTimer);
    this.#overdueTimer = setTimeout(() => this.#overdue(), ms);
  }

  /** Resolves after a time, or when there is no time any more. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (ms <= 0 || this.hurry.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        this.hurry.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.hurry.addEventListener("abort", done);
    });
  }
}
