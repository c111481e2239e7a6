import type { AuditEntry } from "../../api/types.ts";
import { longestFraction, longestWhole } from "../../components/format.ts";

/** A page of the log, as `audit.list` returns it. */
export interface EntryPage {
  readonly entries: readonly AuditEntry[];
}

/** The lengths of the longest costs, in characters before and after the decimal point. */
interface CostLengths {
  readonly whole: number;
  readonly fraction: number;
}

/** Each page that is loaded makes another list, of pages that stay the same. */
const known = new WeakMap<readonly AuditEntry[], CostLengths>();

function costLengthsOf(entries: readonly AuditEntry[]): CostLengths {
  const before = known.get(entries);
  if (before !== undefined) return before;
  const costs = entries.map(({ costNanoUsd }) => costNanoUsd);
  const lengths = { whole: longestWhole(costs), fraction: longestFraction(costs) };
  known.set(entries, lengths);
  return lengths;
}

/**
 * The rows of the table: new entries, then pages. Nothing is copied, because the list may hold a hundred thousand entries.
 *
 * A row has an index, which grows when entries arrive above it, and a place, which stays the same: the first page begins at
 * place 0, and new entries have negative places.
 */
export class EntryList {
  readonly #live: readonly AuditEntry[];
  readonly #pages: readonly EntryPage[];
  /** The place at which each page begins. */
  readonly #starts: readonly number[];
  readonly length: number;
  /** The maximum number of fraction digits of the entries' costs. */
  readonly fraction: number;
  /** The width of the column of costs, in digits: that of the longest part before the decimal point, the point and the fraction. */
  readonly costDigits: number;

  /** `pages`: of any size, as a search that takes long ends with a page of what it has found. */
  constructor(live: readonly AuditEntry[], pages: readonly EntryPage[]) {
    this.#live = live;
    this.#pages = pages;
    const starts: number[] = [];
    let end = 0;
    for (const { entries } of pages) {
      starts.push(end);
      end += entries.length;
    }
    this.#starts = starts;
    this.length = live.length + end;
    const lengths = [live, ...pages.map(({ entries }) => entries)].map(costLengthsOf);
    this.fraction = Math.max(...lengths.map(({ fraction }) => fraction));
    this.costDigits = Math.max(...lengths.map(({ whole }) => whole)) + 1 + this.fraction;
  }

  placeOf(index: number): number {
    return index - this.#live.length;
  }

  indexOf(place: number): number {
    return place + this.#live.length;
  }

  at(index: number): AuditEntry | undefined {
    if (index < this.#live.length) return this.#live[index];
    const place = this.placeOf(index);
    const page = this.#starts.findLastIndex((start) => start <= place);
    return this.#pages[page]?.entries[place - (this.#starts[page] ?? 0)];
  }

  /** The place of a request's entry; `null` when it is not loaded. */
  find(requestId: string): number | null {
    const isWanted = (entry: AuditEntry) => entry.requestId === requestId;
    const index = this.#live.findIndex(isWanted);
    if (index !== -1) return this.placeOf(index);
    for (const [page, { entries }] of this.#pages.entries()) {
      const at = entries.findIndex(isWanted);
      if (at !== -1) return (this.#starts[page] ?? 0) + at;
    }
    return null;
  }
}
