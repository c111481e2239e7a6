import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { hashOf } from "../identifiers.ts";

/** Words by which Mistral's server, and the templates of its models, refuse ids of calls that are not like its own. */
export const ABOUT_CALL_IDS = /tool call ids? (?:was|should|must).*\blength (?:of )?9\b/is;
const SHORT_LENGTH = 9;
const SHORT = /^[a-zA-Z0-9]{9}$/;

/** The id of a call of nine letters and digits, which every server takes. Those of other models are replaced by their hashes. */
export function shortCallId(id: string): string {
  return SHORT.test(id) ? id : hashOf(id).slice(0, SHORT_LENGTH);
}

/** The messages of a chat completion with short ids of calls. The same messages if they have no others. */
export function withShortCallIds(messages: Json | undefined): Json | undefined {
  if (!Array.isArray(messages)) return messages;
  const changed = messages.map(withShortIds);
  return changed.every((message, index) => message === messages[index]) ? messages : changed;
}

function withShortIds(message: Json): Json {
  if (!isJsonObject(message)) return message;
  const { tool_calls: calls, tool_call_id: callId } = message;
  const changes: JsonObject = {
    ...(Array.isArray(calls) && calls.some(hasLongId) ? { tool_calls: calls.map(withShortId) } : {}),
    ...(isLong(callId) ? { tool_call_id: shortCallId(callId) } : {}),
  };
  return Object.keys(changes).length === 0 ? message : { ...message, ...changes };
}

function withShortId(call: Json): Json {
  return isJsonObject(call) && isLong(call.id) ? { ...call, id: shortCallId(call.id) } : call;
}

function hasLongId(call: Json): boolean {
  return isJsonObject(call) && isLong(call.id);
}

function isLong(id: Json | undefined): id is string {
  return typeof id === "string" && !SHORT.test(id);
}
