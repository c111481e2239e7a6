import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { untranslatable } from "../expressible.ts";

const SCHEMAS = ["items", "additionalProperties"];
const SCHEMA_LISTS = ["anyOf", "oneOf"];
const SCHEMA_MAPS = ["properties", "$defs"];

/**
 * A schema of an answer as Google takes it, which has no `const`: a value is an `enum` of its own.
 *
 * @throws {Failure} `invalid_request` for a value that is no schema where there has to be one.
 */
export function outputSchema(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value = null]) => {
      if (name === "const") return [["enum", [value]]];
      // An `enum` beside a `const` allows nothing more.
      if (name === "enum" && schema.const !== undefined) return [];
      if (value === null && isKeyword(name)) return [];
      return [[name, keywordOf(name, value)]];
    }),
  );
}

function isKeyword(name: string): boolean {
  return SCHEMAS.includes(name) || SCHEMA_LISTS.includes(name) || SCHEMA_MAPS.includes(name);
}

function keywordOf(name: string, value: Json): Json {
  if (SCHEMA_MAPS.includes(name)) return definitionsOf(value);
  if (SCHEMA_LISTS.includes(name) || (name === "items" && isList(value))) return listOf(value);
  return SCHEMAS.includes(name) ? definitionOf(value) : value;
}

function definitionsOf(value: Json): JsonObject {
  if (!isJsonObject(value)) throw untranslatable();
  const entries = Object.entries(value).map(([name, definition]) => [name, definitionOf(definition ?? null)]);
  return Object.fromEntries(entries);
}

function listOf(value: Json): readonly Json[] {
  if (!isList(value)) throw untranslatable();
  return value.map(definitionOf);
}

function definitionOf(definition: Json): Json {
  if (typeof definition === "boolean") return definition;
  if (!isJsonObject(definition)) throw untranslatable();
  return outputSchema(definition);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
