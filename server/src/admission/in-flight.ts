/** An object that can be added to {@link InFlight}. */
export interface InFlightItem {
  /** The position in {@link InFlight}, which alone writes it; {@link NOT_IN_FLIGHT} when it is not a member. */
  inFlightIndex: number;
}

export const NOT_IN_FLIGHT = -1;

/**
 * A set of objects that are added and deleted thousands of times a second. V8 replaces the table of a `Set` after a number of
 * additions, and each abandoned table references the next one. Once one of them is in the old generation, minor collections keep
 * all that follow and everything in them. Under load this retained more of a request than everything else together.
 */
export class InFlight<Item extends InFlightItem> implements Iterable<Item> {
  /** The members, followed by `null`s. The array never shrinks, because it would have to grow again. */
  readonly #items: (Item | null)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: Item): void {
    item.inFlightIndex = this.#size;
    this.#items[this.#size++] = item;
  }

  /** @returns whether the item was a member. */
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

  /** Iterates over the present members in no particular order. Later changes do not affect the iteration. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.flatMap((item) => item ?? []).values();
  }
}
