/**
 * The share of the time that refusals may take while the backlog is full. A smaller share would delay refusals: at twice the load that can be served,
 * they take a third of the time. With a larger share, clients that send again as soon as they are refused would leave too little time to serve.
 */
const MAX_SHARE_OF_TIME = 0.4;
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
    this.#leftMs = Math.max(this.#leftMs - ms, -BURST_MS * MAX_SHARE_OF_TIME);
    this.#refusalMs = this.#refusalMs * AVERAGE_WEIGHT + ms * (1 - AVERAGE_WEIGHT);
  }

  /** How many refused connections may be read again in this turn: one at least, and {@link MAX_READABLE} unless the backlog is full. */
  readableAt(nowMs: number, isBacklogFull: boolean): number {
    const moreMs = (nowMs - this.#countedMs) * MAX_SHARE_OF_TIME;
    this.#leftMs = Math.min(this.#leftMs + moreMs, BURST_MS * MAX_SHARE_OF_TIME);
    this.#countedMs = nowMs;
    if (!isBacklogFull) return MAX_READABLE;
    const refusable = Math.floor(this.#leftMs / this.#refusalMs);
    return Math.min(Math.max(1, refusable), MAX_READABLE);
  }
}
