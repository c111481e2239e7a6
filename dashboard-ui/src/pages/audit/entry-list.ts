import type { AuditEntry } from "../../api/types.ts";

/** A page of the log, as `audit.list` answers it. */
export interface EntryPage {
  readonly entries: readonly AuditEntry[];
}

/**
 * Rows of the table: what has come since, then pages. Nothing is copied, as there may be a hundred thousand.
 *
 * A row has an index, which moves on when entries come on top of it, and a place, which does not: the first page begins at
 * place 0, what has come since is above it.
 */
export class EntryList {
  readonly #live: readonly AuditEntry[];
  readonly #pages: readonly EntryPage[];
  readonly #firstSize: number;
  readonly #pageSize: number;
  readonly length: number;

  /** `pages`: of one size but the first and the last. */
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

  /** Where the entry of a request is; `null` when it is not loaded. */
  find(requestId: string): number | null {
    for (let index = 0; index < this.length; index++) {
      if (this.at(index)?.requestId === requestId) return this.placeOf(index);
    }
    return null;
  }
}
