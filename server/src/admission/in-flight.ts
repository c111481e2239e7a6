/** What can stand among those {@link InFlight}. */
export interface InFlightItem {
  /** Where it stands; for {@link InFlight} alone to read and write. Begins at {@link NOWHERE}. */
  inFlightAt: number;
}

export const NOWHERE = -1;

/**
 * What comes and goes with requests, by the thousand a second. A Set does the same, but V8 makes its table anew after every so many
 * additions, and each table that is over leads to the next: once one has grown old, the collector of young objects keeps all that
 * follow, with everything that was ever found in them, until the old ones are collected. Of a request under load that was more
 * than all else that outlived it.
 */
export class InFlight<Item extends InFlightItem> implements Iterable<Item> {
  /** Those that are there, and then nothing: it is not made shorter, as it would have to be made longer again. */
  readonly #items: (Item | null)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: Item): void {
    item.inFlightAt = this.#size;
    this.#items[this.#size++] = item;
  }

  /** @returns whether it was there. */
  delete(item: Item): boolean {
    const { inFlightAt } = item;
    const last = this.#items[this.#size - 1] ?? null;
    if (inFlightAt === NOWHERE || last === null) return false;
    last.inFlightAt = inFlightAt;
    this.#items[inFlightAt] = last;
    this.#items[--this.#size] = null;
    item.inFlightAt = NOWHERE;
    return true;
  }

  /** Those that are there now, whoever comes and goes meanwhile. In no order. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.flatMap((item) => item ?? []).values();
  }
}
