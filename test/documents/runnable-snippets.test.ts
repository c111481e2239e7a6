import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATOR_ENV, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { type Project, projectWithPackage } from "../fixtures/package.ts";
import { type Ran, runProcess } from "../fixtures/run-process.ts";
import { ROOT, type Service } from "../fixtures/service.ts";
import { signUp, type Visitor } from "../fixtures/user.ts";
import { MAY_BE_REFUSED, NOT_RUN } from "./not-run.ts";
import { COMMENT_EXAMPLES, commandsOf, DOCUMENTS, type Snippet, snippetsIn } from "./snippets.ts";

const EXAMPLES = [...snippetsIn("ts"), ...COMMENT_EXAMPLES].map((snippet, index) => ({
  ...snippet,
  name: `${snippet.document}:${snippet.line}`,
  file: `example-${index + 1}`,
  code: /new Ostiary|createTRPCClient/.test(snippet.code)
    ? snippet.code
    : `import Ostiary from "ostiary";\nconst client = new Ostiary();\n${snippet.code}`,
}));
const SHELL = snippetsIn("sh");
const WITH_COMMANDS = DOCUMENTS.map((document) => ({
  document,
  commands: runnableCommands(document),
})).filter(({ commands }) => commands.length > 0);

let project: Project;
let service: Service;
let programs: string;
let operator: Visitor;
/** Of the account whose keys the documents use. */
let account: { readonly key: string; readonly keyId: string; readonly token: string };
let operatorToken: string;

beforeAll(async () => {
  project = projectWithPackage();
  mkdirSync(join(project.folder, "node_modules/@types"));
  for (const name of ["@types/node", "undici-types", "zod"])
    symlinkSync(join(ROOT, "node_modules", name), join(project.folder, "node_modules", name));
  programs = installPrograms(project);
  service = await startOperatedService();
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "first" });
  const { id: keyId } = await owner.trpc.keys.create.mutate({ name: "old" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  account = { key, keyId, token };
  operator = await signInOperator(service.baseUrl);
  operatorToken = (await operator.trpc.tokens.create.mutate({ name: "documents" })).token;
  for (const { file, code } of EXAMPLES) writeFileSync(join(project.folder, `${file}.ts`), code);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  project?.[Symbol.dispose]();
});

describe("TypeScript snippets", () => {
  it("include the examples in the comments of the SDK", () => {
    expect(COMMENT_EXAMPLES.length).toBeGreaterThan(20);
  });

  it("are type-checked as in a strict project", () => {
    const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--types", "node"];
    // tRPC's declarations name what is newest in the standard library.
    strict.push("--lib", "es2023,dom,dom.iterable,dom.asynciterable,esnext.disposable");
    const files = EXAMPLES.map(({ file }) => `${file}.ts`);
    const options = { cwd: project.folder, encoding: "utf8", stdio: "pipe" } as const;
    expect(() =>
      execFileSync(join(ROOT, "node_modules/.bin/tsc"), [...strict, ...files], options),
    ).not.toThrow();
  });

  it.each(EXAMPLES)("$name runs", async ({ file, code }) => {
    const built = `${file}.mjs`;
    await writeFile(join(project.folder, built), transformSync(code, { loader: "ts" }).code);
    const token = code.includes("OstiaryOperator") ? operatorToken : account.token;
    const ran = await run(process.execPath, [built], { OSTIARY_MANAGEMENT_TOKEN: token });
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(ran.stdout + ran.stderr).not.toBe("");
    // Nothing that is verified is found wrong.
    expect(ran.stdout).not.toMatch(/^false\b/m);
  });
});

describe("shell snippets", () => {
  it("that are not run match a reason, and every reason is used", () => {
    const commands = SHELL.flatMap(commandsOf);
    const unused = [...NOT_RUN, ...MAY_BE_REFUSED].filter(
      ({ command }) => !commands.some((text) => command.test(text)),
    );
    expect(unused).toEqual([]);
  });

  it.each(WITH_COMMANDS)("of $document run, in one shell", async ({ document, commands }) => {
    const isForOperators = commands.some((command) =>
      /^npx ostiary-server operator |operator -- /m.test(command),
    );
    const script = ["set -euo pipefail", ...commands.map(withExpectedOutcome)].join("\n");
    const ran = await run("bash", ["-xc", await substituted(script, document)], {
      OSTIARY_MANAGEMENT_TOKEN: isForOperators ? operatorToken : account.token,
      ...OPERATOR_ENV,
    });
    expect(ran.code, `${ran.stderr}\n${ran.stdout}`).toBe(0);
  });
});

function runnableCommands(document: string): readonly string[] {
  return SHELL.filter((snippet: Snippet) => snippet.document === document)
    .flatMap(commandsOf)
    .filter((text) => !NOT_RUN.some(({ command }) => command.test(text)));
}

/** A command that may be refused still has to be understood: exit code 2 is a wrong command. */
function withExpectedOutcome(command: string): string {
  const mayFail = MAY_BE_REFUSED.some((rule) => rule.command.test(command));
  return mayFail ? `${command} || [ $? = 1 ]` : command;
}

/** Replaces the addresses, secrets and ids that documents show by those of the service under test. */
async function substituted(script: string, document: string): Promise<string> {
  let text = script
    .replaceAll(/http:\/\/(127\.0\.0\.1|10\.0\.0\.7):8080/g, service.baseUrl)
    .replaceAll("sk-…", account.key)
    .replaceAll("mt-…", account.token)
    .replaceAll("01a205ec-7a6d-75d9-81eb-8bb3082064a0", account.keyId)
    // A month with entries: a file without any cannot be verified.
    .replaceAll("--from 2026-10-01 --to 2026-10-31", `--from ${new Date().toISOString().slice(0, 7)}-01`);
  if (document === "docs/how-to/run-several-nodes.md") {
    const { nodes } = await operator.trpc.operator.nodes.list.query();
    text = text.replace("nodes release 17", `nodes release ${nodes[0]?.id}`);
  }
  if (document === "docs/how-to/repair-the-journal.md") {
    await writeFile(join(service.dataDir, "journal/000000000700.rejected"), "damaged\n");
    const { lines } = await operator.trpc.operator.journal.list.query();
    text = text.replaceAll("3f9c0a4be1d2", lines[0]?.id ?? "no line is rejected");
  }
  return text;
}

/** A folder with the programs that documents call. A shell does not find `ostiary` itself, which an installation puts into a project. */
function installPrograms({ folder }: Project): string {
  const bin = mkdtempSync(join(tmpdir(), "ostiary-programs-"));
  const write = (name: string, ...lines: string[]) => {
    writeFileSync(join(bin, name), ["#!/bin/bash", ...lines, ""].join("\n"));
    chmodSync(join(bin, name), 0o755);
  };
  const cli = `exec ${process.execPath} ${join(folder, "node_modules/ostiary/dist/cli.js")}`;
  const server = `exec ${process.execPath} ${join(ROOT, "server/dist/ostiary-server.js")}`;
  write(
    "npx",
    `if [ "$1" = ostiary-server ]; then shift; ${server} "$@"; fi`,
    '[ "$1" = ostiary ] || exit 99',
    "shift",
    `${cli} "$@"`,
  );
  write(
    "npm",
    '[ "$1 $2 $3 $4" = "run --silent operator --" ] || exit 99',
    "shift 4",
    `exec ${process.execPath} ${join(ROOT, "server/dist/operator.js")} "$@"`,
  );
  // Answers of 400 and above fail.
  write("curl", 'exec /usr/bin/env -S PATH=/usr/bin:/bin curl -sS --fail-with-body "$@"');
  return bin;
}

async function run(
  command: string,
  args: readonly string[],
  more: Readonly<Record<string, string>>,
): Promise<Ran> {
  return runProcess(command, args, {
    cwd: project.folder,
    env: {
      PATH: `${programs}:${process.env.PATH}`,
      NO_COLOR: "1",
      OSTIARY_API_KEY: account.key,
      OSTIARY_BASE_URL: service.baseUrl,
      ...more,
    },
  });
}

afterAll(() => rm(programs, { recursive: true, force: true }));
