const ignoreError = () => {};

/** Runs work one piece after the other, and tells how long the present one has been running. */
export class WorkQueue {
  /** Resolves when the last piece has ended, whether or not it succeeds. */
  #last: Promise<unknown> = Promise.resolve();
  #startedMs: number | null = null;

  /** Runs `work` after all work of earlier calls. Settles as the work does. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(() => this.#timed(work));
    this.#last = done.catch(ignoreError);
    return done;
  }

  /** How long the present work has been running, in milliseconds; 0 if none is. */
  get busyMs(): number {
    return this.#startedMs === null ? 0 : performance.now() - this.#startedMs;
  }

  async #timed<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#startedMs = performance.now();
    try {
      return await work();
    } finally {
      this.#startedMs = null;
    }
  }
}
