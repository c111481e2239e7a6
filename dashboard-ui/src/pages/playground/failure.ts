import { APIError, retryAfterMsOf, StreamInterruptedError } from "../../../../sdk/src/session.ts";

/** Why there is no answer, or not the whole of one. */
export interface ChatFailure {
  /** The service's; `null` when it was not the service that said so. */
  readonly code: string | null;
  readonly message: string;
  readonly requestId: string | null;
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | null;
}

/** What to show of whatever was thrown. `requestId` is `null` until the service has begun to answer. */
export function failureOf(thrown: unknown, requestId: string | null): ChatFailure {
  if (thrown instanceof APIError) {
    const { code, status, headers } = thrown;
    const message =
      code === null
        ? `Unexpected response (status ${status}). Check the proxy between you and the service.`
        : thrown.message;
    return { code, message, requestId: thrown.requestId, retryAfterMs: retryAfterMsOf(headers) };
  }
  const message =
    requestId === null && !(thrown instanceof StreamInterruptedError)
      ? "The service can't be reached. Check your connection and try again."
      : "The connection was lost before the answer was complete. Try again.";
  return { code: null, message, requestId, retryAfterMs: null };
}
