import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { refusalOf } from "../refusal.ts";
import { readUsage } from "./usage.ts";

/** The HTTP statuses of types and codes of errors that are sent with status 200, for servers that do not send the status itself. */
const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["invalid_request_error", 400],
  ["invalid_prompt", 400],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["overloaded_error", 503],
  ["server_is_overloaded", 503],
]);

/** Whether an answer or a chunk reports an error. Clients take what is false in JavaScript, such as `false` or an empty text, for none. */
export function hasError({ error }: JsonObject): boolean {
  return Boolean(error);
}

/**
 * The failure of an error that is sent with status 200: in a stream, or by a proxy that has begun to answer before it knew. Many servers have the
 * status as the error's `code`.
 *
 * @param text The answer or the chunk, in JSON.
 */
export function refusedCompletion({ error, usage }: JsonObject, text: string): UpstreamRefused {
  const { code, type } = isJsonObject(error) ? error : {};
  const status = Number(code);
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600;
  const refused = refusalOf(isStatus ? status : (STATUSES.get(code) ?? STATUSES.get(type) ?? 500), text);
  return refused.reporting(readUsage(usage));
}
