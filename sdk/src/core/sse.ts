import { EventReader } from "../contract/event-reader.ts";

/** How long a body may stay open after its last event, in milliseconds. */
const LONGEST_TAIL_MS = 1_000;

/**
 * The data of each server-sent event of a body
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Holds one event at a time.
 *
 * Unlike the standard, an event that the body's end cuts off is given too: a `[DONE]` whose blank line was lost on the
 * way is still the end of a whole answer, and any other event cut short is not JSON.
 *
 * @param last The data after which nothing comes. A body left there may end by itself, so that its connection can be
 *   used again; one left anywhere else is cancelled.
 */
export async function* eventData(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  last: string,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  // Not awaited, for a body that someone else reads too (a `fetch` that clones answers for its log) is only cancelled
  // when they are done; nor can one that broke be.
  const cancel = () => {
    reader.cancel().catch(() => {});
  };
  // Not every `fetch` ends a body by the request's signal. Cancelled, a read under way comes back as the end.
  signal.addEventListener("abort", cancel, { once: true });
  const events = new EventReader(Number.POSITIVE_INFINITY);
  let reachedLast = false;
  try {
    for (let done = false; !done; ) {
      const part = await reader.read();
      done = part.done;
      for (const data of part.done ? events.end() : events.push(part.value)) {
        reachedLast = data === last;
        yield data;
      }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    if (reachedLast) letEnd(reader, cancel);
    else cancel();
  }
}

/** Waits, in the background, for the end that follows the last event. */
function letEnd(reader: ReadableStreamDefaultReader<Uint8Array>, cancel: () => void): void {
  const timer = setTimeout(cancel, LONGEST_TAIL_MS);
  reader.read().then(
    ({ done }) => {
      clearTimeout(timer);
      if (!done) cancel();
    },
    () => clearTimeout(timer),
  );
}
