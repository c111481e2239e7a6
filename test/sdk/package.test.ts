import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const PACKAGE = JSON.parse(readFileSync(join(ROOT, "sdk/package.json"), "utf8"));

describe("the built and installed package", () => {
  let project = "";
  let installed = "";

  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), "ostiary-package-"));
    installed = join(project, "node_modules/ostiary");
    mkdirSync(installed, { recursive: true });
    cpSync(join(ROOT, "sdk/package.json"), join(installed, "package.json"));
    execFileSync(process.execPath, [join(ROOT, "sdk/build.mjs"), join(installed, "dist")], { cwd: ROOT });
  });

  afterAll(() => rmSync(project, { recursive: true, force: true }));

  it("has no dependencies, and imports no other package", () => {
    expect(PACKAGE.dependencies ?? {}).toEqual({});
    // tRPC's packages are needed by those only who use `ostiary/trpc`.
    // They export `TRPCBuiltRouter` since this version: with an earlier one, every procedure would be of any type.
    expect(PACKAGE.peerDependencies).toEqual({ "@trpc/client": "^11.4.0", "@trpc/server": "^11.4.0" });
    for (const name of Object.keys(PACKAGE.peerDependencies))
      expect(PACKAGE.peerDependenciesMeta[name]).toEqual({ optional: true });
    for (const name of ["index.js", "index.cjs", "operator.js", "operator.cjs"]) {
      // Examples in comments import the package itself.
      const minified = transformSync(readFileSync(join(installed, "dist", name), "utf8"), {
        minifyWhitespace: true,
      });
      // The operator's client takes the errors from the main module.
      const code = minified.code.replaceAll(
        /import ?\{[^}]*\} ?from ?"\.\/index\.js"|require\("\.\/index\.cjs"\)/g,
        "",
      );
      expect(code).not.toMatch(/\brequire\(|(^|[;}])import\b|\bfrom ?"|\bimport\(/m);
    }
  });

  it("documents everything that it exports", () => {
    const files = readdirSync(join(installed, "dist"), { recursive: true, encoding: "utf8" });
    const declarations = files.filter((name) => name.endsWith(".d.ts"));
    expect(declarations.length).toBeGreaterThan(10);
    for (const name of declarations) {
      const lines = readFileSync(join(installed, "dist", name), "utf8").split("\n");
      const bare = lines.filter(
        (line, index) =>
          /^export (declare |abstract )*(class|function|interface|type|const) (?!.* from )/.test(line) &&
          !lines[index - 1]?.trimEnd().endsWith("*/"),
      );
      expect(bare, name).toEqual([]);
    }
  });

  // 24 KB had no room for the bound of error bodies on runtimes that have only `fetch`.
  it("is at most 25 KB, minified and gzipped", () => {
    const { code } = transformSync(readFileSync(join(installed, "dist/index.js"), "utf8"), { minify: true });
    expect(gzipSync(code, { level: 9 }).length).toBeLessThan(25 * 1024);
  });

  it("is imported as an ES module and required as CommonJS, with the same exports", async () => {
    const require = createRequire(join(project, "here.cjs"));
    const required = require("ostiary");
    const path = execFileSync(
      process.execPath,
      ["--input-type=module", "-e", 'process.stdout.write(import.meta.resolve("ostiary"))'],
      { cwd: project, encoding: "utf8" },
    );
    expect(path).toBe(pathToFileURL(join(installed, "dist/index.js")).href);
    const imported = await import(/* @vite-ignore */ path);
    expect(Object.keys(imported).sort()).toEqual(Object.keys(required).sort());
    for (const { Ostiary, default: byDefault, NotFoundError } of [imported, required]) {
      expect(byDefault).toBe(Ostiary);
      const fetch = async () => new Response("{}", { status: 404 });
      const client = new Ostiary({ apiKey: "sk-test", fetch });
      await expect(client.models.retrieve("m")).rejects.toBeInstanceOf(NotFoundError);
    }
  });

  it("can be imported where there are no web standards, as in tests with jsdom", () => {
    const load = (name: string): Record<string, unknown> => {
      const module = { exports: {} };
      const require = (path: string) => load(path.replace("./", ""));
      runInNewContext(readFileSync(join(installed, "dist", name), "utf8"), {
        module,
        exports: module.exports,
        require,
      });
      return module.exports;
    };
    expect(load("index.cjs")).toHaveProperty("Ostiary");
    expect(load("operator.cjs")).toHaveProperty("OstiaryOperator");
  });

  it("throws the same errors from all its entries, so that `instanceof` finds them", async () => {
    const program = `
      const fetch = async () => new Response("{}", { status: 404 });
      const operator = new OstiaryOperator({ managementToken: "mt-test", fetch });
      operator.accounts.get("id").catch((error) => {
        const unverifiable = verifyActionsExport(["no action"]);
        return unverifiable.catch((other) => console.log(
          error instanceof NotFoundError,
          error instanceof OstiaryError,
          other instanceof UnverifiableExportError,
        ));
      });`;
    const names = {
      ostiary: "NotFoundError, OstiaryError, UnverifiableExportError",
      "ostiary/operator": "OstiaryOperator, verifyActionsExport",
    };
    const written = (write: (name: string, from: string) => string) =>
      Object.entries(names).map(([from, name]) => write(`{ ${name} }`, from));
    const imports = written((name, from) => `import ${name} from "${from}";`);
    const requires = written((name, from) => `const ${name} = require("${from}");`);
    for (const [type, lines] of [
      ["module", imports],
      ["commonjs", requires],
    ] as const) {
      const code = `${lines.join("\n")}\n${program}`;
      const args = [`--input-type=${type}`, "--eval", code];
      const printed = execFileSync(process.execPath, args, { cwd: project, encoding: "utf8" });
      expect(printed).toBe("true true true\n");
    }
  });

  it("exports its classes and nothing internal", async () => {
    const { default: _, ...exported } = await import(pathToFileURL(join(installed, "dist/index.js")).href);
    expect(Object.keys(exported).toSorted()).toEqual([
      "APIConnectionError",
      "APIConnectionTimeoutError",
      "APIError",
      "APIUserAbortError",
      "AuthenticationError",
      "BadRequestError",
      "ConflictError",
      "ContentTooLargeError",
      "InternalServerError",
      "NotFoundError",
      "Ostiary",
      "OstiaryError",
      "OutputValidationError",
      "PaymentRequiredError",
      "PermissionDeniedError",
      "RateLimitError",
      "StreamInterruptedError",
      "UnprocessableEntityError",
      "UnverifiableExportError",
      "VERSION",
      "tool",
      "verifyActionsExport",
      "verifyAuditExport",
    ]);
    expect(exported.VERSION).toBe(PACKAGE.version);
    const classes = Object.entries(exported as Record<string, { readonly name: string }>).filter(([name]) =>
      /^[A-Z]\w*[a-z]$/.test(name),
    );
    // A bundler renames a class that names itself, and programs print its name.
    for (const [name, value] of classes) expect(value).toHaveProperty("name", name);
  });

  it("has type declarations for both, without other packages", () => {
    const declarations = readdirSync(join(installed, "dist"), { recursive: true, encoding: "utf8" });
    for (const name of declarations.filter((file) => /\.d\.c?ts$/.test(file))) {
      expect(readFileSync(join(installed, "dist", name), "utf8")).not.toMatch(/["']\.[^"']*(?<!\.d)\.ts["']/);
    }
    writeFileSync(
      join(project, "use.mts"),
      `import Ostiary, { type ChatCompletion, type ChatCompletionStream, PermissionDeniedError } from "ostiary";
       const client = new Ostiary({ apiKey: undefined });
       export const whole: Promise<ChatCompletion> = client.chat.completions.create({ model: "m", messages: [] });
       export const streamed: Promise<ChatCompletionStream> =
         client.chat.completions.create({ model: "m", messages: [], stream: true });
       // @ts-expect-error no such role
       client.chat.completions.create({ model: "m", messages: [{ role: "robot", content: "" }] });
       export const why = (error: unknown) => error instanceof PermissionDeniedError && error.reason === "ip_blocked";
       export async function keyIds(): Promise<string[]> {
         const ids: string[] = [];
         for await (const { key_id } of client.audit.list({ limit: 10 })) ids.push(key_id);
         return ids;
       }`,
    );
    writeFileSync(
      join(project, "use.cts"),
      `import ostiary = require("ostiary");
       export const client: ostiary.Ostiary = new ostiary.Ostiary();
       export const model = (): Promise<ostiary.Model> => client.models.retrieve("m");`,
    );
    const compilerOptions = {
      module: "NodeNext",
      target: "ES2022",
      lib: ["ES2023", "DOM"],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["use.mts", "use.cts"] }),
    );
    execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", project], { encoding: "utf8" });
  });
});
