import { TransportError } from "../upstream/transport.ts";

/**
 * Resolves when the first item is in, so that a stream which fails at once can still go elsewhere.
 *
 * @param ended told how the stream has ended, `null` for well: once or more often.
 */
export async function begunStream<Item>(
  items: AsyncIterable<Item>,
  ended: (reason: unknown) => void,
): Promise<AsyncIterable<Item>> {
  const iterator = items[Symbol.asyncIterator]();
  const first = await iterator.next();
  return new BegunStream(iterator, first, ended);
}

/**
 * A stream of which the first item was asked for already. Not a generator: one that was never read would not notice that it is
 * left.
 */
export class BegunStream<Item> implements AsyncIterableIterator<Item> {
  readonly #iterator: AsyncIterator<Item>;
  #first: IteratorResult<Item> | Promise<IteratorResult<Item>> | null;
  readonly #ended: (reason: unknown) => void;
  #isOver = false;

  constructor(
    iterator: AsyncIterator<Item>,
    first: IteratorResult<Item> | Promise<IteratorResult<Item>>,
    ended: (reason: unknown) => void = () => {},
  ) {
    this.#iterator = iterator;
    this.#first = first;
    this.#ended = ended;
  }

  async next(): Promise<IteratorResult<Item>> {
    const first = this.#first;
    this.#first = null;
    try {
      const result = await (first ?? this.#iterator.next());
      if (result.done === true) this.#end(null);
      return result;
    } catch (reason) {
      this.#end(reason);
      throw reason;
    }
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

  #end(reason: unknown): void {
    this.#isOver = true;
    this.#ended(reason);
  }
}
