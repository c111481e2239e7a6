import { functionOf } from "./checks.ts";
import { APIUserAbortError } from "./errors.ts";

/** The error of a request that its caller has aborted. */
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
