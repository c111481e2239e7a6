// Writes the outputs of procedures as JSON Schemas (https://json-schema.org/draft/2020-12).
import ts from "typescript";
import { commentOf } from "./comments.mjs";
import { checker, member, procedureAt, withoutBrand } from "./router-type.mjs";

const COMPONENTS = "#/components/schemas/";
/** The schemas of types that have a name, with the number of places where they stand. */
const named = new Map();

/**
 * The schemas of the outputs of procedures, by the full names of the procedures, and those of the types that stand in several places,
 * by the names of the types. The former refer to the latter as components of an OpenAPI document.
 */
export function schemasOf(record, procedures) {
  const answers = procedures.map((name) => {
    const { output } = procedureAt(member(record, ...name.split(".")));
    return [name, schemaOf(output, `${name} output`)];
  });
  const shared = [...named].filter(([, { uses }]) => uses > 1).map(([name, { schema }]) => [name, schema]);
  return { shared: inPlace(Object.fromEntries(shared)), answers: inPlace(Object.fromEntries(answers)) };
}

/** The schemas with those that stand in one place in the place of their references. */
function inPlace(node) {
  if (Array.isArray(node)) return node.map((part) => inPlace(part));
  if (typeof node !== "object" || node === null) return node;
  const { $ref, ...rest } = node;
  const { uses, schema } = named.get($ref?.slice(COMPONENTS.length)) ?? {};
  return Object.fromEntries(
    Object.entries(uses === 1 ? { ...schema, ...rest } : node).map(([name, part]) => [name, inPlace(part)]),
  );
}

/** A bigint and a date are strings, whose format tells which. Numbers of procedures are integers. */
function schemaOf(branded, path) {
  const type = withoutBrand(branded);
  if (type.isUnion()) return unionOf(type, path);
  const { BooleanLike, String: Text, Number: Count, BigIntLike, Null, Unknown } = ts.TypeFlags;
  if (type.isStringLiteral()) return { type: "string", enum: [type.value] };
  if (type.flags & BooleanLike) return { type: "boolean" };
  if (type.flags & Text) return { type: "string" };
  if (type.flags & Count) return { type: "integer" };
  if (type.flags & BigIntLike) return { type: "string", format: "bigint" };
  if (type.flags & Null) return { type: "null" };
  if (type.flags & Unknown) return {};
  if (type.symbol?.name === "Date") return { type: "string", format: "date-time" };
  if (checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type);
    return { type: "array", items: schemaOf(item, `${path}[]`) };
  }
  if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return namedObjectOf(type, path);
  throw new Error(`${path}: ${checker.typeToString(type)} has no JSON Schema`);
}

function unionOf(type, path) {
  const parts = type.types
    .filter((part) => !(part.flags & ts.TypeFlags.Undefined))
    .map((part) => schemaOf(part, path));
  const isNullable = parts.some((part) => part.type === "null");
  const distinct = new Map(
    parts.filter((part) => part.type !== "null").map((part) => [JSON.stringify(part), part]),
  );
  const literals = [...distinct.values()];
  const schema = literals.every((part) => part.enum !== undefined)
    ? { type: "string", enum: literals.flatMap((part) => part.enum) }
    : literals.length === 1
      ? literals[0]
      : { anyOf: literals };
  if (!isNullable) return schema;
  if (schema.enum !== undefined) return { type: ["string", "null"], enum: [...schema.enum, null] };
  if (schema.type === "object" || schema.anyOf !== undefined || schema.$ref !== undefined)
    return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [schema.type, "null"] };
}

/** A type with a name is written once, and referred to. */
function namedObjectOf(type, path) {
  const { name } = type.aliasSymbol ?? type.symbol ?? { name: "__" };
  if (name.startsWith("__") || type.aliasTypeArguments !== undefined) return objectOf(type, path);
  const known = named.get(name) ?? { type, uses: 0, schema: objectOf(type, path) };
  if (known.type !== type) throw new Error(`${path}: another type has the name ${name}`);
  named.set(name, { ...known, uses: known.uses + 1 });
  return { $ref: COMPONENTS + name };
}

function objectOf(type, path) {
  const [index] = checker.getIndexInfosOfType(type);
  if (index !== undefined) return { type: "object", additionalProperties: schemaOf(index.type, path) };
  const properties = {};
  for (const property of checker.getPropertiesOfType(type)) {
    const inner = `${path}.${property.name}`;
    const schema = schemaOf(checker.getTypeOfSymbol(property), inner);
    const description = commentOf(property, inner, type).replaceAll(/\s+/g, " ");
    properties[property.name] = { ...schema, description };
    if (property.flags & ts.SymbolFlags.Optional)
      throw new Error(`${inner}: an answer has every field, or null`);
  }
  return { type: "object", properties };
}
