import type { Logger } from "pino";
import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";

/** Synchronised clocks differ by less than a second. Beyond minutes one of them is wrong. */
const MAX_SKEW_MS = 5 * 60_000;
/** Between two comparisons, the database's time is estimated by a clock that stops while the computer sleeps. The estimate may be behind by this much. */
const MAX_ASLEEP_MS = DAY_MS;

interface ClocksParts {
  readonly databaseNow: () => Promise<Date>;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
}

/**
 * Compares the node's clock with the database's. The database's clock decides what is old enough to be deleted. While the two
 * differ by minutes nothing is deleted: one of them is wrong, and deleted rows do not come back.
 */
export function openClocks({ databaseNow, now, monotonicMs, log }: ClocksParts) {
  let skewMs: number | null = null;
  /** The database's time, and when it was that, at the last comparison. */
  let compared: { readonly databaseMs: number; readonly atMs: number } | null = null;
  let isReported = false;
  const databaseMs = (): number | null =>
    compared === null ? null : compared.databaseMs + monotonicMs() - compared.atMs;
  const isAgreed = () => skewMs !== null && Math.abs(skewMs) <= MAX_SKEW_MS;
  const compare = async (): Promise<Date> => {
    const askedMs = now().getTime();
    const databaseTime = await databaseNow();
    compared = { databaseMs: databaseTime.getTime(), atMs: monotonicMs() };
    const answeredMs = now().getTime();
    // The database read its clock at some moment between the two.
    skewMs = (askedMs + answeredMs) / 2 - databaseTime.getTime();
    const skewS = Math.round(skewMs / 1_000);
    if (!isAgreed() && !isReported) {
      const message =
        "the clocks of this node and the database differ by minutes: this node deletes nothing by age until they agree";
      log.error({ skewS }, message);
    } else if (isAgreed() && isReported) {
      log.info({ skewS }, "the clocks of this node and the database agree again");
    }
    isReported = !isAgreed();
    return databaseTime;
  };
  return {
    /** How far the node's clock is ahead of the database's, by the last comparison; `null` before the first. */
    get skewMs() {
      return skewMs;
    },
    /** The database's time in milliseconds since 1970, counted on from the last comparison; `null` before the first. */
    databaseMs,
    /**
     * The latest time that the node's clock may show, in milliseconds since 1970; `null` before the first comparison. It is the database's
     * time while the node's clock is minutes ahead of that, and otherwise a day later.
     */
    latestMs: (): number | null => {
      const ms = databaseMs();
      return ms === null ? null : ms + (skewMs !== null && skewMs > MAX_SKEW_MS ? 0 : MAX_ASLEEP_MS);
    },
    /**
     * A time that has passed by the node's clock and by the database's, in milliseconds since 1970: entries may still be dated by either. It
     * precedes all times before the first comparison.
     */
    closedUntilMs: (): number => Math.min(now().getTime(), databaseMs() ?? Number.NEGATIVE_INFINITY),
    /** @returns the database's time, whether or not the node's clock agrees with it. */
    compare,
    /** Runs `work` with the database's time, unless the clocks differ by minutes. */
    whileAgreed: async (work: (databaseTime: Date) => Promise<unknown>): Promise<void> => {
      const databaseTime = await compare();
      if (isAgreed()) await work(databaseTime);
    },
  };
}
