import { isJsonObject, type JsonObject } from "../json/json.ts";
import { JsonBody } from "../json/json-body.ts";
import { malformedResponse } from "./refusal.ts";

/** JSON on one line, as it is sent in one `data` line. An event's data may have several lines; a line break in JSON is only white space. */
export function oneLine(json: string): string {
  return json.includes("\n") ? json.replaceAll("\n", " ") : json;
}

/** A member of an object that is an object itself, with its text. @throws {UpstreamRefused} if it is not an object. */
export function innerBody(outer: JsonBody, name: string): JsonBody {
  const member = outer.members.findLast((one) => one.name === name);
  const value = outer.value[name];
  if (member === undefined || !isJsonObject(value)) throw malformedResponse();
  return parsedBody(outer.text.slice(member.valueStart, member.valueEnd), value);
}

/** An object with the text of one member replaced by other JSON. */
export function withMemberText(outer: JsonBody, name: string, text: string): string {
  const member = outer.members.findLast((one) => one.name === name);
  if (member === undefined) throw malformedResponse();
  return outer.text.slice(0, member.valueStart) + text + outer.text.slice(member.valueEnd);
}

/**
 * The body of an event or an answer.
 *
 * @param value What the text stands for, if it was parsed before.
 * @throws {UpstreamRefused} if it is malformed.
 */
export function parsedBody(text: string, value: JsonObject | null = null): JsonBody {
  const body = JsonBody.parse(text, value);
  if (body === null) throw malformedResponse();
  return body;
}
