/**
 * The shares of the time that refusals may take while the backlog is full. At twice the load that can be served, they take a third of the time, so
 * a smaller share would delay them. With a larger one, clients that send again as soon as they are refused would leave too little time to serve.
 * The share is larger at first: most of what comes is refused then, because the process still serves what it accepted before it found the overload.
 */
const MAX_SHARE_OF_TIME = { usual: 0.4, atFirst: 0.6 };
const AT_FIRST_MS = 1_000;
/** The time for refusals that was not used for this long is lost. */
const BURST_MS = 50;
/** What a refusal takes before one was measured, and the weight of earlier ones in the average. */
const FIRST_REFUSAL_MS = 0.1;
const AVERAGE_WEIGHT = 0.95;
/** The maximum of refused connections that are read again in a turn of the event loop. To refuse that many takes 10 to 20 ms. */
const MAX_READABLE = 512;

/** The time that refusals may take, so that enough is left to serve. */
export class RefusalBudget {
  /** What a refusal takes on average. */
  #refusalMs = FIRST_REFUSAL_MS;
  /** How long refusals may take, counted at this time. Below 0 if connections that did not rest were refused, too. */
  #leftMs = 0;
  #countedMs = 0;

  /** Counts a refusal that took this long. */
  count(ms: number): void {
    this.#leftMs = Math.max(this.#leftMs - ms, -BURST_MS * MAX_SHARE_OF_TIME.usual);
    this.#refusalMs = this.#refusalMs * AVERAGE_WEIGHT + ms * (1 - AVERAGE_WEIGHT);
  }

  /**
   * How many refused connections may be read again in this turn: one at least, and {@link MAX_READABLE} unless the backlog is full.
   *
   * @param overloadedMs How long ago the overload was found.
   */
  readableAt(nowMs: number, isBacklogFull: boolean, overloadedMs: number): number {
    const share = overloadedMs < AT_FIRST_MS ? MAX_SHARE_OF_TIME.atFirst : MAX_SHARE_OF_TIME.usual;
    const moreMs = (nowMs - this.#countedMs) * share;
    this.#leftMs = Math.min(this.#leftMs + moreMs, BURST_MS * share);
    this.#countedMs = nowMs;
    if (!isBacklogFull) return MAX_READABLE;
    const refusable = Math.floor(this.#leftMs / this.#refusalMs);
    return Math.min(Math.max(1, refusable), MAX_READABLE);
  }
}
