import { EventReader, type ServerSentEvent } from "../contract/event-reader.ts";
import { onAbort } from "./abort.ts";
import { readWithTimeout } from "./deadline.ts";
import { APIConnectionError } from "./errors.ts";

/** How long a body may stay open after its last event, in milliseconds. */
const MAX_TAIL_MS = 1_000;

/**
 * The data of each server-sent event of a body
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Holds one event at a time.
 *
 * Unlike the standard, it also yields an event that the end of the body cuts off: a `[DONE]` whose blank line was lost
 * still ends a complete answer, and any other truncated event is invalid JSON.
 *
 * @param last The data of the last event. After it, the body may end by itself, so that its connection can be reused.
 *   A body that is left anywhere else is cancelled.
 * @param idleTimeoutMs The longest time that the body may be silent while it is read, in milliseconds. A comment ends the silence too.
 */
export async function* eventData(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  last: string,
  idleTimeoutMs: number,
): AsyncGenerator<string, void, undefined> {
  const { reader, cancel, release } = cancelledBy(signal, body);
  const events = new EventReader();
  let reachedLast = false;
  try {
    for (let done = false; !done; ) {
      const part = await readWithTimeout(idleTimeoutMs, reader);
      done = part.done;
      for (const data of part.done ? events.end() : events.push(part.value)) {
        reachedLast = data === last;
        yield data;
      }
    }
  } finally {
    release();
    if (reachedLast) letEnd(reader, cancel);
    else cancel();
  }
}

/**
 * The server-sent events of a body, with their names and ids. An event that the body's end cuts off is not an event.
 *
 * @throws {APIConnectionError} the body broke off or was silent for too long.
 */
export async function* serverSentEvents(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  idleTimeoutMs: number,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { reader, cancel, release } = cancelledBy(signal, body);
  const events = new EventReader();
  try {
    for (;;) {
      const part = await readWithTimeout(idleTimeoutMs, reader).catch(lost);
      if (part.done) return;
      yield* events.pushEvents(part.value);
    }
  } finally {
    release();
    cancel();
  }
}

/** A reader of a body that is cancelled when the signal is aborted, also if it already is. */
export function cancelledBy<Piece>(
  signal: AbortSignal,
  body: ReadableStream<Piece>,
): {
  readonly reader: ReadableStreamDefaultReader<Piece>;
  readonly cancel: () => void;
  readonly release: () => void;
} {
  const reader = body.getReader();
  // The cancellation is not awaited: if another reader shares the body (a `fetch` that clones answers for its log), it completes
  // only when that reader is done, and a broken body cannot be cancelled at all.
  const cancel = () => {
    reader.cancel().catch(() => {});
  };
  // Some `fetch` implementations ignore the request's signal in the body. Cancelling ends a pending read.
  return { reader, cancel, release: onAbort(signal, cancel) };
}

/** Runtimes report a broken body by errors of different kinds. */
function lost(cause: unknown): never {
  throw cause instanceof APIConnectionError
    ? cause
    : new APIConnectionError("The connection was lost.", { cause });
}

/** Waits in the background for the body's end after the last event. */
function letEnd(reader: ReadableStreamDefaultReader<Uint8Array>, cancel: () => void): void {
  const timer = setTimeout(cancel, MAX_TAIL_MS);
  reader.read().then(
    ({ done }) => {
      clearTimeout(timer);
      if (!done) cancel();
    },
    () => clearTimeout(timer),
  );
}
