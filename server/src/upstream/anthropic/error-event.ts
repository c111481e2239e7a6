import { OVERLOADED } from "../../errors/messages-error.ts";
import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { UpstreamRefused } from "../dialect.ts";
import { refusalOf } from "../refusal.ts";

const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: OVERLOADED,
};

/** An error that the upstream reports in its stream. */
export function refusedIn({ error }: JsonObject, data: string): UpstreamRefused {
  const type = isJsonObject(error) && typeof error.type === "string" ? error.type : "";
  const status = (Object.hasOwn(STATUSES, type) ? STATUSES[type] : undefined) ?? 500;
  return new UpstreamRefused(status, refusalOf(status, {}, data));
}
