/** Something that happens at a virtual time, unless it is cancelled before. */
export interface Happening {
  dueMs: number;
  /** Happenings of the same time come in the order in which they were added. */
  readonly order: number;
  isCancelled: boolean;
}

/** What is yet to happen, the earliest first: a binary heap. Cancelled happenings stay in it until they are due. */
export class Agenda<Item extends Happening> {
  readonly #heap: Item[] = [];

  add(item: Item): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(item);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt];
      if (parent === undefined || isBefore(parent, item)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = item;
  }

  /** Takes the earliest that is due by the time. @returns `null` when there is none. */
  takeDue(byMs: number): Item | null {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || first.dueMs > byMs) return null;
      this.#removeFirst();
      if (!first.isCancelled) return first;
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const item = heap.pop();
    if (item === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = heap[childAt];
      if (child === undefined) break;
      const sibling = heap[childAt + 1];
      if (sibling !== undefined && isBefore(sibling, child)) {
        child = sibling;
        childAt++;
      }
      if (isBefore(item, child)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = item;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
