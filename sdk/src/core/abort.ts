import { functionOf } from "./checks.ts";
import { APIUserAbortError } from "./errors.ts";

/** The error of a request that its caller has aborted. `cause` is the signal's reason, or the error that followed. */
export function aborted(cause?: unknown): APIUserAbortError {
  return new APIUserAbortError("The request was aborted.", { cause });
}

/**
 * Aborts the controller with the caller's signal, at once if that is already aborted, until released. `AbortSignal.any` is missing in
 * some versions of Node 20, and in others keeps memory for each request as long as the caller's signal lives.
 *
 * @throws {OstiaryError} it is no signal, which JavaScript does not prevent.
 */
export function follow(signal: AbortSignal | null | undefined, controller: AbortController): () => void {
  if (signal != null) functionOf("signal.addEventListener", signal.addEventListener);
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return () => signal?.removeEventListener("abort", abort);
}

/** Settles as the work does, or rejects with the signal's reason as soon as it is aborted, which the work may ignore. */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stop = () => {};
  const left = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
