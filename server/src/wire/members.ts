import { isJsonObject, type Json, type JsonObject } from "../json/json.ts";

/** The value if it is a text; `null` for anything else. */
export function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** The value if it is a number; `null` for anything else. */
export function numberOf(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}

/** The value if it is a boolean; `null` for anything else. */
export function booleanOf(value: Json | undefined): boolean | null {
  return typeof value === "boolean" ? value : null;
}

/** The value if it is an object; for anything else one without members. */
export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value if it is an array; for anything else one without elements. */
export function arrayOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

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

/** The texts of an array. */
export function textsOf(value: Json | undefined): readonly string[] {
  return arrayOf(value).filter((element) => typeof element === "string");
}
