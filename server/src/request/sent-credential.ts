import { authorizationFromApiKey } from "../access/bearer.ts";
import type { RequestHead } from "./exchange.ts";
import { isMessagesClient } from "./messages-client.ts";

const NO_VALUES: readonly string[] = [];

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
