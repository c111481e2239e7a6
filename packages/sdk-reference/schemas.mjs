// Writes the outputs of procedures as JSON Schemas (https://json-schema.org/draft/2020-12).
import ts from "typescript";
import { commentOf } from "./comments.mjs";
import { checker, isProcedure, member, procedureAt, withoutBrand } from "./router-type.mjs";

/**
 * The schemas of the outputs of queries and mutations, by the full names of the procedures. `names` has routers, such as `keys`, and
 * procedures, such as `audit.summary`.
 */
export function schemasOf(record, names) {
  const schemas = {};
  for (const [router, only] of names.map((name) => name.split("."))) {
    const procedures = member(record, router);
    for (const { name } of checker.getPropertiesOfType(procedures)) {
      if (only !== undefined && name !== only) continue;
      const type = member(procedures, name);
      if (!isProcedure(type)) continue;
      const { kind, output } = procedureAt(type);
      if (kind !== "subscription")
        schemas[`${router}.${name}`] = schemaOf(output, `${router}.${name} output`);
    }
  }
  return schemas;
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
  if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return objectOf(type, path);
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
  if (schema.type === "object" || schema.anyOf !== undefined) return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [schema.type, "null"] };
}

function objectOf(type, path) {
  const [index] = checker.getIndexInfosOfType(type);
  if (index !== undefined) return { type: "object", additionalProperties: schemaOf(index.type, path) };
  const properties = {};
  const required = [];
  for (const property of checker.getPropertiesOfType(type)) {
    const inner = `${path}.${property.name}`;
    const schema = schemaOf(checker.getTypeOfSymbol(property), inner);
    const description = commentOf(property, inner, type).replaceAll(/\s+/g, " ");
    properties[property.name] = { ...schema, description };
    if (!(property.flags & ts.SymbolFlags.Optional)) required.push(property.name);
  }
  return { type: "object", required, properties };
}
