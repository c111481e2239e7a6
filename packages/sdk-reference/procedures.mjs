// Writes what follows from the type of the server's router: the SDK's table of procedures, and the JSON Schemas of the answers that
// the OpenAPI document has. Also writes the comments of types of the SDK that the document has as descriptions. Fails if a procedure or a
// field has no comment. With --check, compares instead of writing.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fieldComments, missingComments } from "./comments.mjs";
import { printed, recordOf } from "./declarations.mjs";
import { member, restProcedures, root, routerType } from "./router-type.mjs";
import { schemasOf } from "./schemas.mjs";

const GENERATED = "// Generated from the server's router by `npm run procedures`. Do not edit.\n";

const router = routerType();
const record = member(router, "_def", "record");
const { answers, shared } = schemasOf(record, restProcedures());
const errorShape = member(router, "_def", "_config", "$types", "errorShape");
const files = {
  "sdk/src/contract/procedures.ts": `${GENERATED}
/** A procedure of the management API. */
export interface Procedure<Kind = "query" | "mutation" | "subscription", Input = unknown, Output = unknown> {
  /** How it is called. */
  readonly kind: Kind;
  /** What it takes; \`undefined\`: nothing. Fields that accept \`undefined\` may be omitted. */
  readonly input: Input;
  /** What it answers; of a subscription, an event. */
  readonly output: Output;
}

/** The procedures of the management API. */
export interface Procedures ${recordOf(record)}

/** The error of a procedure, as tRPC's clients know it. */
export interface ProcedureError ${printed(errorShape, "error")}
`,
  "server/src/management/answer-schemas.ts": `${GENERATED}
/**
 * The JSON Schemas of the outputs of procedures that are REST operations, by the names of the procedures. Every property is required. A
 * \`Date\` has the format \`date-time\`, and a bigint the format \`bigint\`.
 */
export const ANSWER_SCHEMAS = ${JSON.stringify(answers)} as const;

/** The JSON Schemas of what several of them contain, by the names to which they refer. */
export const SHARED_SCHEMAS = ${JSON.stringify(shared)} as const;
`,
  "server/src/operations/field-descriptions.ts": `${GENERATED}
/** What the fields of entries and models mean: the comments of the SDK's types, by the names of schemas and fields. */
export const FIELD_DESCRIPTIONS: Readonly<
  Record<"AuditEntry" | "Model" | "ModelPricing", Readonly<Record<string, string>>>
> = ${JSON.stringify(fieldComments())};
`,
};

const uncommented = missingComments();
if (uncommented.length > 0) {
  process.stderr.write(`Write a comment for each of these:\n${uncommented.join("\n")}\n`);
  process.exit(1);
}

let isStale = false;
for (const [path, source] of Object.entries(files)) {
  const text = formatted(path, source);
  const present = existsSync(root + path) ? readFileSync(root + path, "utf8") : null;
  if (text === present) continue;
  if (process.argv.includes("--check")) {
    process.stderr.write(`${path} differs from the router. Run \`npm run procedures\`.\n`);
    isStale = true;
  } else {
    writeFileSync(root + path, text);
  }
}
process.exit(isStale ? 1 : 0);

function formatted(path, source) {
  const arguments_ = ["format", `--stdin-file-path=${path}`];
  const { stdout, stderr, status } = spawnSync(`${root}test/node_modules/.bin/biome`, arguments_, {
    cwd: root,
    input: source,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
