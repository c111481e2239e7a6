import { authorizationFromApiKey } from "../access/bearer.ts";
import type { Exchange } from "./exchange.ts";

type RequestHead = Pick<Exchange, "path" | "header">;

const NO_VALUES: readonly string[] = [];
/**
 * The paths of operations that only Anthropic's API has. Its clients send `/v1` twice if their base URL ends in `/v1`, and two slashes if it ends in
 * a slash. Such requests are refused, with an error that these clients can read.
 */
const MESSAGES_PATH = /^(?:(?:\/+[^/]+){0,2}?\/+v1)?(?:\/+v1)?\/+(?:messages|complete)(?:\/|$)/i;
/** The paths of operations that other APIs have, too. Only Anthropic's clients send the version of its API. */
const SHARED_PATH = /^(?:\/+v1){0,2}\/+(?:models|files|skills|organizations)(?:\/|$)/i;

/** Whether a request is one of Anthropic's API: its key may be in `x-api-key`, and its errors have Anthropic's format. */
export function isMessagesClient(exchange: RequestHead): boolean {
  const { path } = exchange;
  if (MESSAGES_PATH.test(path)) return true;
  return SHARED_PATH.test(path) && exchange.header("anthropic-version").length > 0;
}

/**
 * The `Authorization` header of a request, which a request of Anthropic's API may replace with `x-api-key`.
 *
 * @throws {Failure} `invalid_api_key` when the two differ.
 */
export function authorizationOf(exchange: RequestHead): readonly string[] {
  const apiKey = apiKeyOf(exchange);
  const authorization = exchange.header("authorization");
  return apiKey.length === 0 ? authorization : authorizationFromApiKey(authorization, apiKey);
}

/** The header that the key is in, as sent: unlike {@link authorizationOf} it checks nothing. */
export function sentKeyOf(exchange: RequestHead): readonly string[] {
  const apiKey = apiKeyOf(exchange);
  return apiKey.length === 0 ? exchange.header("authorization") : apiKey;
}

/** Whether the request has a credential, valid or not. */
export function hasCredential(exchange: RequestHead): boolean {
  return exchange.header("authorization").length > 0 || apiKeyOf(exchange).length > 0;
}

/** Clients that are configured with a token and an empty key send an empty header. */
function apiKeyOf(exchange: RequestHead): readonly string[] {
  return isMessagesClient(exchange)
    ? exchange.header("x-api-key").filter((value) => value !== "")
    : NO_VALUES;
}
