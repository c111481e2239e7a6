import type { Logger } from "pino";

/** Machines that are kept in time differ by less than a second. Journals and idempotent requests bear minutes. */
const MAX_SKEW_MS = 5 * 60_000;

export interface ClockParts {
  readonly databaseNow: () => Promise<Date>;
  readonly now: () => Date;
  readonly log: Logger;
}

/**
 * Compares the node's clock with the database's. What is old enough to be deleted is decided by the database's clock alone,
 * and by nobody while the two differ: one of them is wrong, and what was deleted does not come back.
 */
export class Clocks {
  readonly #parts: ClockParts;
  #skewMs: number | null = null;
  #isToldOf = false;

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
    // At some moment between question and answer.
    this.#skewMs = (askedMs + answeredMs) / 2 - databaseTime.getTime();
    const skewS = Math.round(this.#skewMs / 1_000);
    if (!this.#isAgreed() && !this.#isToldOf) {
      const message =
        "the clocks of this node and the database differ by minutes: nothing is deleted for its age until both are right";
      log.error({ skewS }, message);
      this.#isToldOf = true;
    } else if (this.#isAgreed() && this.#isToldOf) {
      log.info({ skewS }, "the clocks of this node and the database agree again");
      this.#isToldOf = false;
    }
    return databaseTime;
  }

  /** Does what depends on the time, with the database's; nothing while the clocks differ by minutes. */
  async whileAgreed(work: (databaseTime: Date) => Promise<unknown>): Promise<void> {
    const databaseTime = await this.compare();
    if (this.#isAgreed()) await work(databaseTime);
  }

  #isAgreed(): boolean {
    return this.#skewMs !== null && Math.abs(this.#skewMs) <= MAX_SKEW_MS;
  }
}
