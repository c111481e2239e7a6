import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../sdk/src/contract/error-codes.ts";
import { runOperatorCommand } from "../fixtures/command.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { DOCUMENTS, readDocument } from "./snippets.ts";

/** Means the same for every Node program. */
const COMMON_SETTINGS = ["NODE_ENV"];
/** The cells of a table's rows whose first cell begins with code. */
const rowsOf = (path: string): readonly (readonly string[])[] =>
  [...readDocument(path).matchAll(/^\| (`.*) \|$/gm)].map(([, row = ""]) =>
    row.split(/(?<!\\)\|/).map((cell) => cell.trim()),
  );
const codesIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

describe("docs/reference/configuration.md", () => {
  const settings = [
    ...readFileSync(join(ROOT, "server/src/config/settings.ts"), "utf8").matchAll(/^ {2}([A-Z][A-Z_]+): /gm),
  ].map(([, name = ""]) => name);

  it("describes every setting and nothing else", () => {
    const documented = rowsOf("docs/reference/configuration.md").flatMap(([name]) => codesIn(name));
    expect(settings.length).toBeGreaterThan(20);
    expect(documented.toSorted()).toEqual(
      settings.filter((name) => !COMMON_SETTINGS.includes(name)).toSorted(),
    );
  });

  it("shows the built-in plans, which a service accepts as they are", async () => {
    const [, json = ""] = /```json\n(.*?)```/s.exec(readDocument("docs/reference/configuration.md")) ?? [];
    await using service = await startService({ env: { OSTIARY_PLANS: json } });
    expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
  });
});

describe("docs/reference/errors.md", () => {
  it("describes every code with its status and type", () => {
    const documented = rowsOf("docs/reference/errors.md").map(([code, status, type]) => [
      ...codesIn(code),
      Number(status),
      ...codesIn(type),
    ]);
    const table = Object.entries(ERROR_CODES).map(([code, { status, type }]) => [code, status, type]);
    expect(documented.toSorted()).toEqual(table.toSorted());
  });
});

describe("docs/reference/metrics.md", () => {
  let service: Service;
  let text: string;
  beforeAll(async () => {
    service = await startService();
    text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
  });
  const documented = rowsOf("docs/reference/metrics.md").map(([name, type]) => [...codesIn(name), type]);

  it("describes every metric that /metrics prints, with its type", () => {
    const printed = [...text.matchAll(/^# TYPE (ostiary_\S+) (\w+)$/gm)].map(([, name, type]) => [
      name,
      type,
    ]);
    expect(printed.toSorted()).toEqual(documented.toSorted());
  });

  it("has every metric that other documents name", () => {
    const names = new Set(documented.map(([name]) => name));
    const unknown = DOCUMENTS.filter((path) => path.startsWith("docs/")).flatMap((path) =>
      [...readDocument(path).matchAll(/\bostiary_[a-z_]+[a-z]\b/g)]
        .map(([name]) => name)
        .filter((name) => !names.has(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe("docs/explanation/architecture.md", () => {
  it("lists the steps of a request in the order of the code", () => {
    const source = readFileSync(join(ROOT, "server/src/request/handle-request.ts"), "utf8");
    const bodyOf = (name: string) =>
      new RegExp(`^(?:export )?async function ${name}(.*?)^}$`, "ms").exec(source)?.[1] ?? "";
    // `replyTo` ends with `runModel`, and `handleRequest` sends what they return.
    const body = bodyOf("replyTo") + bodyOf("runModel") + bodyOf("handleRequest");
    const steps = rowsOf("docs/explanation/architecture.md").flatMap(([step]) => codesIn(step));
    expect(steps.slice(0, 17).at(-1)).toBe("respond");
    // Some operations have no `loadStored`.
    const calls = body.replaceAll("?.(", "(");
    const places = steps.slice(0, 17).map((step) => calls.lastIndexOf(`${step}(`));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });
});

describe("docs/reference/command-line.md", () => {
  const rows = rowsOf("docs/reference/command-line.md")
    .flatMap(([command]) => codesIn(command))
    .filter((command) => !/^OSTIARY_|^\d/.test(command))
    .map((command) => command.replace(/ [<[-].*/, "").replace(/ …$/, ""));
  // Those of the server come first.
  const operators = rows.indexOf("operator") + 1;
  const documented = rows.slice(operators);

  it("describes every command of the server", () => {
    const help = execFileSync(process.execPath, ["server/dist/ostiary-server.js", "--help"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    const [, commands = ""] = help.split("Commands:");
    const existing = [...commands.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);
    expect(rows.slice(0, operators).toSorted()).toEqual(
      existing.filter((name) => name !== "help").toSorted(),
    );
  });

  it("describes every command that exists", async () => {
    const groups = new Set(documented.map((command) => command.split(" ")[0] ?? ""));
    const existing: string[] = [];
    for (const name of await subcommandsOf([])) {
      const below = await subcommandsOf([name]);
      existing.push(...(below.length === 0 ? [name] : below.map((command) => `${name} ${command}`)));
    }
    expect(documented.toSorted()).toEqual(existing.toSorted());
    expect(groups.size).toBeGreaterThan(5);
  });

  it("and the help of the operator's command line have the same variables", async () => {
    const { stdout } = await runOperatorCommand(["--help"], {});
    const [, text = ""] = readDocument("docs/reference/command-line.md").split("\n## Operators\n");
    const namesIn = (part: string) => [...new Set(part.match(/\bOSTIARY_[A-Z_]+/g))].toSorted();
    expect(namesIn(stdout)).toEqual(namesIn(text));
    expect(namesIn(stdout)).toContain("OSTIARY_MANAGEMENT_TOKEN_FILE");
  });
});

/** What the help of a command lists. */
async function subcommandsOf(words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runOperatorCommand([...words, "--help"], {});
  const [, list = ""] = /^Commands:\n(.*?)\n\n|^Commands:\n(.*)$/ms.exec(`${stdout}\n\n`) ?? [];
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "help");
}
