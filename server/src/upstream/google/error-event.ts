import type { JsonObject } from "../../json/json.ts";
import { UpstreamRefused } from "../dialect.ts";
import { jsonText } from "../json-text.ts";
import { refusalOf, refusedStatus } from "../refusal.ts";

/** The HTTP statuses of Google's names of errors. */
const STATUSES: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

/** An error that the upstream reports in its stream. @param error Its member `error`. */
export function refusedIn(error: JsonObject): UpstreamRefused {
  const body = jsonText({ error });
  const status = refusedStatus(statusOf(error), body);
  return new UpstreamRefused(status, refusalOf(status, {}, body));
}

function statusOf({ code, status }: JsonObject): number {
  if (typeof code === "number" && code >= 400 && code < 600) return code;
  const known = typeof status === "string" && Object.hasOwn(STATUSES, status) ? STATUSES[status] : undefined;
  return known ?? 500;
}
