import { TransportError } from "../upstream/transport.ts";

/** How a stream is changed and observed while it is read. */
interface StreamUse<Item> {
  /** Changes an item. */
  readonly change: (item: Item) => Item;
  /** Changes what the stream fails with. */
  readonly changeError: (reason: unknown) => unknown;
  /** Called at least once, with the error that ended the stream, or `null` if it is complete. */
  readonly ended: (reason: unknown) => void;
}

/** The stream, once its first item has arrived: so a request whose stream fails at once can be retried. */
export async function withFirstItem<Item>(
  items: AsyncIterable<Item>,
  use: StreamUse<Item>,
): Promise<AsyncIterable<Item>> {
  const iterator = items[Symbol.asyncIterator]();
  const first = await iterator.next();
  return new PrimedStream(iterator, first, use);
}

/**
 * A stream whose first item has been requested already. It is not a generator, because a generator that was never read does
 * not notice `return`.
 */
export class PrimedStream<Item> implements AsyncIterableIterator<Item> {
  readonly #iterator: AsyncIterator<Item>;
  #first: IteratorResult<Item> | Promise<IteratorResult<Item>> | null;
  readonly #use: StreamUse<Item> | null;
  #isOver = false;

  constructor(
    iterator: AsyncIterator<Item>,
    first: IteratorResult<Item> | Promise<IteratorResult<Item>>,
    use: StreamUse<Item> | null = null,
  ) {
    this.#iterator = iterator;
    this.#first = first;
    this.#use = use;
  }

  next(): Promise<IteratorResult<Item>> {
    const first = this.#first;
    this.#first = null;
    const result = first === null ? this.#iterator.next() : Promise.resolve(first);
    return result.then(this.#found, this.#failed);
  }

  async return(): Promise<IteratorResult<Item>> {
    if (!this.#isOver) {
      this.#end(new TransportError("aborted", "the stream was left"));
      await this.#iterator.return?.();
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #found = (result: IteratorResult<Item>): IteratorResult<Item> => {
    if (result.done === true) {
      this.#end(null);
      return result;
    }
    if (this.#use === null) return result;
    try {
      return { done: false, value: this.#use.change(result.value) };
    } catch (reason) {
      return this.#failed(reason);
    }
  };

  readonly #failed = (reason: unknown): never => {
    this.#end(reason);
    throw this.#use === null ? reason : this.#use.changeError(reason);
  };

  #end(reason: unknown): void {
    this.#isOver = true;
    this.#use?.ended(reason);
  }
}
