import type { Logger } from "pino";

/** Synchronised clocks differ by less than a second. Beyond minutes one of them is wrong. */
const MAX_SKEW_MS = 5 * 60_000;

export interface ClockParts {
  readonly databaseNow: () => Promise<Date>;
  readonly now: () => Date;
  readonly log: Logger;
}

/**
 * Compares the node's clock with the database's. The database's clock decides what is old enough to be deleted. While the two
 * differ by minutes nothing is deleted: one of them is wrong, and deleted rows do not come back.
 */
export class Clocks {
  readonly #parts: ClockParts;
  #skewMs: number | null = null;
  #isReported = false;

  constructor(parts: ClockParts) {
    this.#parts = parts;
  }

  /** How far the node's clock is ahead of the database's, by the last comparison; `null` before the first. */
  get skewMs(): number | null {
    return this.#skewMs;
  }

  /** @returns the database's time, whether or not the node's clock agrees with it. */
  async compare(): Promise<Date> {
    const { databaseNow, now, log } = this.#parts;
    const askedMs = now().getTime();
    const databaseTime = await databaseNow();
    const answeredMs = now().getTime();
    // The database read its clock at some moment between the two.
    this.#skewMs = (askedMs + answeredMs) / 2 - databaseTime.getTime();
    const skewS = Math.round(this.#skewMs / 1_000);
    if (!this.#isAgreed() && !this.#isReported) {
      const message =
        "the clocks of this node and the database differ by minutes: this node deletes nothing by age until they agree";
      log.error({ skewS }, message);
      this.#isReported = true;
    } else if (this.#isAgreed() && this.#isReported) {
      log.info({ skewS }, "the clocks of this node and the database agree again");
      this.#isReported = false;
    }
    return databaseTime;
  }

  /** Runs `work` with the database's time, unless the clocks differ by minutes. */
  async whileAgreed(work: (databaseTime: Date) => Promise<unknown>): Promise<void> {
    const databaseTime = await this.compare();
    if (this.#isAgreed()) await work(databaseTime);
  }

  #isAgreed(): boolean {
    return this.#skewMs !== null && Math.abs(this.#skewMs) <= MAX_SKEW_MS;
  }
}
