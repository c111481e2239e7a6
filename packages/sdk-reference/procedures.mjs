// Writes sdk/src/contract/procedures.ts: the kind, input and output of every procedure, read from the type of the server's
// router. With --check, compares instead of writing.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ROUTER = `${root}server/src/management/router.ts`;
const OUTPUT = "sdk/src/contract/procedures.ts";

const HEADER = `// Generated from the server's router by \`npm run procedures\`. Do not edit.

/**
 * The procedures of the management API: the kind, input and output of each. Fields of an input that accept \`undefined\` may be
 * omitted. An input of \`undefined\` means that the procedure takes none.
 */
export interface Procedures `;

const { config } = ts.readConfigFile(`${root}server/tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${root}server`);
const program = ts.createProgram([ROUTER], options);
const checker = program.getTypeChecker();

const router = routerType();
const text = formatted(
  `${HEADER}${recordOf(member(router, "_def", "record"))}

/** The error of a procedure, as tRPC's clients know it. */
export interface ProcedureError ${printed(member(router, "_def", "_config", "$types", "errorShape"), "error")}
`,
);
if (process.argv.includes("--check")) {
  if (text !== readFileSync(root + OUTPUT, "utf8")) {
    process.stderr.write(`${OUTPUT} differs from the router. Run \`npm run procedures\`.\n`);
    process.exit(1);
  }
} else {
  writeFileSync(root + OUTPUT, text);
}

function routerType() {
  const module = checker.getSymbolAtLocation(program.getSourceFile(ROUTER));
  const symbol = checker.getExportsOfModule(module).find(({ name }) => name === "AppRouter");
  return checker.getDeclaredTypeOfSymbol(symbol);
}

/** The type at a path of properties. */
function member(type, ...path) {
  return path.reduce((inner, name) => checker.getTypeOfSymbol(checker.getPropertyOfType(inner, name)), type);
}

/** A router's part of the table: its procedures, and the routers inside it. */
function recordOf(type) {
  const parts = checker.getPropertiesOfType(type).map((property) => {
    const inner = checker.getTypeOfSymbol(property);
    const isProcedure = checker.getPropertyOfType(inner, "_def") !== undefined;
    return `${comment(property)}readonly ${property.name}: ${isProcedure ? procedureOf(inner, property.name) : recordOf(inner)};`;
  });
  return `{\n${parts.join("\n")}\n}`;
}

function procedureOf(type, name) {
  const kind = member(type, "_def", "type").value;
  const input = printed(member(type, "_def", "$types", "input"), `${name} input`);
  const result = member(type, "_def", "$types", "output");
  const output = printed(kind === "subscription" ? eventOf(result) : result, `${name} output`);
  return `{ readonly kind: "${kind}"; readonly input: ${input}; readonly output: ${output} }`;
}

/** An event of a subscription, with its id and data. */
function eventOf(iterable) {
  const [event] = checker.getTypeArguments(iterable);
  return event;
}

/** A type in full. A reader needs none of the server's names to read it. */
function printed(type, path) {
  if (type.isUnion()) return unionOf(type, path);
  // The brand of an id means nothing outside the server.
  if (type.isIntersection()) {
    const primitive = type.types.find(
      (part) => part.flags & (ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BigIntLike),
    );
    if (primitive !== undefined) return printed(primitive, path);
  }
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
    return `${comment(property)}readonly ${property.name}${isOptional ? "?" : ""}: ${mayBeMissing};`;
  });
  return parts.length + index.length === 0
    ? "Readonly<Record<string, never>>"
    : `{\n${[...parts, ...index].join("\n")}\n}`;
}

function comment(symbol) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
  if (text === "") return "";
  const lines = text.split("\n").map((line) => line.trim());
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

function formatted(source) {
  const { stdout, stderr, status } = spawnSync(
    "npx",
    ["--no-install", "biome", "format", `--stdin-file-path=${OUTPUT}`],
    {
      cwd: root,
      input: source,
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
