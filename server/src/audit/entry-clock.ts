import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { Plans } from "../contract/plans.ts";

interface EntryClockParts {
  readonly plans: Plans;
  /** The node's time, in whole milliseconds since 1970. */
  readonly nowMs: () => number;
  /** The database's time, which decides what is deleted, in milliseconds since 1970; `null`: it is unknown. */
  readonly databaseMs: () => number | null;
  /** The latest time that the node's clock may show, compared with the database's; `null`: it is unknown. */
  readonly latestMs: () => number | null;
  /** The time of the newest entry that was deleted for its age, in milliseconds since 1970; `null`: none was. */
  readonly newestDeletedMs: number | null;
}

/**
 * Makes a function that returns the time of a new entry in whole milliseconds since 1970: the node's, within bounds that the database's clock
 * sets. An entry that is older than the deleted ones of its account counts as one of them when it is inserted, so it would be neither
 * recorded nor charged. An entry of the future would keep all later ones of its account from being deleted until its own time comes.
 *
 * A node's clock that jumps ahead by less than a day dates entries ahead until the clocks are compared. As ids only ascend, later entries of
 * the process then keep that time until the real time has caught up with it.
 */
export function entryClock(parts: EntryClockParts): () => number {
  const { plans, nowMs, databaseMs, latestMs, newestDeletedMs } = parts;
  const days = Object.values(plans).map(({ auditRetentionDays }) => auditRetentionDays);
  const shortestMs = Math.min(...days.map((each) => each ?? Number.POSITIVE_INFINITY)) * DAY_MS;
  // An entry is inserted after the end of its request, which may take long. Until then it must not become old enough to be deleted.
  const youngerMs = shortestMs - Math.min(DAY_MS, shortestMs / 2);
  const afterDeletedMs = newestDeletedMs === null ? 0 : newestDeletedMs + 1;
  return () => {
    const earliestMs = Math.max(afterDeletedMs, Math.floor((databaseMs() ?? 0) - youngerMs));
    return Math.max(earliestMs, Math.min(nowMs(), Math.floor(latestMs() ?? Number.POSITIVE_INFINITY)));
  };
}
