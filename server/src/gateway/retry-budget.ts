const WINDOW_S = 10;
/** Second attempts, as a share of first ones; and so many in any case. */
const MAX_SHARE = 0.2;
const MIN_RETRIES = 10;

/** Keeps second attempts a fraction of the first: when everything fails, asking again makes it worse. */
export class RetryBudget {
  readonly #monotonicMs: () => number;
  readonly #seconds = new Map<number, { firsts: number; retries: number }>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** To be told of each request. */
  first(): void {
    this.#present().firsts++;
  }

  /** @returns whether there may be another attempt. */
  retry(): boolean {
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
