import { unlessRejected } from "./abort.ts";
import { APIConnectionTimeoutError } from "./errors.ts";

/** How long a stream may be silent by default, in milliseconds: well above the service's heartbeats of 15 s. */
export const DEFAULT_STREAM_IDLE_TIMEOUT_MS = 120_000;

/** `setTimeout` fires at once for a longer delay. {@link startTimer} shortens it to this: 24.8 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `onLate` after this many milliseconds; never if they are infinite. @returns a function that stops the timer. */
export function startTimer(ms: number, onLate: () => void): () => void {
  if (ms === Number.POSITIVE_INFINITY) return () => {};
  const timer = setTimeout(onLate, Math.min(Math.max(0, ms), MAX_TIMER_MS));
  return () => clearTimeout(timer);
}

/**
 * Settles as `work` does; rejects with the error of `lateError` if that takes longer than this many milliseconds. The work is not
 * stopped: `lateError` may do that.
 */
export function withTimeout<Result>(
  ms: number,
  work: Promise<Result>,
  lateError: () => Error,
): Promise<Result> {
  return unlessRejected(work, (reject) => startTimer(ms, () => reject(lateError())));
}

/**
 * Reads the next piece of a stream.
 *
 * @throws {APIConnectionTimeoutError} the stream was silent for this many milliseconds.
 */
export function readWithTimeout<Piece>(
  idleTimeoutMs: number,
  reader: ReadableStreamDefaultReader<Piece>,
): Promise<Awaited<ReturnType<ReadableStreamDefaultReader<Piece>["read"]>>> {
  return withTimeout(idleTimeoutMs, reader.read(), () => {
    const message = `Nothing of the stream arrived for ${idleTimeoutMs} ms. Set \`streamIdleTimeout\` to wait for longer.`;
    return new APIConnectionTimeoutError(message, "streamIdleTimeout");
  });
}
