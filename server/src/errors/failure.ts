import { ERROR_CODES, type ErrorCode, type ErrorEnvelope } from "../../../sdk/src/contract/error-codes.ts";

export type { ErrorCode, ErrorEnvelope };

/** What a failure may carry besides its code and message. */
export interface FailureDetails {
  /** The request field at fault, dotted (`messages.0.role`). */
  readonly param?: string;
  /** How long the caller should wait before it tries again. Becomes `retry-after` and `retry-after-ms`. */
  readonly retryAfterMs?: number;
  /** Further response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The reason for operators' logs. Never sent to a client. */
  readonly cause?: unknown;
}

/**
 * A refusal or fault with a code of the one table: the only error that reaches a client with its own words.
 * Whatever else is thrown is answered as `internal_error`.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterMs: number | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.param = details.param ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.headers = details.headers ?? {};
  }

  /** HTTP status of this failure. */
  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}

/** Turns whatever was thrown into a failure; an unforeseen error keeps its words to itself. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  return new Failure(
    "internal_error",
    "The service failed to handle this request. Try again; if it goes on, give the operator the request id.",
    { cause: thrown },
  );
}

/** The body that tells a client of a failure. */
export function envelopeOf(failure: Failure): ErrorEnvelope {
  const { type } = ERROR_CODES[failure.code];
  return { error: { message: failure.message, type, param: failure.param, code: failure.code } };
}

/** The response headers that belong to a failure, by its code. */
export function headersOf(failure: Failure): Record<string, string> {
  const headers: Record<string, string> = { ...failure.headers };
  if (failure.status === 401) headers["www-authenticate"] = "Bearer";
  if (failure.code === "credit_balance_exhausted") headers["x-should-retry"] = "false";
  if (failure.retryAfterMs !== null) {
    headers["retry-after"] = String(Math.max(1, Math.ceil(failure.retryAfterMs / 1000)));
    headers["retry-after-ms"] = String(Math.ceil(failure.retryAfterMs));
  }
  return headers;
}
