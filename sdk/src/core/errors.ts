import { ERROR_CODES, type ErrorCode } from "../contract/error-codes.ts";

/** Everything that this package throws by itself. */
export class OstiaryError extends Error {
  override readonly name: string = "OstiaryError";
}

/** What an error answer consists of. */
export interface APIErrorDetails {
  /** HTTP status. Of an error inside a stream, the status that its code stands for. */
  readonly status: number;
  /** A code of the table; `null` when something else than the service answered. */
  readonly code: ErrorCode | null;
  readonly type: string | null;
  /** The request field at fault, dotted. */
  readonly param: string | null;
  /** Quote it to the operator of the service. */
  readonly requestId: string | null;
  readonly headers: Headers;
}

/** The service answered with an error. */
export class APIError extends OstiaryError implements APIErrorDetails {
  override readonly name: string = "APIError";
  readonly status: number;
  readonly code: ErrorCode | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly requestId: string | null;
  readonly headers: Headers;

  constructor(message: string, details: APIErrorDetails) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.type = details.type;
    this.param = details.param;
    this.requestId = details.requestId;
    this.headers = details.headers;
  }
}

/** 400: the request is wrong; `param` says where. */
export class BadRequestError extends APIError {
  override readonly name = "BadRequestError";
}

/** 401: the key is missing, malformed, unknown or revoked; `code` tells which. */
export class AuthenticationError extends APIError {
  override readonly name = "AuthenticationError";
}

/** 402: the account has no credit left. Never retried. */
export class PaymentRequiredError extends APIError {
  override readonly name = "PaymentRequiredError";
}

/** 403: the key is valid but may not be used now. */
export class PermissionDeniedError extends APIError {
  override readonly name = "PermissionDeniedError";

  /** Why: the account is suspended, the address is blocked, or the operation is not for keys. */
  get reason(): "account_suspended" | "ip_blocked" | "permission_denied" | null {
    const { code } = this;
    return code === "account_suspended" || code === "ip_blocked" || code === "permission_denied"
      ? code
      : null;
  }
}

/** 404: no such model or path. */
export class NotFoundError extends APIError {
  override readonly name = "NotFoundError";
}

/** 409: it is there already, or no more of it may be. */
export class ConflictError extends APIError {
  override readonly name = "ConflictError";
}

/** 413: the request is too large. */
export class ContentTooLargeError extends APIError {
  override readonly name = "ContentTooLargeError";
}

/** 429: too many requests or tokens; {@link RateLimitError.retryAfterMs} says how long to wait. */
export class RateLimitError extends APIError {
  override readonly name = "RateLimitError";

  /** Milliseconds; `null` when the service did not say. */
  get retryAfterMs(): number | null {
    return retryAfterMsOf(this.headers);
  }
}

/** 500 and above: the service or the model's server failed. */
export class InternalServerError extends APIError {
  override readonly name = "InternalServerError";
}

/** No answer came: refused, reset, no such host. */
export class APIConnectionError extends OstiaryError {
  override readonly name: string = "APIConnectionError";
}

/** No answer came in time. */
export class APIConnectionTimeoutError extends APIConnectionError {
  override readonly name = "APIConnectionTimeoutError";
}

/** The caller's signal was aborted. */
export class APIUserAbortError extends OstiaryError {
  override readonly name = "APIUserAbortError";
}

/** A stream ended before the answer did. What was received up to there is not the whole answer. */
export class StreamInterruptedError extends OstiaryError {
  override readonly name = "StreamInterruptedError";
}

const CLASSES: Readonly<Record<number, new (message: string, details: APIErrorDetails) => APIError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: PaymentRequiredError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  413: ContentTooLargeError,
  429: RateLimitError,
};

/** The error for an answer: the one place where a status becomes a class. */
export function errorFor(status: number, body: unknown, headers: Headers): APIError {
  const told = readEnvelope(body);
  const Class = CLASSES[status] ?? (status >= 500 ? InternalServerError : APIError);
  const details = { ...told, status, requestId: headers.get("x-request-id"), headers };
  return new Class(told.message ?? `The service answered with status ${status}.`, details);
}

/** The error for an error event inside a stream, whose answer had begun with 200. */
export function errorForEvent(body: unknown, headers: Headers): APIError {
  const { code } = readEnvelope(body);
  return errorFor(code === null ? 500 : ERROR_CODES[code].status, body, headers);
}

/** How long the answer asks to wait, in milliseconds. */
export function retryAfterMsOf(headers: Headers): number | null {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const text = headers.get("retry-after");
  if (text === null) return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

function readEnvelope(body: unknown): {
  message: string | null;
  code: ErrorCode | null;
  type: string | null;
  param: string | null;
} {
  const outer = asRecord(body);
  const error = asRecord(outer.error);
  const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
  const code = text(error.code);
  return {
    message: text(error.message),
    code: code !== null && Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : null,
    type: text(error.type),
    param: text(error.param),
  };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
