// Writes the router's types as declarations.
import ts from "typescript";
import { commentOf } from "./comments.mjs";
import { checker, isProcedure, procedureAt, withoutBrand } from "./router-type.mjs";

/** A router's part of the table: its procedures, and the routers inside it. */
export function recordOf(type, router = "") {
  const parts = checker.getPropertiesOfType(type).map((property) => {
    const path = router + property.name;
    const inner = checker.getTypeOfSymbol(property);
    const member = isProcedure(inner) ? procedureOf(inner, path) : recordOf(inner, `${path}.`);
    return `${comment(property, path, type)}readonly ${property.name}: ${member};`;
  });
  return `{\n${parts.join("\n")}\n}`;
}

function procedureOf(type, path) {
  const { kind, input, output } = procedureAt(type);
  return `Procedure<"${kind}", ${printed(input, `${path} input`)}, ${printed(output, `${path} output`)}>`;
}

/** A type in full. A reader needs none of the server's names to read it. */
export function printed(branded, path) {
  const type = withoutBrand(branded);
  if (type.isUnion()) return unionOf(type, path);
  const { Any, Unknown, Object: Structure, Intersection, Void } = ts.TypeFlags;
  if (type.flags & Any) throw new Error(`${path}: a procedure's type must not be any`);
  if (type.flags & Unknown) return "unknown";
  if (type.flags & Void) return "undefined";
  if (!(type.flags & (Structure | Intersection))) return checker.typeToString(type);
  if (type.symbol?.name === "Date") return "Date";
  if (checker.isTupleType(type)) {
    return `readonly [${checker
      .getTypeArguments(type)
      .map((item) => printed(item, path))
      .join(", ")}]`;
  }
  if (checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type);
    const text = printed(item, `${path}[]`);
    return `readonly ${item.isUnion() || checker.isArrayType(item) ? `(${text})` : text}[]`;
  }
  return objectOf(type, path);
}

function unionOf(type, path) {
  // \`boolean\` is a union of two literals.
  const parts = type.types.map((part) => printed(part, path));
  const isBoolean = parts.includes("true") && parts.includes("false");
  const distinct = new Set(parts.filter((part) => !(isBoolean && (part === "true" || part === "false"))));
  if (isBoolean) distinct.add("boolean");
  // Absence stands last, as people write it.
  for (const absent of ["null", "undefined"]) if (distinct.delete(absent)) distinct.add(absent);
  return [...distinct].join(" | ");
}

function objectOf(type, path) {
  if (type.getCallSignatures().length > 0) throw new Error(`${path}: a procedure cannot send a function`);
  const index = checker
    .getIndexInfosOfType(type)
    .map(
      ({ keyType, type: value }) =>
        `readonly [name: ${checker.typeToString(keyType)}]: ${printed(value, path)};`,
    );
  const parts = checker.getPropertiesOfType(type).map((property) => {
    const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
    const inner = `${path}.${property.name}`;
    const value = printed(checker.getTypeOfSymbol(property), inner);
    const mayBeMissing = isOptional && !/(^|\| )undefined$/.test(value) ? `${value} | undefined` : value;
    return `${comment(property, inner, type)}readonly ${property.name}${isOptional ? "?" : ""}: ${mayBeMissing};`;
  });
  return parts.length + index.length === 0
    ? "Readonly<Record<string, never>>"
    : `{\n${[...parts, ...index].join("\n")}\n}`;
}

function comment(symbol, path, parent) {
  const text = commentOf(symbol, path, parent);
  if (text === "") return "";
  const lines = text.split("\n").map((line) => line.trim());
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}
