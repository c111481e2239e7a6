import { APIError, retryAfterMsOf, StreamInterruptedError } from "../../../../sdk/src/session.ts";

/** The reason why an answer is missing or incomplete. */
export interface ChatFailure {
  /** The service's error code; `null` if the error is not from the service. */
  readonly code: string | null;
  readonly message: string;
  readonly requestId: string | null;
  /** The wait that the service asks for. */
  readonly retryAfterMs: number | null;
}

/** The failure to show for a thrown value. `requestId` is `null` until the service has begun to answer. */
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
