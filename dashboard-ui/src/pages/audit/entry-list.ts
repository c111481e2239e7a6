import type { AuditEntry } from "../../api/types.ts";

/** A page of the log, as `audit.list` returns it. */
export interface EntryPage {
  readonly entries: readonly AuditEntry[];
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
  readonly #firstSize: number;
  readonly #pageSize: number;
  readonly length: number;

  /** `pages`: all but the first and the last have the same size. */
  constructor(live: readonly AuditEntry[], pages: readonly EntryPage[]) {
    this.#live = live;
    this.#pages = pages;
    this.#firstSize = pages[0]?.entries.length ?? 0;
    this.#pageSize = Math.max(1, pages[1]?.entries.length ?? 0);
    const between = Math.max(0, pages.length - 2) * this.#pageSize;
    const last = pages.length > 1 ? (pages.at(-1)?.entries.length ?? 0) : 0;
    this.length = live.length + this.#firstSize + between + last;
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
    if (place < this.#firstSize) return this.#pages[0]?.entries[place];
    const rest = place - this.#firstSize;
    return this.#pages[1 + Math.floor(rest / this.#pageSize)]?.entries[rest % this.#pageSize];
  }

  /** The place of a request's entry; `null` when it is not loaded. */
  find(requestId: string): number | null {
    for (let index = 0; index < this.length; index++) {
      if (this.at(index)?.requestId === requestId) return this.placeOf(index);
    }
    return null;
  }
}
