import { ERROR_CODES, type ErrorCode } from "../contract/error-codes.ts";
import type { WireAnswer } from "./wire.ts";

/** The parent of all errors of this package. */
export class OstiaryError extends Error {
  /** The name of the error's class. */
  override readonly name: string = "OstiaryError";
}

/** The fields of an error answer. */
export interface APIErrorDetails {
  /** HTTP status. For an error inside a stream, the status of its code. */
  readonly status: number;
  /** A code of the table, or a newer one; `null` if something other than the service answered. */
  readonly code: ErrorCode | (string & {}) | null;
  /** The class of the error, such as `invalid_request_error`; `null` if something other than the service answered. */
  readonly type: string | null;
  /** The path of the request's field at fault, such as `messages.0.role`; `null`: none. */
  readonly param: string | null;
  /** The `x-request-id` of the answer, for the operator of the service; `null` without one. */
  readonly requestId: string | null;
  /** The headers of the answer. */
  readonly headers: Headers;
}

/**
 * The service answered with an error. Instances of this class itself: a status without a class of its own, a redirect (which is not
 * followed), or a success whose body is not from the service.
 */
export class APIError extends OstiaryError implements APIErrorDetails {
  override readonly name: string = "APIError";
  readonly status: number;
  readonly code: ErrorCode | (string & {}) | null;
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

/** 400: the request is not valid; `param` names the field. */
export class BadRequestError extends APIError {
  override readonly name = "BadRequestError";
}

/** 401: the key is missing, malformed, unknown or revoked; `code` distinguishes them. */
export class AuthenticationError extends APIError {
  override readonly name = "AuthenticationError";
}

/** 402: the account has no credit left. Never retried. */
export class PaymentRequiredError extends APIError {
  override readonly name = "PaymentRequiredError";
}

/** The codes of a 403. */
export type PermissionDeniedReason = "account_suspended" | "ip_blocked" | "permission_denied";

const PERMISSION_DENIED_REASONS: readonly PermissionDeniedReason[] = [
  "account_suspended",
  "ip_blocked",
  "permission_denied",
];

/** 403: the key is valid but may not be used. */
export class PermissionDeniedError extends APIError {
  override readonly name = "PermissionDeniedError";

  /** The reason: the account is suspended, the address is blocked, or keys may not use the operation. */
  get reason(): PermissionDeniedReason | null {
    return PERMISSION_DENIED_REASONS.find((reason) => reason === this.code) ?? null;
  }
}

/** 404: the model or path does not exist. */
export class NotFoundError extends APIError {
  override readonly name = "NotFoundError";
}

/** 409: the change conflicts with the current state, or a maximum is reached. */
export class ConflictError extends APIError {
  override readonly name = "ConflictError";
}

/** 413: the request is too large. */
export class ContentTooLargeError extends APIError {
  override readonly name = "ContentTooLargeError";
}

/** 422: the idempotency key was used with a different body. */
export class UnprocessableEntityError extends APIError {
  override readonly name = "UnprocessableEntityError";
}

/** 429: too many requests or tokens; {@link RateLimitError.retryAfterMs} is the time to wait. */
export class RateLimitError extends APIError {
  override readonly name = "RateLimitError";

  /** Milliseconds; `null` if the service did not send it. */
  get retryAfterMs(): number | null {
    return retryAfterMsOf(this.headers);
  }

  /** The account's limit on requests per minute; `null` without a limit. */
  get limit(): number | null {
    return numberOf(this.headers.get("x-ratelimit-limit-requests"));
  }

  /** The remaining requests of this limit. */
  get remaining(): number | null {
    return numberOf(this.headers.get("x-ratelimit-remaining-requests"));
  }
}

/** 500 and above: the service or the model's server failed. */
export class InternalServerError extends APIError {
  override readonly name = "InternalServerError";
}

/** No answer, or not all of it: the connection was refused, reset or interrupted, or the host is unknown. */
export class APIConnectionError extends OstiaryError {
  override readonly name: string = "APIConnectionError";
}

/** An option whose time can run out. */
export type TimeoutOption = "timeout" | "streamIdleTimeout";

/** No answer, or no more of it, in time. */
export class APIConnectionTimeoutError extends APIConnectionError {
  override readonly name = "APIConnectionTimeoutError";
  /** The option whose time ran out: `timeout` for an answer, `streamIdleTimeout` between the pieces of a stream. */
  readonly option: TimeoutOption;

  constructor(message: string, option: TimeoutOption, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** The caller's signal was aborted. */
export class APIUserAbortError extends OstiaryError {
  override readonly name = "APIUserAbortError";
}

/** A stream ended before the answer was complete. */
export class StreamInterruptedError extends OstiaryError {
  override readonly name = "StreamInterruptedError";
  /** The `x-request-id` of the answer, for the operator of the service; `null` without one. */
  readonly requestId: string | null;

  constructor(message: string, requestId: string | null, options?: ErrorOptions) {
    super(message, options);
    this.requestId = requestId;
  }
}

const CLASSES: Readonly<Record<number, new (message: string, details: APIErrorDetails) => APIError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: PaymentRequiredError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  413: ContentTooLargeError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

/** The error for an answer. Only this function maps a status to a class. */
export function errorFor(status: number, body: unknown, headers: Headers): APIError {
  const envelope = readEnvelope(body);
  const Class = CLASSES[status] ?? (status >= 500 ? InternalServerError : APIError);
  const details = { ...envelope, status, requestId: headers.get("x-request-id"), headers };
  return new Class(envelope.message ?? defaultMessage(status), details);
}

/** The error for an error event inside a stream, whose answer had begun with 200. */
export function errorForEvent(body: unknown, headers: Headers): APIError {
  const { code } = readEnvelope(body);
  return errorFor(isListed(code) ? ERROR_CODES[code].status : 500, body, headers);
}

/** The error for a success that the service cannot have sent. */
export function notFromService({ status, headers }: Pick<WireAnswer, "status" | "headers">): APIError {
  return new APIError("The answer is not from the service. Check the base URL.", {
    status,
    code: null,
    type: null,
    param: null,
    requestId: headers.get("x-request-id"),
    headers,
  });
}

/** The requested wait in milliseconds, from the answer's headers. */
export function retryAfterMsOf(headers: Headers): number | null {
  const exact = numberOf(headers.get("retry-after-ms"));
  if (exact !== null) return exact;
  const text = headers.get("retry-after");
  const seconds = numberOf(text);
  if (seconds !== null) return seconds * 1_000;
  // `Date.parse` accepts many texts, such as "-1". An HTTP date begins with the name of a day.
  const date = text !== null && /^[A-Z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

function numberOf(text: string | null): number | null {
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

function defaultMessage(status: number): string {
  // A redirect that a web page does not follow has the status 0.
  return status === 0 || (status >= 300 && status < 400)
    ? "The service answered with a redirect, which the client does not follow. Check the base URL."
    : `The service answered with status ${status}.`;
}

function isListed(code: string | null): code is ErrorCode {
  return code !== null && Object.hasOwn(ERROR_CODES, code);
}

/** A procedure's error has the same content as an envelope, in tRPC's form. */
function errorIn(outer: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const error = asRecord(outer.error);
  const inner = asRecord(error.json);
  const details = asRecord(asRecord(inner.data).ostiary);
  return Object.keys(details).length === 0 ? error : { ...details, message: inner.message };
}

function readEnvelope(body: unknown): {
  message: string | null;
  code: string | null;
  type: string | null;
  param: string | null;
} {
  const outer = asRecord(body);
  const error = errorIn(outer);
  const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
  return {
    message: text(error.message),
    code: text(error.code),
    type: text(error.type),
    param: text(error.param),
  };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
