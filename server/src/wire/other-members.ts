import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";
import { arrayOf } from "../json/members.ts";

/** A member of tools that a model is to find before it can call them. Models of other providers get all tools at once. */
export const DEFERRED = "defer_loading";

/** The places of the members of an object that are not known and ask for something. */
export function otherMembersOf(
  object: JsonObject,
  known: ReadonlySet<string>,
  at: string,
): readonly string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const asksForNothing = value === undefined || value === null || value === false;
    return asksForNothing || known.has(name) ? [] : [`${at}.${name}`];
  });
}

/** As {@link otherMembersOf}, for the parts of a message. `content`: a text, or an array of parts. */
export function otherMembersOfParts(
  content: Json | undefined,
  known: ReadonlySet<string>,
  at: string,
): readonly string[] {
  return arrayOf(content).flatMap((part, index) =>
    isJsonObject(part) ? otherMembersOf(part, known, `${at}.${index}`) : [],
  );
}
