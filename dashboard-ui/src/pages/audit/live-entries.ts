import type { AuditEntry } from "../../api/types.ts";
import type { TailNews } from "./tail.ts";

/** What has been recorded since the pages were read. */
export interface LiveEntries {
  /** Those on top of the pages, newest first. */
  readonly shown: readonly AuditEntry[];
  /** How many of them have just come. */
  readonly fresh: number;
  /** Those that wait until nobody reads any more, newest first. */
  readonly kept: readonly AuditEntry[];
  /** How many wait, those included that are not kept. */
  readonly waiting: number;
  /** How many have come in all: tells how many came since some moment. */
  readonly arrived: number;
  /** How often there were more than are told; and how many of those times the pages have been read since. */
  readonly gaps: number;
  readonly gapsRead: number;
  /** Why, where that is worth telling. */
  readonly told: string | null;
}

/** More than these are better read as pages. */
const MAX_KEPT = 500;

export const NOTHING_LIVE: LiveEntries = {
  shown: [],
  fresh: 0,
  kept: [],
  waiting: 0,
  arrived: 0,
  gaps: 0,
  gapsRead: 0,
  told: null,
};

/** @param isReading what is on the page should stay where it is: news wait. */
export function withNews(live: LiveEntries, news: TailNews, isReading: boolean): LiveEntries {
  const come = news.entries.toReversed();
  const kept = [...come, ...live.kept];
  const isTooMuch = (isReading ? kept : live.shown).length > MAX_KEPT;
  const next: LiveEntries = {
    ...live,
    kept: isReading && isTooMuch ? [] : kept,
    waiting: live.waiting + come.length + news.skipped,
    arrived: live.arrived + come.length,
    gaps: live.gaps + (news.skipped > 0 || news.hasGap || isTooMuch ? 1 : 0),
    told: wordsOf(news) ?? live.told,
  };
  return isReading ? next : withAllShown(next);
}

/** What waits is shown, as far as it was kept. */
export function withAllShown(live: LiveEntries): LiveEntries {
  if (live.waiting === 0) return live;
  return {
    ...live,
    // What is cut off here stands in the pages as soon as they were read again.
    shown: [...live.kept, ...live.shown].slice(0, 2 * MAX_KEPT),
    fresh: live.fresh + live.kept.length,
    kept: [],
    waiting: 0,
  };
}

/** Something may have been recorded that was not told. */
export function withGap(live: LiveEntries): LiveEntries {
  return { ...live, gaps: live.gaps + 1 };
}

/** While there are any, there are more entries than these: the pages have to be read again. */
export function gapsLeft(live: LiveEntries): number {
  return live.gaps - live.gapsRead;
}

/** The pages were read again: they hold whatever there was when that began. */
export function withPagesRead(live: LiveEntries, before: LiveEntries): LiveEntries {
  const shown = [...live.kept, ...live.shown].slice(0, live.arrived - before.arrived);
  return { ...live, shown, fresh: shown.length, kept: [], waiting: 0, gapsRead: before.gaps };
}

/** Those on top of the pages that are not in the first of them already. */
export function aboveOf(live: LiveEntries, firstPage: readonly AuditEntry[]): readonly AuditEntry[] {
  if (live.shown.length === 0) return live.shown;
  const paged = new Set(firstPage.map(({ id }) => id));
  return live.shown.filter(({ id }) => !paged.has(id));
}

function wordsOf({ skipped, hasGap }: TailNews): string | null {
  if (hasGap) return "Entries were missed while the connection was lost. Reloading the list.";
  if (skipped === 0) return null;
  const count = new Intl.NumberFormat("en").format(skipped);
  return `${count} more ${skipped === 1 ? "entry" : "entries"} arrived too fast to show. Reloading the list.`;
}
