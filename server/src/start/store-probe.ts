import { resultWithin } from "../errors/deadline.ts";

const ANSWER_TIMEOUT_MS = 2_000;

/** The last answer of a store that was asked regularly. */
export interface StoreAnswer {
  readonly isUp: boolean;
  /** How long it took, in milliseconds; `null` if it did not answer in time. */
  readonly ms: number | null;
}

/** Measures how long a store takes to answer. */
export class StoreProbe {
  readonly #ask: () => PromiseLike<unknown>;
  readonly #monotonicMs: () => number;
  #last: StoreAnswer | null = null;

  constructor(ask: () => PromiseLike<unknown>, monotonicMs: () => number) {
    this.#ask = ask;
    this.#monotonicMs = monotonicMs;
  }

  /** The last measurement; `null` before the first. */
  get last(): StoreAnswer | null {
    return this.#last;
  }

  /** Asks the store. Never rejects. */
  async measure(): Promise<void> {
    const startedMs = this.#monotonicMs();
    const answered = Promise.resolve(this.#ask()).then(
      () => true,
      () => false,
    );
    const isUp = (await resultWithin(ANSWER_TIMEOUT_MS, answered)) === true;
    this.#last = { isUp, ms: isUp ? this.#monotonicMs() - startedMs : null };
  }
}
