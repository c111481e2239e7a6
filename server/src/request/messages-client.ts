import type { ResponseHeaders } from "../errors/response-headers.ts";
import type { RequestHead } from "./exchange.ts";

/**
 * The paths of operations that only Anthropic's API has. Its clients send `/v1` twice if their base URL ends in `/v1`, and two slashes if it ends in
 * a slash. Such requests are refused, with an error that these clients can read.
 */
const MESSAGES_PATH = /^(?:(?:\/+[^/]+){0,2}?\/+v1)?(?:\/+v1)?\/+(?:messages|complete)(?:\/|$)/i;
/** The paths of operations that other APIs have, too. Only Anthropic's clients send the version of its API. */
const SHARED_PATH = new RegExp(
  `^(?:/+v1){0,2}/+(?:${[
    "models|files|skills|organizations|compliance|agents|sessions|environments|deployments|deployment_runs",
    "dreams|memory_stores|tunnels|user_profiles|vaults",
  ].join("|")})(?:/|$)`,
  "i",
);

/** Whether a request is one of Anthropic's API: its key may be in `x-api-key`, and its errors have Anthropic's format. */
export function isMessagesClient(exchange: RequestHead): boolean {
  const { path } = exchange;
  if (MESSAGES_PATH.test(path)) return true;
  return SHARED_PATH.test(path) && exchange.header("anthropic-version").length > 0;
}

/** The request's id as headers of its answer, also by the name that Anthropic's clients read. */
export function requestIdHeaders(exchange: RequestHead, requestId: string): ResponseHeaders {
  return isMessagesClient(exchange)
    ? { "x-request-id": requestId, "request-id": requestId }
    : { "x-request-id": requestId };
}
