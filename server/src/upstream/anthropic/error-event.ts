import { OVERLOADED } from "../../errors/messages-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { refusalOf } from "../refusal.ts";

const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["invalid_request_error", 400],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["timeout_error", 504],
  ["overloaded_error", OVERLOADED],
]);

/** An error that the upstream reports in its stream. */
export function refusedIn({ error }: JsonObject, data: string): UpstreamRefused {
  return refusalOf((isJsonObject(error) ? STATUSES.get(error.type) : undefined) ?? 500, data);
}
