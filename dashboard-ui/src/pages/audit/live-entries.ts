import type { AuditEntry } from "../../api/types.ts";
import type { TailNews } from "./tail.ts";

/** Entries that were recorded after the pages were read. */
export interface LiveEntries {
  /** Entries above the pages, newest first. */
  readonly shown: readonly AuditEntry[];
  /** The number of shown entries that have just arrived. */
  readonly fresh: number;
  /** Entries that wait until the user stops reading, newest first. */
  readonly kept: readonly AuditEntry[];
  /** The number of waiting entries, including those that are not kept. */
  readonly waiting: number;
  /** The total number of entries that have arrived. Two values give the number between two moments. */
  readonly arrived: number;
  /** The number of gaps in the events, and the number of these that re-reading the pages has closed. */
  readonly gaps: number;
  readonly gapsRead: number;
  /** The message about missed or skipped entries; `null` without one. */
  readonly notice: string | null;
}

/** The maximum number of entries to keep. Beyond it, the pages are read again. */
const MAX_KEPT = 500;

export const NOTHING_LIVE: LiveEntries = {
  shown: [],
  fresh: 0,
  kept: [],
  waiting: 0,
  arrived: 0,
  gaps: 0,
  gapsRead: 0,
  notice: null,
};

/** @param isReading whether the page must not move; new entries then wait. */
export function withNews(live: LiveEntries, news: TailNews, isReading: boolean): LiveEntries {
  const arrived = news.entries.toReversed();
  const kept = [...arrived, ...live.kept];
  const isTooMuch = (isReading ? kept : live.shown).length > MAX_KEPT;
  const next: LiveEntries = {
    ...live,
    kept: isReading && isTooMuch ? [] : kept,
    waiting: live.waiting + arrived.length + news.skipped,
    arrived: live.arrived + arrived.length,
    gaps: live.gaps + (news.skipped > 0 || news.hasGap || isTooMuch ? 1 : 0),
    notice: noticeOf(news) ?? live.notice,
  };
  return isReading ? next : withAllShown(next);
}

/** Shows the waiting entries that were kept. */
export function withAllShown(live: LiveEntries): LiveEntries {
  if (live.waiting === 0) return live;
  return {
    ...live,
    // Entries that are cut off here appear in the pages once these are read again.
    shown: [...live.kept, ...live.shown].slice(0, 2 * MAX_KEPT),
    fresh: live.fresh + live.kept.length,
    kept: [],
    waiting: 0,
  };
}

/** Records that events may have been missed. */
export function withGap(live: LiveEntries): LiveEntries {
  return { ...live, gaps: live.gaps + 1 };
}

/** The number of open gaps. While there is one, entries are missing and the pages must be read again. */
export function gapsLeft(live: LiveEntries): number {
  return live.gaps - live.gapsRead;
}

/** Records that the pages were read again. They contain all entries recorded before the read began. */
export function withPagesRead(live: LiveEntries, before: LiveEntries): LiveEntries {
  const shown = [...live.kept, ...live.shown].slice(0, live.arrived - before.arrived);
  return { ...live, shown, fresh: shown.length, kept: [], waiting: 0, gapsRead: before.gaps };
}

/** The entries above the pages that the first page does not contain. */
export function aboveOf(live: LiveEntries, firstPage: readonly AuditEntry[]): readonly AuditEntry[] {
  if (live.shown.length === 0) return live.shown;
  const paged = new Set(firstPage.map(({ id }) => id));
  return live.shown.filter(({ id }) => !paged.has(id));
}

function noticeOf({ skipped, hasGap }: TailNews): string | null {
  if (hasGap) return "Entries were missed while the connection was lost. Reloading the list.";
  if (skipped === 0) return null;
  const count = new Intl.NumberFormat("en").format(skipped);
  return `${count} more ${skipped === 1 ? "entry" : "entries"} arrived too fast to show. Reloading the list.`;
}
