import { BATCH_ITEMS } from "../database/insert-all.ts";
import { pauseFor } from "../errors/deadline.ts";
import { LOCKED_RETRY_MS, type PendingEntries } from "./pending-entries.ts";

/** The minimum interval between batches: nearly all of a small batch's cost is fixed. */
const BATCH_EVERY_MS = 100;
/** The minimum interval while reads wait for a batch. Without it a client that reads again and again would make the batches of all accounts small. */
const READ_BATCH_EVERY_MS = 25;

/** Decides when the recorder starts its next batch. Entries are numbered from 1 in the order of recording. */
export class BatchPacing {
  readonly #pending: Pick<PendingEntries, "queued">;
  /** The number of the last entry that an answer waits for, and of the last that a read waits for. */
  #awaited = 0;
  #awaitedByReads = 0;
  #startedMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  /** Ends the pause between two batches. */
  #endPause: () => void = () => {};

  /** Call {@link checkAgain} when entries have been queued and until then none were. */
  constructor(pending: Pick<PendingEntries, "queued">) {
    this.#pending = pending;
  }

  /** Lets the batch with this entry, which is the last so far, start at once, because an answer waits for it. */
  hasten(number: number): void {
    this.#awaited = number;
    this.#endPause();
  }

  /** Lets the batch with this entry, which is the last so far, start earlier, because a read waits for it. */
  hastenForRead(number: number): void {
    this.#awaitedByReads = number;
    this.#endPause();
  }

  /** Lets all further batches start at once. */
  stop(): void {
    this.#isStopping = true;
    this.#endPause();
  }

  /** Decides again when the next batch starts. */
  checkAgain(): void {
    this.#endPause();
  }

  /** Waits until the next batch may start. `processed`: all entries up to this number are no longer pending, or of locked accounts. */
  async untilNext(processed: number): Promise<void> {
    for (let leftMs = this.#leftMs(processed); leftMs > 0; leftMs = this.#leftMs(processed)) {
      const pause = pauseFor(leftMs);
      this.#endPause = pause.end;
      await pause.over;
    }
    this.#startedMs = performance.now();
  }

  #leftMs(processed: number): number {
    const { queued } = this.#pending;
    if (this.#isStopping || this.#awaited > processed || queued >= BATCH_ITEMS) return 0;
    return this.#startedMs + this.#everyMs(queued, processed) - performance.now();
  }

  #everyMs(queued: number, processed: number): number {
    // All entries are of locked accounts.
    if (queued === 0) return LOCKED_RETRY_MS;
    return this.#awaitedByReads > processed ? READ_BATCH_EVERY_MS : BATCH_EVERY_MS;
  }
}
