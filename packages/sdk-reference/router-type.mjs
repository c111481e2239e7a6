// The type of the server's router, and how to find a way in it.
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const ROUTER = `${root}server/src/management/router.ts`;

const { config } = ts.readConfigFile(`${root}server/tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${root}server`);
// The order of a union does not depend on what else the program has.
const program = ts.createProgram([ROUTER], { ...options, stableTypeOrdering: true });
export const checker = program.getTypeChecker();

export function routerType() {
  const module = checker.getSymbolAtLocation(program.getSourceFile(ROUTER));
  const symbol = checker.getExportsOfModule(module).find(({ name }) => name === "AppRouter");
  return checker.getDeclaredTypeOfSymbol(symbol);
}

/** The type at a path of properties. */
export function member(type, ...path) {
  return path.reduce((inner, name) => checker.getTypeOfSymbol(checker.getPropertyOfType(inner, name)), type);
}

/** The kind of a procedure, and the types of its input and output; of a subscription, the output is an event with its id and data. */
export function procedureAt(type) {
  const kind = member(type, "_def", "type").value;
  const input = member(type, "_def", "$types", "input");
  const result = member(type, "_def", "$types", "output");
  const [output] = kind === "subscription" ? checker.getTypeArguments(result) : [result];
  return { kind, input, output };
}

export function isProcedure(type) {
  return checker.getPropertyOfType(type, "_def") !== undefined;
}

/** The comment of a property or procedure, without links to the server's names; empty without one. */
export function commentOf(symbol) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
  return text.replaceAll(/\{@link (\w+)\}/g, "`$1`");
}

/** A branded primitive without its brand, which means nothing outside the server. */
export function withoutBrand(type) {
  const { StringLike, NumberLike, BigIntLike } = ts.TypeFlags;
  if (!type.isIntersection()) return type;
  return type.types.find((part) => part.flags & (StringLike | NumberLike | BigIntLike)) ?? type;
}
