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
  const decoder = new TextDecoder();
  const events = new EventLines();
  let reachedLast = false;
  try {
    for (let done = false; !done; ) {
      const part = await reader.read();
      done = part.done;
      const text = part.done ? `${decoder.decode()}\n\n` : decoder.decode(part.value, { stream: true });
      for (const data of events.push(text)) {
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

/** Lines put together from pieces, and events from lines. */
class EventLines {
  /** The line that has not ended. Grown by concatenation, which copies nothing until the line is whole. */
  #line = "";
  #data: string[] = [];
  #afterCarriageReturn = false;

  /** The data of the events that this piece of the body completes. */
  *push(piece: string): Generator<string, void, undefined> {
    if (piece === "") return;
    // The other half of a CRLF whose halves came apart.
    const text = this.#afterCarriageReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCarriageReturn = piece.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const unended = lines.pop() ?? "";
    for (const rest of lines) {
      const line = this.#line + rest;
      this.#line = "";
      if (line === "") {
        const data = this.#data;
        this.#data = [];
        if (data.length > 0) yield data.join("\n");
      } else if (line === "data") {
        this.#data.push("");
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      }
    }
    this.#line += unended;
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
