// The comments of procedures and fields, wherever they are written, and which of them are missing.
import ts from "typescript";
import { checker, exportOf } from "./router-type.mjs";

const AUDIT_FIELDS = checker.getTypeOfSymbol(exportOf("sdk/src/contract/audit-fields.ts", "AUDIT_FIELDS"));
const missing = new Set();

/**
 * The comment of a procedure or field; empty without one. The comment before its definition comes first, then the description of its
 * zod schema, then the comment of the constant that is its schema. Fields of audit entries have theirs in `AUDIT_FIELDS`.
 *
 * @param path the full name of the procedure or field, which {@link missingComments} returns if it has no comment.
 * @param parent the type that it is a member of.
 */
export function commentOf(symbol, path, parent) {
  const text = definitionComment(symbol) || auditFieldComment(symbol, parent);
  if (text === "") missing.add(path);
  return text;
}

/**
 * The comments of the fields of entries and models, by the names of the OpenAPI document's schemas. Each field of such a schema needs one.
 */
export function fieldComments() {
  const declared = (path, name) => checker.getDeclaredTypeOfSymbol(exportOf(path, name));
  return {
    AuditEntry: commentsOfMembers(AUDIT_FIELDS, "AuditEntry"),
    Model: commentsOfMembers(declared("sdk/src/contract/models.ts", "Model"), "Model"),
    ModelPricing: commentsOfMembers(declared("sdk/src/contract/models.ts", "ModelPricing"), "ModelPricing"),
  };
}

function commentsOfMembers(type, path) {
  const comments = checker.getPropertiesOfType(type).map((symbol) => {
    const text = writtenComment(symbol).replaceAll(/\s*\n\s*/g, " ");
    if (text === "") missing.add(`${path}.${symbol.name}`);
    return [symbol.name, text];
  });
  // What an SDK adds to an answer is not sent.
  return Object.fromEntries(comments.filter(([name]) => !name.startsWith("_")));
}

/** The full names of all procedures and fields whose comments were looked for and not found. */
export function missingComments() {
  return [...missing];
}

/** The comment before a definition. Links to names of the server become code, because they lead nowhere outside. */
function writtenComment(symbol) {
  const text = ts.displayPartsToString(symbol?.getDocumentationComment(checker)).trim();
  return text.replaceAll(/\{@link (\w+)\}/g, "`$1`");
}

function definitionComment(symbol) {
  return writtenComment(symbol) || schemaComment(symbol);
}

function schemaComment(symbol) {
  const definition = symbol.declarations?.[0];
  if (definition === undefined) return "";
  if (ts.isShorthandPropertyAssignment(definition))
    return constantComment(checker.getShorthandAssignmentValueSymbol(definition));
  return ts.isPropertyAssignment(definition) ? descriptionOf(definition.initializer) : "";
}

/** The description of a zod schema such as `label.describe("…").optional()`. */
function descriptionOf(schema) {
  if (ts.isIdentifier(schema)) return constantComment(checker.getSymbolAtLocation(schema));
  if (ts.isPropertyAccessExpression(schema))
    return definitionComment(checker.getSymbolAtLocation(schema.name));
  if (!ts.isCallExpression(schema) || !ts.isPropertyAccessExpression(schema.expression)) return "";
  const { name, expression: described } = schema.expression;
  return (name.text === "describe" && literalOf(schema.arguments[0])) || descriptionOf(described);
}

function constantComment(reference) {
  const isImported = (reference?.flags & ts.SymbolFlags.Alias) !== 0;
  const constant = isImported ? checker.getAliasedSymbol(reference) : reference;
  const definition = constant?.valueDeclaration;
  if (definition === undefined || !ts.isVariableDeclaration(definition)) return "";
  const { initializer } = definition;
  return (initializer && descriptionOf(initializer)) || writtenComment(constant);
}

function literalOf(expression) {
  const type = checker.getTypeAtLocation(expression);
  return type.isStringLiteral() ? type.value : "";
}

/** Members of an audit entry have camel-case names of `AUDIT_FIELDS`. Most of them are mapped, so that they have no definition. */
function auditFieldComment({ name }, parent) {
  const isEntry = checker.getPropertiesOfType(parent).some(({ declarations }) => declarations === undefined);
  if (!isEntry) return "";
  const field = name.replaceAll(/[A-Z]|\d+/g, (start) => `_${start.toLowerCase()}`);
  return writtenComment(checker.getPropertyOfType(AUDIT_FIELDS, field));
}
