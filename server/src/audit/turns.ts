const ignoreError = () => {};

/** Does one thing after the other, and tells how long the present one takes. */
export class Turns {
  /** Ends with the last one, whether or not it succeeds. */
  #last: Promise<unknown> = Promise.resolve();
  #startedMs: number | null = null;

  /** Does `work` after everything that was passed before. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(() => this.#work(work));
    this.#last = done.catch(ignoreError);
    return done;
  }

  /** For how long that which is done now has been done; 0 if nothing is. */
  get busyMs(): number {
    return this.#startedMs === null ? 0 : performance.now() - this.#startedMs;
  }

  async #work<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#startedMs = performance.now();
    try {
      return await work();
    } finally {
      this.#startedMs = null;
    }
  }
}
