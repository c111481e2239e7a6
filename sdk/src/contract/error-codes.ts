/**
 * The table of error codes. The server answers only with these codes, and the SDK types its errors by them.
 *
 * `type` follows OpenAI's error envelope, so that clients written for that API classify our errors the way
 * they classify its own.
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

/** Every code with its status and type. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeEntry>> = {
  invalid_json: { status: 400, type: "invalid_request_error" },
  invalid_request: { status: 400, type: "invalid_request_error" },
  context_length_exceeded: { status: 400, type: "invalid_request_error" },
  invalid_api_key: { status: 401, type: "invalid_request_error" },
  revoked_api_key: { status: 401, type: "invalid_request_error" },
  invalid_management_token: { status: 401, type: "invalid_request_error" },
  not_signed_in: { status: 401, type: "invalid_request_error" },
  wrong_credentials: { status: 401, type: "invalid_request_error" },
  credit_balance_exhausted: { status: 402, type: "insufficient_quota" },
  account_suspended: { status: 403, type: "permission_error" },
  ip_blocked: { status: 403, type: "permission_error" },
  permission_denied: { status: 403, type: "permission_error" },
  model_not_found: { status: 404, type: "invalid_request_error" },
  not_found: { status: 404, type: "invalid_request_error" },
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  request_timeout: { status: 408, type: "invalid_request_error" },
  conflict: { status: 409, type: "invalid_request_error" },
  key_limit_reached: { status: 409, type: "invalid_request_error" },
  idempotency_key_in_use: { status: 409, type: "invalid_request_error" },
  idempotent_answer_gone: { status: 409, type: "invalid_request_error" },
  request_too_large: { status: 413, type: "invalid_request_error" },
  unsupported_media_type: { status: 415, type: "invalid_request_error" },
  expectation_failed: { status: 417, type: "invalid_request_error" },
  idempotency_key_reused: { status: 422, type: "invalid_request_error" },
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  too_many_concurrent_requests: { status: 429, type: "rate_limit_error" },
  headers_too_large: { status: 431, type: "invalid_request_error" },
  internal_error: { status: 500, type: "server_error" },
  upstream_error: { status: 502, type: "server_error" },
  server_is_overloaded: { status: 503, type: "server_error" },
  upstream_timeout: { status: 504, type: "server_error" },
};

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
