import { isJsonObject, type Json } from "../../json/json.ts";
import { hashOf } from "../identifiers.ts";

/** Words by which Mistral's server, and the templates of its models, refuse ids of calls that are not like its own. */
export const ABOUT_CALL_IDS = /tool call ids? (?:was|should|must).*\blength (?:of )?9\b/is;
const SHORT_LENGTH = 9;
const SHORT = /^[a-zA-Z0-9]{9}$/;

/** The id of a call of nine letters and digits, which every server takes. Those of other models are replaced by their hashes. */
export function shortCallId(id: string): string {
  return SHORT.test(id) ? id : hashOf(id).slice(0, SHORT_LENGTH);
}

/**
 * The messages of a chat completion with the ids of calls that an upstream takes. The same messages if they have no others.
 *
 * @param callId An id as the upstream takes it: the same one if it is right.
 */
export function withCallIds(messages: Json | undefined, callId: (id: string) => string): Json | undefined {
  if (!Array.isArray(messages)) return messages;
  const changed = messages.map((message) => withIds(message, callId));
  return changed.every((message, index) => message === messages[index]) ? messages : changed;
}

function withIds(message: Json, callId: (id: string) => string): Json {
  if (!isJsonObject(message)) return message;
  const { tool_calls: calls, tool_call_id: resultOf } = message;
  const changed = Array.isArray(calls) ? calls.map((call: Json) => withId(call, callId)) : [];
  const isCalling = Array.isArray(calls) && changed.some((call, index) => call !== calls[index]);
  const ownId = typeof resultOf === "string" ? callId(resultOf) : resultOf;
  if (!isCalling && ownId === resultOf) return message;
  return {
    ...message,
    ...(isCalling ? { tool_calls: changed } : {}),
    ...(ownId === resultOf ? {} : { tool_call_id: ownId }),
  };
}

function withId(call: Json, callId: (id: string) => string): Json {
  if (!isJsonObject(call) || typeof call.id !== "string") return call;
  const id = callId(call.id);
  return id === call.id ? call : { ...call, id };
}
