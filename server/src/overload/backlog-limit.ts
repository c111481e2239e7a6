import { MANY_REQUESTS } from "./overload-detector.ts";

/**
 * How long the first request of the backlog may have waited, in milliseconds. The longer the requests of a backlog that stays wait, the more of
 * them the garbage collector moves, and the later all are answered. Requests that come in bursts must be able to wait for each other.
 */
const WAIT_MS = { min: 25, max: 100 };
/** The number of requests that may wait: as many as the process serves at its best in this many times as long. */
const SERVED_IN_WAITS = 2;
/** By how much the wait changes in a tick in which the process had nothing more to begin, and in any other. */
const FACTOR = { idle: 1.2, busy: 0.985 };

/**
 * How large the backlog (the accepted requests that wait for a later turn) may become while the process is overloaded. The limit falls while requests
 * wait all the time, because then each of them waits longer for nothing. It rises when the backlog gets empty, because then more could have been served.
 */
export class BacklogLimit {
  #waitMs = WAIT_MS.min;

  /** Call it in each tick. */
  adapt(waiting: number): void {
    const wantedMs = this.#waitMs * (waiting === 0 ? FACTOR.idle : FACTOR.busy);
    this.#waitMs = Math.min(Math.max(wantedMs, WAIT_MS.min), WAIT_MS.max);
  }

  /**
   * Whether one more request would wait too long.
   *
   * @param waiting How many wait. Up to {@link MANY_REQUESTS} always may.
   * @param waitedMs How long the first of them has waited.
   */
  isReached(waiting: number, waitedMs: number, bestPerMs: number): boolean {
    if (waiting <= MANY_REQUESTS) return false;
    return waitedMs > this.#waitMs || waiting > SERVED_IN_WAITS * this.#waitMs * bestPerMs;
  }
}
