/** What can stand among those {@link InFlight}. */
export interface InFlightItem {
  /** Where it stands; for {@link InFlight} alone to read and write. Begins at {@link NOT_IN_FLIGHT}. */
  inFlightIndex: number;
}

export const NOT_IN_FLIGHT = -1;

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
    item.inFlightIndex = this.#size;
    this.#items[this.#size++] = item;
  }

  /** @returns whether it was there. */
  delete(item: Item): boolean {
    const { inFlightIndex } = item;
    const last = this.#items[this.#size - 1] ?? null;
    if (inFlightIndex === NOT_IN_FLIGHT || last === null) return false;
    last.inFlightIndex = inFlightIndex;
    this.#items[inFlightIndex] = last;
    this.#items[--this.#size] = null;
    item.inFlightIndex = NOT_IN_FLIGHT;
    return true;
  }

  /** Those that are there now, whoever comes and goes meanwhile. In no order. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.flatMap((item) => item ?? []).values();
  }
}
