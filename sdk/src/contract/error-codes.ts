/**
 * The table of error codes. The server answers only with these codes, and the SDK types its errors by them.
 *
 * `type` follows OpenAI's error envelope, so that clients written for that API classify our errors the way
 * they classify its own. Only a 401 has another type than OpenAI's: LiteLLM takes every `invalid_request_error` without OpenAI's own words for a
 * bad request, and not for a refused key.
 */

/** One row of the table. */
export interface ErrorCodeEntry {
  /** HTTP status of the answer. */
  readonly status: number;
  /** The envelope's `type`. */
  readonly type: ErrorType;
}

/** The envelope's `type`: the coarse family of an error. */
export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "insufficient_quota"
  | "permission_error"
  | "rate_limit_error"
  | "server_error";

/** A code of the table, as found in `error.code`. */
export type ErrorCode =
  | "invalid_json"
  | "invalid_request"
  | "context_length_exceeded"
  | "invalid_api_key"
  | "revoked_api_key"
  | "invalid_management_token"
  | "not_signed_in"
  | "wrong_credentials"
  | "credit_balance_exhausted"
  | "account_suspended"
  | "ip_blocked"
  | "permission_denied"
  | "model_not_found"
  | "not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "conflict"
  | "key_limit_reached"
  | "idempotency_key_in_use"
  | "idempotent_answer_gone"
  | "request_too_large"
  | "unsupported_media_type"
  | "expectation_failed"
  | "idempotency_key_reused"
  | "rate_limit_exceeded"
  | "too_many_concurrent_requests"
  | "headers_too_large"
  | "internal_error"
  | "upstream_error"
  | "server_is_overloaded"
  | "upstream_timeout";

/** The HTTP status of every code. */
export const ERROR_STATUSES: Readonly<Record<ErrorCode, number>> = {
  invalid_json: 400,
  invalid_request: 400,
  context_length_exceeded: 400,
  invalid_api_key: 401,
  revoked_api_key: 401,
  invalid_management_token: 401,
  not_signed_in: 401,
  wrong_credentials: 401,
  credit_balance_exhausted: 402,
  account_suspended: 403,
  ip_blocked: 403,
  permission_denied: 403,
  model_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  key_limit_reached: 409,
  idempotency_key_in_use: 409,
  idempotent_answer_gone: 409,
  request_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  too_many_concurrent_requests: 429,
  headers_too_large: 431,
  internal_error: 500,
  upstream_error: 502,
  server_is_overloaded: 503,
  upstream_timeout: 504,
};

/** Every code with its status and type. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeEntry>> = /* @__PURE__ */ Object.fromEntries(
  /* @__PURE__ */ Object.entries(ERROR_STATUSES).map(([code, status]) => [
    code,
    { status, type: typeOf(status) },
  ]),
) as Record<ErrorCode, ErrorCodeEntry>;

function typeOf(status: number): ErrorType {
  if (status >= 500) return "server_error";
  if (status === 401) return "authentication_error";
  if (status === 402) return "insufficient_quota";
  if (status === 403) return "permission_error";
  return status === 429 ? "rate_limit_error" : "invalid_request_error";
}

/** The body of every error answer, and the data of an SSE `error` event. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: ErrorType;
    /** The offending request field, dotted, or `null`. */
    readonly param: string | null;
    readonly code: ErrorCode;
  };
}
