import type { AuditEntry } from "../contract/entry.ts";
import type { Journal } from "../journal/journal.ts";
import type { AppendedLine } from "../journal/journal-write.ts";
import type { Segment } from "../journal/segment-names.ts";

/** An entry of a request whose beginning is in a segment of the journal. */
interface UnwrittenEntry {
  readonly entry: AuditEntry;
  readonly beginning: Segment;
}

/**
 * Entries that the journal could not take, of requests that had begun when it still could. Without its end, the next start would take such a request for
 * one that was lost with this process.
 */
export class UnwrittenEntries {
  readonly #entries: UnwrittenEntry[] = [];

  /** Does nothing if the beginning of the request is not in the journal either. */
  add(entry: AuditEntry, begun: AppendedLine | null): void {
    const beginning = begun?.writtenIn ?? null;
    if (beginning !== null) this.#entries.push({ entry, beginning });
  }

  /** Tries to write them. Calls `written` for each one that is in the journal, with its segment and that of its beginning. */
  async write(
    journal: Pick<Journal, "append">,
    written: (entry: AuditEntry, segment: Segment, beginning: Segment) => void,
  ): Promise<void> {
    const tried = this.#entries.splice(0).map((unwritten) => {
      const { whenWritten } = journal.append({ kind: "ended", entry: unwritten.entry });
      return { unwritten, segment: whenWritten.catch(() => null) };
    });
    for (const { unwritten, segment } of tried) {
      const found = await segment;
      if (found === null) this.#entries.push(unwritten);
      else written(unwritten.entry, found, unwritten.beginning);
    }
  }
}
