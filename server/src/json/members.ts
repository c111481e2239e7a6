import { isJsonObject, type Json, type JsonObject } from "./json.ts";

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
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value if it is an array; for anything else one without elements. */
export function arrayOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The texts that are the members `text` of an array's objects. */
export function textMembersOf(value: Json | undefined): readonly string[] {
  return arrayOf(value).flatMap((element) => textOf(objectOf(element).text) ?? []);
}

/** The texts of an array. */
export function textsOf(value: Json | undefined): readonly string[] {
  return arrayOf(value).filter((element) => typeof element === "string");
}
