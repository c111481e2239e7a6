/** The number of seconds over which attempts are counted. */
const WINDOW_S = 10;
/** The maximum share of retries among first attempts, and the number of retries that are always allowed. */
const MAX_SHARE = 0.2;
const MIN_RETRIES = 10;

/** Limits retries to a fraction of first attempts: when everything fails, retries make it worse. */
export class RetryBudget {
  readonly #monotonicMs: () => number;
  readonly #seconds = new Map<number, { firsts: number; retries: number }>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Counts the first attempt of a request. */
  countFirst(): void {
    this.#present().firsts++;
  }

  /** Counts a retry if it is allowed. @returns whether it is. */
  takeRetry(): boolean {
    const present = this.#present();
    let firsts = 0;
    let retries = 0;
    for (const second of this.#seconds.values()) {
      firsts += second.firsts;
      retries += second.retries;
    }
    if (retries >= MIN_RETRIES + firsts * MAX_SHARE) return false;
    present.retries++;
    return true;
  }

  #present(): { firsts: number; retries: number } {
    const now = Math.floor(this.#monotonicMs() / 1_000);
    const known = this.#seconds.get(now);
    if (known !== undefined) return known;
    for (const second of this.#seconds.keys()) if (second <= now - WINDOW_S) this.#seconds.delete(second);
    const fresh = { firsts: 0, retries: 0 };
    this.#seconds.set(now, fresh);
    return fresh;
  }
}
