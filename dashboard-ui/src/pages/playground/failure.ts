import { envelopeIn } from "../../api/errors.ts";

/** Why there is no answer, or not the whole of one. */
export interface ChatFailure {
  /** The service's; `null` when it was not the service that said so. */
  readonly code: string | null;
  readonly message: string;
  readonly requestId: string | null;
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | null;
}

/** Thrown with a failure that is to be shown. */
export class ChatFailed extends Error {
  override readonly name = "ChatFailed";
  readonly failure: ChatFailure;

  constructor(failure: ChatFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** What an answer that is no success says. */
export async function refusalIn(response: Response): Promise<ChatFailed> {
  const told = envelopeIn(await response.json().catch(() => null));
  return new ChatFailed({
    code: told?.code ?? null,
    message:
      told?.message ??
      `Unexpected response (status ${response.status}). Check the proxy between you and the service.`,
    requestId: response.headers.get("x-request-id"),
    retryAfterMs: millisecondsIn(response.headers),
  });
}

/** What an event says that ends a stream before its time; `null` when it is another event. */
export function failureIn(event: unknown, requestId: string | null): ChatFailed | null {
  const told = envelopeIn(event);
  if (told === null) return null;
  return new ChatFailed({ code: told.code, message: told.message, requestId, retryAfterMs: null });
}

/** What to show of whatever was thrown. */
export function failureOf(thrown: unknown, requestId: string | null): ChatFailure {
  if (thrown instanceof ChatFailed) return thrown.failure;
  const message =
    requestId === null
      ? "The service can't be reached. Check your connection and try again."
      : "The connection was lost before the answer was complete. Try again.";
  return { code: null, message, requestId, retryAfterMs: null };
}

function millisecondsIn(headers: Headers): number | null {
  const milliseconds = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return seconds >= 0 ? seconds * 1_000 : null;
}
