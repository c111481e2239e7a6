// The type of the server's router, and how to find a way in it.
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const ROUTER = "server/src/management/router.ts";
const REST = "server/src/management/rest/rest-operations.ts";
const CONTRACT = ["sdk/src/contract/audit.ts", "sdk/src/contract/models.ts"];

const { config } = ts.readConfigFile(`${root}server/tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${root}server`);
// The order of a union does not depend on what else the program has.
const program = ts.createProgram(
  [ROUTER, REST, ...CONTRACT].map((path) => root + path),
  { ...options, stableTypeOrdering: true },
);
export const checker = program.getTypeChecker();

export function routerType() {
  return checker.getDeclaredTypeOfSymbol(exportOf(ROUTER, "AppRouter"));
}

/** The full names of the procedures that are REST operations. */
export function restProcedures() {
  const { types } = checker.getDeclaredTypeOfSymbol(exportOf(REST, "RestProcedure"));
  return types.map(({ value }) => value);
}

/** What a module of the router's program exports by a name. */
export function exportOf(path, name) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(root + path));
  return checker.getExportsOfModule(module).find((symbol) => symbol.name === name);
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

/** A branded primitive without its brand, which means nothing outside the server. */
export function withoutBrand(type) {
  const { StringLike, NumberLike, BigIntLike } = ts.TypeFlags;
  if (!type.isIntersection()) return type;
  return type.types.find((part) => part.flags & (StringLike | NumberLike | BigIntLike)) ?? type;
}
