import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { UpstreamRefused } from "../dialect.ts";
import { refusalOf } from "../refusal.ts";

/** What a failed response would have been as an HTTP status. */
const STATUSES: Readonly<Record<string, number>> = {
  context_length_exceeded: 400,
  invalid_prompt: 400,
  rate_limit_exceeded: 429,
  server_is_overloaded: 503,
  slow_down: 503,
};

/** The failure of an `error` event, or of a response that has failed. */
export function refusedResponse(event: JsonObject): UpstreamRefused {
  const response = isJsonObject(event.response) ? event.response : event;
  const nested = isJsonObject(response.error) ? response.error : response;
  const { code, message, param } = nested;
  const status = statusOf(code);
  const error = { code: code ?? null, message: message ?? null, param: param ?? null };
  return new UpstreamRefused(status, refusalOf(status, {}, JSON.stringify({ error })));
}

function statusOf(code: Json | undefined): number {
  if (typeof code !== "string") return 500;
  // Refusals of pictures: image_too_large, invalid_image_url and others.
  if (/image/.test(code)) return 400;
  // Refusals of what is asked: cyber_policy, content_policy_violation and others. Sent again, the request is refused again.
  if (/policy/.test(code)) return 400;
  return (Object.hasOwn(STATUSES, code) ? STATUSES[code] : undefined) ?? 500;
}
