import type { ErrorCode } from "../../../../sdk/src/contract/error-codes.ts";
import type { PageLink } from "../../components/pages.ts";

/** What each error code means, and what to do, as in `docs/reference/errors.md`. Names between backticks are code. */
export const ERROR_HELP: Readonly<Record<ErrorCode, string>> = {
  invalid_json: "The body is not valid JSON. Correct the body.",
  invalid_request: "A field or parameter is not valid; `param` names it. Correct the field.",
  context_length_exceeded: "The messages exceed the model's context. Shorten the conversation.",
  invalid_api_key: "The API key is missing, malformed or unknown. Check the header and the key.",
  revoked_api_key: "The API key was revoked. Use another key.",
  invalid_management_token: "The management token is unknown, revoked or expired. Create another token.",
  not_signed_in: "The operation requires a session. Sign in.",
  wrong_credentials: "The e-mail address or password is wrong. Check both.",
  credit_balance_exhausted:
    "The account's credit does not cover the request. Ask the operator for credit, or request fewer tokens.",
  account_suspended: "The account is suspended. Ask the operator.",
  ip_blocked: "The account's IP rules do not allow the client's address. Call from an allowed network.",
  permission_denied: "The caller may not do this. Use a credential that may; the message names it.",
  model_not_found: "The catalog does not have the model. List the models.",
  not_found: "The path or object does not exist. Check the path or id.",
  method_not_allowed: "The path does not support the method. Use a method of the `allow` header.",
  request_timeout: "The request did not arrive in time. Send it again.",
  conflict: "The change conflicts with the current state. Read the message; retry if it has `retry-after`.",
  key_limit_reached: "The account or user has the maximum number of active keys or tokens. Revoke one.",
  idempotency_key_in_use: "A request with this idempotency key is being answered. Retry after `retry-after`.",
  idempotent_answer_gone:
    "The first answer was too large to store, or its key is gone. Use a new idempotency key.",
  request_too_large: "The body is too large, alone or with the responses it refers to. Send a smaller body.",
  unsupported_media_type:
    "The `content-type` or a coding of the body is not supported. Send uncompressed JSON.",
  expectation_failed: "The `Expect` header is not `100-continue`. Remove the header.",
  idempotency_key_reused: "The idempotency key was used with a different body. Use a new idempotency key.",
  rate_limit_exceeded:
    "A limit per minute, or a limit on bytes or reads, is reached. Retry after `retry-after`.",
  too_many_concurrent_requests:
    "The limit on concurrent requests is reached. Retry when a request has ended.",
  headers_too_large:
    "The request line and headers exceed 16 KiB, or 1,000 headers. Send fewer or shorter headers.",
  internal_error: "The service failed. Retry; report the `x-request-id` if it keeps failing.",
  upstream_error: "The model's provider failed. Retry, or use another model.",
  server_is_overloaded:
    "The service or the model's provider is at capacity or unavailable. Retry after `retry-after`.",
  upstream_timeout: "The model's provider did not answer in time. Retry, or request fewer tokens.",
};

/** The pages on which an account's owner sees why requests fail with a code. */
const PAGES: Readonly<Partial<Record<ErrorCode, Pick<PageLink, "to" | "label">>>> = {
  revoked_api_key: { to: "/settings/keys", label: "API keys" },
  credit_balance_exhausted: { to: "/settings/credits", label: "Credits" },
  account_suspended: { to: "/settings/account", label: "Account" },
  ip_blocked: { to: "/settings/account", label: "IP rules" },
  model_not_found: { to: "/models", label: "Models" },
  rate_limit_exceeded: { to: "/settings/account", label: "Limits" },
  too_many_concurrent_requests: { to: "/settings/account", label: "Limits" },
};

/** What is known about an error code; `null` for codes of another version of the service. */
export function errorHelp(code: string) {
  if (!Object.hasOwn(ERROR_HELP, code)) return null;
  return { text: ERROR_HELP[code as ErrorCode], page: PAGES[code as ErrorCode] };
}
