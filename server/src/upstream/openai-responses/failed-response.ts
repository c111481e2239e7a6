import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { readResponsesUsageSoFar } from "../openai/usage.ts";
import { jsonText, refusalOf } from "../refusal.ts";

/** What a failed response would have been as an HTTP status. */
const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["context_length_exceeded", 400],
  ["invalid_prompt", 400],
  ["rate_limit_exceeded", 429],
  // Of Azure.
  ["too_many_requests", 429],
  // Of a server that the client has named as a tool.
  ["external_connector_error", 424],
  ["server_is_overloaded", 503],
  ["slow_down", 503],
]);
/**
 * Refusals of pictures, such as image_too_large and invalid_image_url, and of what is asked, such as cyber_policy and
 * content_policy_violation. Sent again, the request is refused again.
 */
const CLIENTS = /image|policy/;

const FAILURES = new Set<Json | undefined>(["response.failed", "response.cancelled", "error"]);

/** Whether an event of a stream tells that the response has failed. */
export function isFailure({ type, error }: JsonObject): boolean {
  return FAILURES.has(type) || isJsonObject(error);
}

/** Whether a whole response has failed. */
export function hasFailed({ status, error }: JsonObject): boolean {
  return status === "failed" || status === "cancelled" || isJsonObject(error);
}

/**
 * The failure of an `error` event, or of a response that has failed.
 *
 * @param last The response of the event that follows an `error` event.
 */
export function refusedResponse(event: JsonObject, last: Json | undefined = null): UpstreamRefused {
  const response = isJsonObject(event.response) ? event.response : event;
  const {
    code = null,
    message = null,
    param = null,
    type,
  } = isJsonObject(response.error) ? response.error : response;
  const isClients = typeof code === "string" && CLIENTS.test(code);
  const status = isClients ? 400 : (STATUSES.get(code) ?? STATUSES.get(type) ?? 500);
  const refused = refusalOf(status, jsonText({ error: { code, message, param } }));
  const { usage } = isJsonObject(last) ? last : response;
  return refused.reporting(readResponsesUsageSoFar(usage));
}
