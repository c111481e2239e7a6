import type { Refused } from "../database/insert-all.ts";
import { reasonOf } from "../errors/problems.ts";
import { rejectEntries } from "../journal/replay-journal.ts";
import type { Segment } from "../journal/segment-names.ts";
import type { PendingEntry } from "./pending-entries.ts";
import type { RecorderParts } from "./recorder.ts";

/**
 * Rejects entries that the database refuses for their content, so that they do not block later ones. If their lines can't be written, they
 * stay in their segments for the next start.
 *
 * @returns the entries that were rejected.
 */
export async function rejectPending(
  parts: Pick<RecorderParts, "journal" | "log" | "onRejected">,
  refused: readonly Refused<PendingEntry>[],
): Promise<readonly PendingEntry[]> {
  const entries = refused.map(({ item, reason }) => ({
    segment: item.segments[0],
    entry: item.entry,
    reason,
  }));
  try {
    await rejectEntries(parts, entries);
    parts.onRejected?.(entries.map(({ entry }) => entry));
    return refused.map(({ item }) => item);
  } catch (error) {
    const logged = { ...reasonOf(error), entries: entries.length };
    parts.log.error(logged, "rejected entries cannot be written to the journal folder");
    return [];
  }
}

/** Releases the lines of entries that need no longer be in the journal. */
export async function releaseLines(
  { journal, log }: Pick<RecorderParts, "journal" | "log">,
  batch: readonly PendingEntry[],
): Promise<void> {
  const counts = new Map<Segment, number>();
  for (const segment of batch.flatMap(({ segments }) => segments))
    counts.set(segment, (counts.get(segment) ?? 0) + 1);
  for (const [segment, count] of counts) {
    await journal.release(segment, count).catch((error: unknown) => {
      // The entries are replayed at the next start, which is harmless.
      log.error({ ...reasonOf(error), segment }, "a journal segment could not be deleted");
    });
  }
}
