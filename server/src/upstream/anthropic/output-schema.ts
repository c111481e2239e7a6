import { exactJson } from "../../json/exact-numbers.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf } from "../../json/members.ts";

/** Anthropic takes 24 optional properties, but fails to compile schemas of fewer on some platforms. */
const MAX_OPTIONAL_PROPERTIES = 10;
const FORMATS = new Set<Json | undefined>([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);
/** Keywords that structured outputs do not have, and which the description tells the model instead. */
const DESCRIBED = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "not",
];
/** Keywords that stay as they are. */
const KEPT = ["$schema", "$id", "title", "description", "default", "const", "enum", "type"];

const SCHEMAS = ["additionalProperties", "contains", "else", "if", "items", "not", "then"];
const SCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SCHEMA_MAPS = ["dependentSchemas", "patternProperties", "properties"];

/**
 * Whether structured outputs can express a schema. They take neither one that contains itself nor many optional properties, and
 * close objects that may have any property, which would then be empty.
 */
export function isOutputSchema(schema: JsonObject): boolean {
  /**
   * The optional properties of each schema, with those of its references as often as they are used. `Infinity`: it can't be expressed, or
   * is being counted, because a schema in itself can't be expressed either.
   */
  const counts = new Map<JsonObject, number>();
  const countIn = (node: Json | undefined): number => {
    if (!isJsonObject(node)) return 0;
    const known = counts.get(node);
    if (known !== undefined) return known;
    counts.set(node, Number.POSITIVE_INFINITY);
    if (isOpen(node)) return Number.POSITIVE_INFINITY;
    const { $ref: reference, properties, required } = node;
    let count = optionalProperties(properties, required);
    if (typeof reference === "string" && reference.startsWith("#")) {
      count += countIn(resolved(schema, reference));
    }
    for (const child of childrenOf(node)) count += countIn(child);
    counts.set(node, count);
    return count;
  };
  return countIn(schema) <= MAX_OPTIONAL_PROPERTIES;
}

function optionalProperties(properties: Json | undefined, required: Json | undefined): number {
  if (!isJsonObject(properties)) return 0;
  const names = new Set<Json>(arrayOf(required));
  return Object.keys(properties).filter((name) => !names.has(name)).length;
}

function childrenOf(node: JsonObject): readonly (Json | undefined)[] {
  const singles = SCHEMAS.flatMap((keyword) => listOf(node[keyword]) ?? [node[keyword] ?? null]);
  const lists = SCHEMA_LISTS.flatMap((keyword) => listOf(node[keyword]) ?? []);
  const maps = SCHEMA_MAPS.flatMap((keyword) => {
    const map = node[keyword];
    return isJsonObject(map) ? Object.values(map) : [];
  });
  return [...singles, ...lists, ...maps];
}

/** Whether objects may have properties that the schema does not name. */
function isOpen({ additionalProperties, patternProperties, properties, type }: JsonObject): boolean {
  if (additionalProperties === true || isJsonObject(additionalProperties)) return true;
  if (isJsonObject(patternProperties) && Object.keys(patternProperties).length > 0) return true;
  const isObject = type === "object" || (listOf(type)?.includes("object") ?? false);
  return isObject && (properties ?? null) === null && additionalProperties !== false;
}

/** What a reference within a schema refers to. */
function resolved(root: JsonObject, reference: string): Json | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let node: Json | undefined = root;
  for (const step of stepsOf(reference)) {
    if (isJsonObject(node)) node = Object.hasOwn(node, step) ? node[step] : undefined;
    else node = listOf(node)?.[Number(step)];
  }
  return node;
}

function stepsOf(reference: string): readonly string[] {
  const steps = reference.split("/").slice(1);
  try {
    return steps.map((step) => decodeURIComponent(step).replace(/~1/g, "/").replace(/~0/g, "~"));
  } catch {
    // A reference that is no URI refers to what has its name, if anything.
    return steps;
  }
}

/** A schema as structured outputs take it: objects are closed, and what can't be enforced is described. */
export function outputSchema(schema: JsonObject): JsonObject {
  const { $ref: reference } = schema;
  const definitions = { ...mapped(schema, "definitions"), ...mapped(schema, "$defs") };
  if ((reference ?? null) !== null) return { $ref: reference, ...definitions };
  const kept = KEPT.filter((name) => (schema[name] ?? null) !== null || isPresentNull(schema, name));
  const { type, items = null, format } = schema;
  const constraints = constraintsOf(schema);
  const descriptions = [schema.description, constraints].filter((text) => (text ?? null) !== null);
  return {
    ...Object.fromEntries(kept.map((name) => [name, schema[name]])),
    // Structured outputs have no `oneOf`.
    anyOf: (listOf(schema.anyOf) ?? listOf(schema.oneOf))?.map(definitionOf),
    allOf: listOf(schema.allOf)?.map(definitionOf),
    ...definitions,
    ...(type === "object" || isJsonObject(schema.properties)
      ? {
          ...mapped(schema, "properties"),
          additionalProperties: false,
          required: schema.required ?? undefined,
        }
      : {}),
    items: items === null ? undefined : (listOf(items)?.map(definitionOf) ?? definitionOf(items)),
    format: FORMATS.has(format) ? format : undefined,
    ...(constraints === null ? {} : { description: descriptions.join("\n") }),
  };
}

/** `null` is a value only of these. */
function isPresentNull(schema: JsonObject, name: string): boolean {
  return (name === "default" || name === "const") && schema[name] === null;
}

function mapped(schema: JsonObject, keyword: string): JsonObject {
  const value = schema[keyword];
  if (!isJsonObject(value)) return {};
  const entries = Object.entries(value).map(([name, definition = null]) => [name, definitionOf(definition)]);
  return { [keyword]: Object.fromEntries(entries) };
}

function definitionOf(definition: Json): Json {
  return isJsonObject(definition) ? outputSchema(definition) : definition;
}

/** The keywords for the description, as `min length: 3; pattern: ^a.`; `null`: there are none. */
function constraintsOf(schema: JsonObject): string | null {
  const constraints = DESCRIBED.flatMap((keyword) => {
    const value = schema[keyword] ?? null;
    if (value === null || value === false) return [];
    const name = keyword.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    const json = exactJson(JSON.stringify(value));
    // A number that JavaScript can't hold is a text until then.
    return [`${name}: ${typeof value === "string" && json.startsWith('"') ? value : json}`];
  });
  const { format } = schema;
  if (typeof format === "string" && !FORMATS.has(format)) constraints.push(`format: ${format}`);
  return constraints.length === 0 ? null : `${constraints.join("; ")}.`;
}

function listOf(value: Json | undefined): readonly Json[] | null {
  return Array.isArray(value) ? value : null;
}
