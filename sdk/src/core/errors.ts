import { ERROR_STATUSES, type ErrorCode } from "../contract/error-codes.ts";
import { numberOf, retryAfterMsOf } from "./retry-after.ts";

/** The parent of all errors of this package. */
export class OstiaryError extends Error {
  /** The name of the error's class. */
  override readonly name: string = "OstiaryError";

  /** The error for `JSON.stringify`, with its message. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
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
  /** The headers of the answer. An error is printed without them. */
  readonly headers: Headers;
}

/**
 * The service answered with an error. Instances of this class itself: a status without a class of its own, a redirect (which is not
 * followed), or a success whose body is not from the service.
 */
export class APIError extends OstiaryError implements APIErrorDetails {
  override readonly name: string = "APIError";
  declare readonly status: number;
  declare readonly code: ErrorCode | (string & {}) | null;
  declare readonly type: string | null;
  declare readonly param: string | null;
  declare readonly requestId: string | null;
  declare readonly headers: Headers;

  constructor(message: string, details: APIErrorDetails) {
    super(message);
    Object.assign(this, details);
    // `console.log` and crashes print enumerable properties, and the headers of an answer may have cookies of proxies.
    Object.defineProperty(this, "headers", { enumerable: false });
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

/** 403: the key is valid but may not be used. */
export class PermissionDeniedError extends APIError {
  override readonly name = "PermissionDeniedError";

  /** The reason: the account is suspended, the address is blocked, or keys may not use the operation. */
  get reason(): PermissionDeniedReason | null {
    // The codes with this status are the reasons.
    const { code } = this;
    return ERROR_STATUSES[code as ErrorCode] === 403 ? (code as PermissionDeniedReason) : null;
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

/**
 * `verifyAuditExport` cannot verify these lines: they are not an export, are CSV, or are an export of a part of the log without its
 * proof or with a filter of a later version. It does not mean that anything was changed.
 */
export class UnverifiableExportError extends OstiaryError {
  override readonly name: string = "UnverifiableExportError";

  constructor(reason: string) {
    super(`This kind of file can't be verified: ${reason}`);
  }
}
