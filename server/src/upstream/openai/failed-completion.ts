import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { objectOf } from "../../json/members.ts";
import type { UpstreamRefused } from "../dialect.ts";
import { jsonText, refusalOf, refusedStatus } from "../refusal.ts";
import { readUsageSoFar } from "./usage.ts";

/** The HTTP statuses of types and codes of errors that are sent with status 200, for servers that do not send the status itself. */
const STATUSES: ReadonlyMap<Json | undefined, number> = new Map([
  ["invalid_request_error", 400],
  ["invalid_prompt", 400],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["overloaded_error", 503],
  ["server_is_overloaded", 503],
]);

/**
 * Whether an answer or a chunk reports an error, of itself or of a choice, where OpenRouter has those of providers. Clients take what is false in
 * JavaScript, such as `false` or an empty text, for none.
 */
export function hasError(completion: JsonObject): boolean {
  return Boolean(completion.error) || hasFailedChoice(completion);
}

/** Whether a choice reports an error: it may have a text that is not complete. */
export function hasFailedChoice({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.some(isFailed);
}

function isFailed(choice: Json): choice is JsonObject {
  return isJsonObject(choice) && Boolean(choice.error);
}

/**
 * The failure of an error that is sent with status 200: in a stream, or by a proxy that has begun to answer before it knew. Many servers have the
 * status as the error's `code`.
 *
 * @param text The answer or the chunk, in JSON.
 */
export function refusedCompletion(completion: JsonObject, text: string): UpstreamRefused {
  const { error: own, choices, usage } = completion;
  const failed = Array.isArray(choices) ? choices.find(isFailed) : undefined;
  const error = own || failed?.error;
  const { code, type } = objectOf(error);
  const status = Number(code);
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600;
  const body = own ? text : jsonText({ error });
  const told = isStatus ? status : (STATUSES.get(code) ?? STATUSES.get(type) ?? 500);
  const refused = refusalOf(refusedStatus(told, body), body);
  return refused.reporting(readUsageSoFar(usage));
}
