import { aborted, forwardAbort } from "./abort.ts";
import { objectOf } from "./checks.ts";

/** A sequence that can be left at any time. */
export interface Leavable<Item> extends AsyncGenerator<Item, void, undefined> {
  /** Ends the source of the items. */
  leave(): void;
}

/**
 * Items whose source ends as soon as they are left. A generator alone does nothing when it is left before it is read, and waits for a
 * read that is under way. `leave` may be called several times, and after the end.
 */
export function leavable<Item>(
  items: AsyncGenerator<Item, void, undefined>,
  leave: () => void,
): Leavable<Item> {
  const { return: end, throw: fail } = items;
  return Object.assign(items, {
    leave,
    return: () => {
      leave();
      return end.call(items);
    },
    throw: (error: unknown) => {
      leave();
      return fail.call(items, error);
    },
  });
}

/**
 * Items of requests with these options, whose signal is also aborted when the items are left.
 *
 * @throws {OstiaryError} when it is read: the options are not an object: types check only callers in TypeScript.
 */
export function untilLeft<Item, Options extends { readonly signal?: AbortSignal | undefined }>(
  options: Options,
  read: (options: Options & { readonly signal: AbortSignal }) => AsyncGenerator<Item, void, undefined>,
): Leavable<Item> {
  const controller = new AbortController();
  async function* items(): AsyncGenerator<Item, void, undefined> {
    const release = forwardAbort(objectOf("options", options).signal, controller);
    try {
      yield* read({ ...options, signal: controller.signal });
    } finally {
      release();
    }
  }
  return leavable(items(), () => controller.abort());
}

/** Two sequences with the items of one. What only one of them has read is kept in memory. The source is left when both have been. */
export function teed<Item>(source: Leavable<Item>): [Leavable<Item>, Leavable<Item>] {
  const queues: [Promise<IteratorResult<Item, void>>[], Promise<IteratorResult<Item, void>>[]] = [[], []];
  const left = new Set<number>();
  const branch = (own: 0 | 1): Leavable<Item> => {
    const other = own === 0 ? 1 : 0;
    const leave = () => {
      left.add(own);
      queues[own].length = 0;
      if (left.size === 2) source.leave();
    };
    async function* read(): AsyncGenerator<Item, void, undefined> {
      try {
        for (;;) {
          if (left.has(own)) throw aborted();
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
        leave();
      }
    }
    return leavable(read(), leave);
  };
  return [branch(0), branch(1)];
}

/** Each item as a line of JSON in UTF-8, read no faster than it is needed. */
export function readableLines<Item>(
  source: AsyncGenerator<Item, void, undefined>,
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
    cancel() {
      // It is left at once. Its end is not awaited, because another reader may share its source.
      source.return().catch(() => {});
    },
  });
}
