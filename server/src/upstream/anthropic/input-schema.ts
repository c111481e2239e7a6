import { isJsonObject, type Json, type JsonObject, objectsIn } from "../../json/json.ts";

/** The maximum length of what a description says about the alternatives of a schema. */
const MAX_DESCRIPTION_LENGTH = 1_000;

/**
 * The schema of a tool's input as Anthropic takes it: of the type `object`, which some MCP servers leave out for tools without parameters, and
 * without alternatives at its root. Those become one object that allows the properties of all, and the description tells which belong together.
 */
export function inputSchema(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...own } = schema;
  const alternatives = [anyOf, oneOf].map((list) => variantsIn(list, schema)).filter(isNotEmpty);
  const together = variantsIn(allOf, schema);
  if (anyOf === undefined && oneOf === undefined && allOf === undefined) return asObject(schema);
  const variants = [...alternatives.flat(), ...together];
  const properties = propertiesOf([own, ...variants], schema);
  const required = new Set([own, ...together].flatMap(requiredIn));
  for (const list of alternatives) for (const name of inAll(list.map(requiredIn))) required.add(name);
  const description = [own.description, ...alternatives.map(namesTogether)].filter(
    (text) => typeof text === "string" && text !== "",
  );
  const isClosed = variants.length > 0 && variants.every((one) => one.additionalProperties === false);
  return asObject({
    ...(isClosed ? { additionalProperties: false } : {}),
    ...own,
    properties,
    required: required.size === 0 ? undefined : [...required],
    description: description.length === 0 ? undefined : description.join("\n"),
  });
}

function asObject(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (type === undefined) return { type: "object", ...schema };
  return Array.isArray(type) && type.includes("object") ? { ...schema, type: "object" } : schema;
}

function isNotEmpty(list: readonly JsonObject[]): boolean {
  return list.length > 0;
}

/** The schemas of a list, each of which may refer to another one within the root. Each counts once, so that many references take no time. */
function variantsIn(list: Json | undefined, root: JsonObject): readonly JsonObject[] {
  return [...new Set(objectsIn(list).map((one) => referredBy(one, root)))];
}

/** A definition of the root, which is all that Pydantic and Zod refer to. Definitions do not overlap, so that no part of a schema counts twice. */
const DEFINITION = /^#\/(?<list>\$defs|definitions)\/(?<name>[^/~%]+)$/;

function referredBy(schema: JsonObject, root: JsonObject): JsonObject {
  const { $ref: reference } = schema;
  const { list, name } = (typeof reference === "string" && DEFINITION.exec(reference)?.groups) || {};
  const definitions = list === undefined ? undefined : root[list];
  if (!isJsonObject(definitions) || name === undefined || !Object.hasOwn(definitions, name)) return schema;
  const target = definitions[name];
  return isJsonObject(target) ? target : schema;
}

/** The properties of schemas and of all that they consist of. A property with several definitions may match any of them. */
function propertiesOf(schemas: readonly JsonObject[], root: JsonObject): JsonObject {
  /** The definitions of each property, by their text. */
  const found = new Map<string, Map<string, Json>>();
  const seen = new Set(schemas);
  // What is added while it is read is read, too.
  for (const { properties, anyOf, oneOf, allOf } of seen) {
    for (const list of [anyOf, oneOf, allOf]) for (const one of variantsIn(list, root)) seen.add(one);
    if (!isJsonObject(properties)) continue;
    for (const [name, definition = null] of Object.entries(properties)) {
      const definitions = found.get(name) ?? new Map<string, Json>();
      definitions.set(JSON.stringify(definition), definition);
      found.set(name, definitions);
    }
  }
  return Object.fromEntries(
    [...found].map(([name, definitions]) => {
      const [first = null, ...others] = definitions.values();
      return [name, others.length === 0 ? first : { anyOf: [first, ...others] }];
    }),
  );
}

function requiredIn({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

/** The names that every list has. */
function inAll(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists.map((list) => new Set(list));
  return [...first].filter((name) => others.every((other) => other.has(name)));
}

/** Which properties belong together; `null`: the alternatives do not differ in that. */
function namesTogether(alternatives: readonly JsonObject[]): string | null {
  const sets = alternatives.map((one) => {
    const required = requiredIn(one);
    return required.length > 0 || !isJsonObject(one.properties) ? required : Object.keys(one.properties);
  });
  const named = [...new Set(sets.filter((names) => names.length > 0).map((names) => names.join(", ")))];
  if (named.length < 2) return null;
  return `Give the properties of one of these: ${named.join("; or ")}.`.slice(0, MAX_DESCRIPTION_LENGTH);
}
