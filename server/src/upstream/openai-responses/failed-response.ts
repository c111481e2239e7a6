import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { jsonText, refusalOf } from "../refusal.ts";

/** What a failed response would have been as an HTTP status. */
const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["context_length_exceeded", 400],
  ["invalid_prompt", 400],
  ["rate_limit_exceeded", 429],
  ["server_is_overloaded", 503],
  ["slow_down", 503],
]);

/** The failure of an `error` event, or of a response that has failed. */
export function refusedResponse(event: JsonObject): UpstreamRefused {
  const response = isJsonObject(event.response) ? event.response : event;
  const {
    code = null,
    message = null,
    param = null,
  } = isJsonObject(response.error) ? response.error : response;
  // Refusals of pictures: image_too_large, invalid_image_url and others.
  const isPicture = typeof code === "string" && code.includes("image");
  const status = isPicture ? 400 : (STATUSES.get(code) ?? 500);
  return refusalOf(status, jsonText({ error: { code, message, param } }));
}
