import type { ErrorCode, Failure } from "./failure.ts";

/** The types of errors of Anthropic's Messages API. */
export const MESSAGES_ERROR_TYPES = [
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error",
] as const;
export type MessagesErrorType = (typeof MESSAGES_ERROR_TYPES)[number];

/** Anthropic's status for an overloaded server. */
export const OVERLOADED = 529;

/** The codes whose type is not `invalid_request_error`. */
const TYPES: { readonly [Code in ErrorCode]?: MessagesErrorType } = {
  invalid_api_key: "authentication_error",
  revoked_api_key: "authentication_error",
  invalid_management_token: "authentication_error",
  not_signed_in: "authentication_error",
  wrong_credentials: "authentication_error",
  credit_balance_exhausted: "billing_error",
  account_suspended: "permission_error",
  ip_blocked: "permission_error",
  permission_denied: "permission_error",
  model_not_found: "not_found_error",
  not_found: "not_found_error",
  request_timeout: "timeout_error",
  request_too_large: "request_too_large",
  rate_limit_exceeded: "rate_limit_error",
  too_many_concurrent_requests: "rate_limit_error",
  internal_error: "api_error",
  upstream_error: "api_error",
  server_is_overloaded: "overloaded_error",
  upstream_timeout: "timeout_error",
};

/** By these words clients of the Messages API notice that they have to shorten a conversation. */
const TOO_LONG = "prompt is too long";

/**
 * The field by which a client leaves a conversation with Anthropic, to send only its new messages. Its library sends the whole
 * conversation instead when it reads {@link THREAD_DETAILS}.
 */
export const THREAD_FIELD = "thread";
const THREAD_DETAILS = { error_code: "thread_unsupported_request" } as const;

/** An error as Anthropic's Messages API has it: in a body, with the request's id, and in a stream. */
export interface MessagesError {
  readonly type: "error";
  readonly error: {
    readonly type: MessagesErrorType;
    readonly message: string;
    readonly details?: typeof THREAD_DETAILS;
  };
}

/** A failure in the format of the Messages API. */
export function messagesErrorOf({ code, message, param }: Failure): MessagesError {
  const isTooLong = code === "context_length_exceeded" && !message.toLowerCase().includes(TOO_LONG);
  return {
    type: "error",
    error: {
      type: TYPES[code] ?? "invalid_request_error",
      message: isTooLong ? `${TOO_LONG}: ${message}` : message,
      ...(param === THREAD_FIELD ? { details: THREAD_DETAILS } : {}),
    },
  };
}

/** The status of a failure in the Messages API: that of the table of error codes, except for an overloaded server. */
export function messagesStatusOf({ code, status }: Failure): number {
  return code === "server_is_overloaded" ? OVERLOADED : status;
}
