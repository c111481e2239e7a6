/** Two sequences with the items of one. What only one of them has read is kept in memory. The source is left when both have been. */
export function teed<Item>(
  source: AsyncGenerator<Item, void, undefined>,
): [() => AsyncGenerator<Item, void, undefined>, () => AsyncGenerator<Item, void, undefined>] {
  const queues: [Promise<IteratorResult<Item, void>>[], Promise<IteratorResult<Item, void>>[]] = [[], []];
  const left = new Set<number>();
  async function* read(own: 0 | 1): AsyncGenerator<Item, void, undefined> {
    const other = own === 0 ? 1 : 0;
    try {
      for (;;) {
        let next = queues[own].shift();
        if (next === undefined) {
          next = source.next();
          // The other reader gets the same result, or its error, when it comes to it.
          next.catch(() => {});
          if (!left.has(other)) queues[other].push(next);
        }
        const { done, value } = await next;
        if (done === true) return;
        yield value;
      }
    } finally {
      left.add(own);
      queues[own].length = 0;
      if (left.size === 2) await source.return();
    }
  }
  return [() => read(0), () => read(1)];
}

/** Each item as a line of JSON in UTF-8, read no faster than it is needed. `onCancel` ends the source. */
export function readableLines<Item>(
  source: AsyncGenerator<Item, void, undefined>,
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await source.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
      } catch (error) {
        controller.error(error);
      }
    },
    async cancel() {
      // It ends a read that is under way, which the generator would wait for.
      onCancel();
      await source.return();
    },
  });
}
