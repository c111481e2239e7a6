import { usdOf } from "../../catalog/prices.ts";
import { page, type Schema } from "../../operations/openapi-parts.ts";

/*
 * The rule by which REST writes the answers of procedures, for values and for their schemas: names in snake case, times in RFC 3339,
 * amounts as exact decimal numbers of US dollars in text, and a page of a list in the form of OpenAI's API.
 */

const NANO_USD = "NanoUsd";

/** A name of an input or an answer: an amount in nano-USD, such as `balanceNanoUsd`, is `balance_usd`. */
export function restNameOf(name: string): string {
  const named = isAmount(name) ? `${name.slice(0, -NANO_USD.length)}Usd` : name;
  return named.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isAmount(name: string): boolean {
  return name.endsWith(NANO_USD);
}

/** Writes the answer of a procedure. */
export function restAnswerOf(answer: unknown): unknown {
  if (!isRecord(answer)) return answer;
  const listed = listedField(answer);
  if (listed === null) return restValueOf(answer);
  const { nextCursor } = answer;
  return {
    object: "list",
    data: restValueOf(answer[listed]),
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
  };
}

/** Converts the JSON Schema of a procedure's answer, of those that `npm run procedures` writes. */
export function restSchemaOf(schema: Schema): Schema {
  const { properties } = schema;
  if (!isRecord(properties)) return restNode(schema);
  const listed = listedField(properties);
  if (listed === null) return restNode(schema);
  const { items } = properties[listed] as { readonly items: Schema };
  return page(restNode(items));
}

/** The list in the answer, or in the properties, of a procedure that returns pages; `null` for any other. */
function listedField(answer: Readonly<Record<string, unknown>>): string | null {
  const [first, ...others] = Object.keys(answer).filter((name) => name !== "nextCursor");
  return first !== undefined && others.length === 0 && "nextCursor" in answer ? first : null;
}

function restValueOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(restValueOf);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      restNameOf(name),
      isAmount(name) ? amountOf(field) : restValueOf(field),
    ]),
  );
}

/** In the audit trail amounts are whole numbers as text, as they were recorded in JSON. */
function amountOf(value: unknown): unknown {
  if (typeof value === "bigint") return usdOf(value);
  return typeof value === "string" && /^-?\d+$/.test(value) ? usdOf(BigInt(value)) : value;
}

/** An amount, with what the procedure's schema says about it. */
function amountSchemaOf({ description }: Schema): Schema {
  const meaning = typeof description === "string" ? restTextOf(description) : "An amount in US dollars.";
  return {
    type: "string",
    pattern: "^-?\\d+(\\.\\d{1,9})?$",
    description: `${meaning} It is an exact decimal number.`,
  };
}

/** Converts a description: it names fields and the unit of amounts as procedures do. */
function restTextOf(description: string): string {
  return description
    .replaceAll(/`([a-z][A-Za-z]*)`/g, (_, name: string) => `\`${restNameOf(name)}\``)
    .replaceAll("nano-USD", "US dollars");
}

function restNode(schema: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
      if (keyword === "properties") {
        const properties = restProperties(value as Readonly<Record<string, Schema>>);
        // An answer has every field that its schema names.
        return [
          ["required", Object.keys(properties)],
          ["properties", properties],
        ];
      }
      if (keyword === "description") return [[keyword, restTextOf(String(value))]];
      if (keyword === "format" && value === "bigint") return [["pattern", "^-?\\d+$"]];
      return [[keyword, Array.isArray(value) ? value.map(restPart) : restPart(value)]];
    }),
  );
}

function restPart(part: unknown): unknown {
  return isRecord(part) ? restNode(part) : part;
}

function restProperties(properties: Readonly<Record<string, Schema>>): Schema {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      restNameOf(name),
      isAmount(name) ? amountSchemaOf(schema) : restNode(schema),
    ]),
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
