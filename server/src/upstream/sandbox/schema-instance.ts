import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";

const MAX_DEPTH = 24;

/**
 * Returns a small value that is valid for a JSON schema, the same for the same schema and words. It supports what
 * structured-output schemas use: types, properties, items, enum, const, bounds, formats, unions, `allOf`, and `$ref` into the
 * same document. Optional properties of deep values are left out, so that recursive schemas end.
 */
export function instanceOf(schema: JsonObject, words: string): Json {
  return new Instance(schema, words).of(schema, 0);
}

class Instance {
  readonly #root: JsonObject;
  readonly #words: string;

  constructor(root: JsonObject, words: string) {
    this.#root = root;
    this.#words = words;
  }

  of(schema: Json | undefined, depth: number): Json {
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return null;
    if (typeof schema.$ref === "string") return this.of(this.#resolve(schema.$ref), depth + 1);
    if (schema.const !== undefined) return schema.const;
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] ?? null;
    const union = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(union)) return this.of(this.#simplest(union, depth), depth + 1);
    if (Array.isArray(schema.allOf))
      return this.of(
        merged(schema, schema.allOf, (ref) => this.#resolve(ref)),
        depth + 1,
      );
    return this.#ofType(typeOf(schema), schema, depth);
  }

  #ofType(type: string, schema: JsonObject, depth: number): Json {
    switch (type) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, depth);
      case "integer":
        return number(schema, 1);
      case "number":
        return number(schema, 0);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return text(schema, this.#words);
    }
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const required = Array.isArray(schema.required) ? schema.required : [];
    // Deep values have only required properties, so that recursive schemas end.
    const names = Object.keys(properties).filter((name) => required.includes(name) || depth < 4);
    for (const name of required) if (typeof name === "string" && !names.includes(name)) names.push(name);
    return Object.fromEntries(
      names.map((name) => [name, this.of(properties[name] ?? { type: "string" }, depth + 1)]),
    );
  }

  #array(schema: JsonObject, depth: number): Json[] {
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const min = Math.max(whole(schema.minItems) ?? 0, prefix.length);
    const max = whole(schema.maxItems) ?? Number.POSITIVE_INFINITY;
    const length = Math.min(Math.max(min, depth < 4 ? 1 : 0), max, 1_000);
    return Array.from({ length }, (_, index) => this.of(prefix[index] ?? schema.items ?? {}, depth + 1));
  }

  /** At the top the first alternative, which is the author's; deep down one that does not go deeper. */
  #simplest(alternatives: readonly Json[], depth: number): Json | undefined {
    if (depth < 4) return alternatives[0];
    const flat = alternatives.find(
      (one) => isJsonObject(one) && one.$ref === undefined && typeOf(one) !== "object",
    );
    return flat ?? alternatives[0];
  }

  #resolve(ref: string): Json | undefined {
    if (ref === "#") return this.#root;
    if (!ref.startsWith("#/")) return undefined;
    let value: Json | undefined = this.#root;
    for (const part of ref.slice(2).split("/")) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    }
    return value;
  }
}

function merged(
  schema: JsonObject,
  parts: readonly Json[],
  resolve: (ref: string) => Json | undefined,
): JsonObject {
  const { allOf: _, ...own } = schema;
  const targets = parts
    .map((part) => (isJsonObject(part) && typeof part.$ref === "string" ? resolve(part.$ref) : part))
    .filter(isJsonObject);
  const all = [own, ...targets];
  return Object.assign({}, ...all, {
    properties: Object.assign({}, ...all.map((one) => objectOf(one.properties))),
    required: all.flatMap((one) => listOf(one.required)),
  });
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function typeOf(schema: JsonObject): string {
  const type = Array.isArray(schema.type)
    ? (schema.type.find((one) => one !== "null") ?? "null")
    : schema.type;
  if (typeof type === "string") return type;
  if (schema.properties !== undefined) return "object";
  return schema.items !== undefined || schema.prefixItems !== undefined ? "array" : "string";
}

function number(schema: JsonObject, grain: number): number {
  const step =
    typeof schema.multipleOf === "number" && schema.multipleOf > 0 ? schema.multipleOf : grain || 0.5;
  const min = bound(schema.minimum) ?? shifted(bound(schema.exclusiveMinimum), step);
  const max = bound(schema.maximum) ?? shifted(bound(schema.exclusiveMaximum), -step);
  const lowest = min ?? (max !== null && max < step ? max : step);
  const onGrid = Math.ceil(lowest / step) * step;
  return max !== null && onGrid > max ? lowest : onGrid;
}

function shifted(value: number | null, by: number): number | null {
  return value === null ? null : value + by;
}

function bound(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function whole(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-01",
  "date-time": "2026-01-01T00:00:00Z",
  time: "00:00:00Z",
  duration: "P1D",
  email: "sandbox@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

function text(schema: JsonObject, words: string): string {
  const format = typeof schema.format === "string" ? FORMATS[schema.format] : undefined;
  if (format !== undefined) return format;
  const min = Math.min(whole(schema.minLength) ?? 0, 100_000);
  const max = whole(schema.maxLength) ?? 80;
  const base = [...(words || "sandbox")].slice(0, Math.max(0, max)).join("");
  return base.padEnd(min, "-");
}
