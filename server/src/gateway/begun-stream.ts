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

/** A stream of which the first item was read already. Not a generator: one that was never read would not notice that it is left. */
class BegunStream<Item> implements AsyncIterableIterator<Item> {
  readonly #iterator: AsyncIterator<Item>;
  #first: IteratorResult<Item> | null;
  readonly #ended: (reason: unknown) => void;

  constructor(iterator: AsyncIterator<Item>, first: IteratorResult<Item>, ended: (reason: unknown) => void) {
    this.#iterator = iterator;
    this.#first = first;
    this.#ended = ended;
  }

  async next(): Promise<IteratorResult<Item>> {
    const first = this.#first;
    this.#first = null;
    try {
      const result = first ?? (await this.#iterator.next());
      if (result.done === true) this.#ended(null);
      return result;
    } catch (reason) {
      this.#ended(reason);
      throw reason;
    }
  }

  async return(): Promise<IteratorResult<Item>> {
    this.#ended(new TransportError("aborted", "the stream was left"));
    await this.#iterator.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
