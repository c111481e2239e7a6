import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf } from "../../json/members.ts";
import { textOfPattern } from "./pattern-text.ts";

const MAX_DEPTH = 24;
const MAX_ITEMS = 1_000;
const MAX_TEXT = 100_000;
/** What a character of a pattern costs: it takes many times as long to read as one of a text to write. */
const PATTERN_COST = 20;
/** What a value costs besides its text, in characters. */
const VALUE_COST = 40;

const FORMATS: ReadonlyMap<Json | undefined, string> = new Map([
  ["date", "2026-01-01"],
  ["date-time", "2026-01-01T00:00:00Z"],
  ["time", "00:00:00Z"],
  ["duration", "P1D"],
  ["email", "sandbox@example.com"],
  ["hostname", "example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/"],
  ["uuid", "00000000-0000-4000-8000-000000000000"],
]);

/**
 * Returns a small value that is valid for a JSON schema, the same for the same schema and words. It supports what
 * structured-output schemas use: types, properties, items, enum, const, bounds, formats, patterns, unions, `allOf`, and `$ref` into the
 * same document. Optional properties of deep values are left out, so that recursive schemas end.
 *
 * @param maxCharacters Roughly what the value may have, and what may be read of the schema for it: a small schema can ask for arrays
 * of arrays without end. What is beyond it is `null`, or left out.
 */
export function instanceOf(schema: JsonObject, words: string, maxCharacters = 1_000_000): Json {
  return new Instance(schema, words, maxCharacters).of(schema, 0);
}

class Instance {
  readonly #root: JsonObject;
  readonly #words: string;
  #left: number;
  /** The texts of the patterns that were read, which a schema may have for many values. */
  readonly #byPatterns = new Map<string, string | null>();

  constructor(root: JsonObject, words: string, maxCharacters: number) {
    this.#root = root;
    this.#words = words || "sandbox";
    this.#left = maxCharacters;
  }

  of(schema: Json | undefined, depth: number): Json {
    if (this.#left < 0 || !isJsonObject(schema) || depth > MAX_DEPTH) return null;
    if (!this.#spend(VALUE_COST + breadthOf(schema))) return null;
    if (typeof schema.$ref === "string") return this.of(this.#resolve(schema.$ref), depth + 1);
    if (schema.const !== undefined) return this.#given(schema.const);
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return this.#given(schema.enum[0]);
    const union = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(union)) return this.of(simplest(union, depth), depth + 1);
    if (Array.isArray(schema.allOf)) return this.of(this.#merged(schema, schema.allOf), depth + 1);
    switch (typeOf(schema)) {
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
        return this.#text(schema);
    }
  }

  /** @returns whether enough was left. */
  #spend(characters: number): boolean {
    this.#left -= characters;
    return this.#left >= 0;
  }

  #given(value: Json | undefined): Json {
    return value !== undefined && this.#spend(JSON.stringify(value).length) ? value : null;
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const properties = objectOf(schema.properties);
    const required = new Set(arrayOf(schema.required));
    // Deep values have only required properties, so that recursive schemas end.
    const names = new Set(Object.keys(properties).filter((name) => required.has(name) || depth < 4));
    for (const name of required) if (typeof name === "string") names.add(name);
    const entries: [string, Json][] = [];
    for (const name of names) {
      if (!this.#spend(name.length)) break;
      const own = Object.hasOwn(properties, name) ? properties[name] : null;
      entries.push([name, this.of(own ?? { type: "string" }, depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  #array(schema: JsonObject, depth: number): Json[] {
    const prefix = arrayOf(schema.prefixItems);
    const min = Math.max(whole(schema.minItems) ?? 0, prefix.length);
    const max = whole(schema.maxItems) ?? Number.POSITIVE_INFINITY;
    const length = Math.min(Math.max(min, depth < 4 ? 1 : 0), max, MAX_ITEMS);
    return Array.from({ length }, (_, index) => this.of(prefix[index] ?? schema.items ?? {}, depth + 1));
  }

  #text(schema: JsonObject): string {
    const format = FORMATS.get(schema.format);
    if (format !== undefined) return format;
    const min = Math.min(whole(schema.minLength) ?? 0, MAX_TEXT);
    const max = Math.min(whole(schema.maxLength) ?? 80, MAX_TEXT);
    const byPattern = typeof schema.pattern === "string" ? this.#byPattern(schema.pattern, schema) : null;
    if (byPattern !== null && this.#spend(byPattern.length)) return byPattern;
    // A character may be two units of a string.
    const text = [...this.#words.slice(0, 2 * max)].slice(0, max).join("").padEnd(min, "-");
    this.#spend(text.length);
    return text;
  }

  #byPattern(pattern: string, { minLength, maxLength }: JsonObject): string | null {
    const id = JSON.stringify([pattern, minLength, maxLength]);
    const known = this.#byPatterns.get(id);
    if (known !== undefined) return known;
    if (!this.#spend(PATTERN_COST * pattern.length)) return null;
    const text = textOfPattern(pattern, whole(minLength) ?? 0, whole(maxLength) ?? MAX_TEXT);
    this.#byPatterns.set(id, text);
    return text;
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

  #merged({ allOf: _, ...own }: JsonObject, parts: readonly Json[]): JsonObject {
    const all: JsonObject = {};
    const properties: JsonObject = {};
    const required: Json[] = [];
    for (const part of [own, ...parts]) {
      if (!isJsonObject(part) || !this.#spend(breadthOf(part))) continue;
      const target = typeof part.$ref === "string" ? this.#resolve(part.$ref) : part;
      if (!isJsonObject(target) || !this.#spend(breadthOf(target))) continue;
      Object.assign(all, target);
      Object.assign(properties, target.properties);
      for (const name of arrayOf(target.required)) required.push(name);
    }
    return { ...all, properties, required };
  }
}

/** How much there is to read in a schema without those in it. */
function breadthOf(schema: JsonObject): number {
  let breadth = 0;
  for (const value of Object.values(schema)) {
    breadth++;
    if (typeof value === "string" || Array.isArray(value)) breadth += value.length;
    else if (isJsonObject(value)) breadth += Object.keys(value).length;
  }
  return breadth;
}

/** At the top the first alternative, which is the author's; deep down one that does not go deeper. */
function simplest(alternatives: readonly Json[], depth: number): Json | undefined {
  if (depth < 4) return alternatives[0];
  const flat = alternatives.find(
    (one) => isJsonObject(one) && one.$ref === undefined && typeOf(one) !== "object",
  );
  return flat ?? alternatives[0];
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
