import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { untranslatable } from "../write-conversation.ts";

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const SCHEMAS = [
  "items",
  "additionalProperties",
  "additionalItems",
  "unevaluatedItems",
  "unevaluatedProperties",
  "contains",
  "propertyNames",
  "contentSchema",
  "not",
  "if",
  "then",
  "else",
];
const SCHEMA_LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const SCHEMA_MAPS = [
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
];
const KEYWORDS = [...SCHEMAS, ...SCHEMA_LISTS, ...SCHEMA_MAPS];

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
      if (value === null && KEYWORDS.includes(name)) return [];
      return [[name, keywordOf(name, value)]];
    }),
  );
}

function keywordOf(name: string, value: Json): Json {
  if (SCHEMA_MAPS.includes(name)) {
    if (!isJsonObject(value)) throw untranslatable();
    return Object.fromEntries(Object.entries(value).map(([own, one = null]) => [own, mappedOf(name, one)]));
  }
  if (SCHEMA_LISTS.includes(name) || (name === "items" && Array.isArray(value))) {
    if (!Array.isArray(value)) throw untranslatable();
    return value.map(definitionOf);
  }
  return SCHEMAS.includes(name) ? definitionOf(value) : value;
}

/** Of `dependencies`, some are names of properties. */
function mappedOf(name: string, definition: Json): Json {
  return name === "dependencies" && Array.isArray(definition) ? definition : definitionOf(definition);
}

function definitionOf(definition: Json): Json {
  if (typeof definition === "boolean") return definition;
  if (!isJsonObject(definition)) throw untranslatable();
  return outputSchema(definition);
}
