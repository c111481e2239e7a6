import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { type Project, projectWithPackage, type Ran } from "../fixtures/package.ts";
import { ROOT, type Service } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";

const README = readFileSync(join(ROOT, "sdk/README.md"), "utf8");
const EXAMPLES = blocksOf("ts").map((code, index) => ({
  name: `${index + 1}: ${firstWords(code)}`,
  file: `example-${index + 1}`,
  code: code.includes("new Ostiary") ? code : withClient(code),
}));
const COMMANDS = blocksOf("sh")
  .flatMap((block) => block.split("\n"))
  .map((line) => line.replace(/ +#.*/, "").trim())
  .filter((line) => line !== "");

let project: Project;
let service: Service;
let env: Record<string, string>;
let operatorToken = "";

beforeAll(async () => {
  project = projectWithPackage();
  service = await startOperatedService();
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "first" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  const operator = await signInOperator(service.baseUrl);
  operatorToken = (await operator.trpc.tokens.create.mutate({ name: "examples" })).token;
  env = {
    PATH: process.env.PATH ?? "",
    OSTIARY_API_KEY: key,
    OSTIARY_MANAGEMENT_TOKEN: token,
    OSTIARY_BASE_URL: service.baseUrl,
  };
  for (const { file, code } of EXAMPLES) writeFileSync(join(project.folder, `${file}.ts`), code);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  project?.[Symbol.dispose]();
});

describe("the examples of the package's README", () => {
  it("are type-checked as a strict project would", () => {
    mkdirSync(join(project.folder, "node_modules/@types"));
    symlinkSync(join(ROOT, "node_modules/@types/node"), join(project.folder, "node_modules/@types/node"));
    symlinkSync(join(ROOT, "node_modules/undici-types"), join(project.folder, "node_modules/undici-types"));
    const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--types", "node"];
    const files = EXAMPLES.map(({ file }) => `${file}.ts`);
    const options = { cwd: project.folder, encoding: "utf8", stdio: "pipe" } as const;
    expect(() =>
      execFileSync(join(ROOT, "node_modules/.bin/tsc"), [...strict, ...files], options),
    ).not.toThrow();
  });

  it.each(EXAMPLES)("run: $name", async ({ file, code }) => {
    const built = `${file}.mjs`;
    writeFileSync(join(project.folder, built), transformSync(code, { loader: "ts" }).code);
    const token = code.includes("OstiaryOperator") ? { OSTIARY_MANAGEMENT_TOKEN: operatorToken } : {};
    const ran = await run(process.execPath, [built], token);
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(ran.stdout + ran.stderr).not.toBe("");
    expect(ran.stdout).not.toMatch(/^false$/m);
  });

  it.each(COMMANDS)("run: %s", async (command) => {
    const [, ...words] = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, bare]) => quoted ?? bare ?? "",
    );
    const program = join(project.folder, "node_modules/ostiary/dist/cli.js");
    const ran = await run(process.execPath, [program, ...words]);
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
  });
});

function blocksOf(language: string): readonly string[] {
  return [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, code]) => code ?? "",
  );
}

function withClient(code: string): string {
  return `import Ostiary from "ostiary";\nconst client = new Ostiary();\n${code}`;
}

function firstWords(code: string): string {
  return (code.split("\n").find((line) => line !== "" && !line.startsWith("import")) ?? "").slice(0, 50);
}

async function run(
  command: string,
  args: readonly string[],
  more: Record<string, string> = {},
): Promise<Ran> {
  const child = spawn(command, args, {
    cwd: project.folder,
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}
