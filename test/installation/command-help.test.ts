import { readFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { runServerCommand } from "../../server/src/commands/run.ts";
import { ROOT } from "../fixtures/service.ts";

/** What a command prints. */
async function printed(...args: string[]): Promise<{ readonly out: string; readonly error: string }> {
  let out = "";
  let error = "";
  await runServerCommand({
    arguments: args,
    environment: {},
    migrations: pathToFileURL(`${ROOT}/server/src/database/migrations/`),
    manifest: pathToFileURL(`${ROOT}/server/package.json`),
    start: () => Promise.reject(new Error("the service was started")),
    write: (text) => {
      out += text;
    },
    writeError: (text) => {
      error += text;
    },
  });
  return { out, error };
}

/** The commands that a help lists, without `help` itself. */
function commandsIn(help: string): string[] {
  const [, list = ""] = help.split("\nCommands:\n");
  const [commands = ""] = list.split("\n\n");
  return [...commands.matchAll(/^ {2}([a-z][a-z-]*)/gm)].flatMap(([, name = ""]) =>
    name === "help" ? [] : [name],
  );
}

/** The help of a command and of all commands below it, by their paths. */
async function helpsOf(path: readonly string[]): Promise<[path: readonly string[], help: string][]> {
  const { out, error } = await printed(...path, "--help");
  expect(error, path.join(" ")).toBe("");
  const below = await Promise.all(commandsIn(out).map((name) => helpsOf([...path, name])));
  return [[path, out], ...below.flat()];
}

describe("the help of every command of ostiary-server", async () => {
  const helps = await helpsOf([]);

  it("is found", () => {
    const paths = helps.map(([path]) => path.join(" "));
    expect(paths).toContain("backup-check");
    expect(paths).toContain("operator accounts set-ip-rules");
    expect(paths.length).toBeGreaterThan(25);
  });

  it.each(helps)("%j names the command as it is typed, and says what it does", async (path, help) => {
    const [usage = "", ...lines] = help.split("\n");
    expect(`${usage} `).toMatch(new RegExp(`^${["Usage: ostiary-server", ...path].join(" ")} `));
    const description = lines.find((line) => line !== "");
    expect(description).toMatch(/^[A-Za-z].{10,}/);
    expect(description).not.toMatch(/^(?:Options|Arguments|Commands):$/);
    // The other ways to ask for it: `help` may stand before any part of the path.
    for (const at of path.keys()) {
      const asked = [...path.slice(0, at), "help", ...path.slice(at)];
      expect(await printed(...asked), asked.join(" ")).toEqual({ out: help, error: "" });
    }
  });

  it("is refused for a command that does not exist, by the part of its path that is wrong", async () => {
    const { out, error } = await printed("help", "operator", "audit", "exports");
    expect(out).toBe("");
    expect(error).toBe("error: unknown command 'exports'\n");
    expect(process.exitCode).toBe(2);
    process.exitCode = undefined;
  });

  it("is in the reference", () => {
    const reference = readFileSync(`${ROOT}/docs/reference/command-line.md`, "utf8");
    const leaves = helps.filter(([, help]) => commandsIn(help).length === 0).map(([path]) => path);
    const missing = leaves.filter(([first = "", ...rest]) => {
      const name = first === "operator" ? rest.join(" ") : [first, ...rest].join(" ");
      return !new RegExp(`\`${name}(?: [^\`]*)?\``).test(reference);
    });
    expect(missing).toEqual([]);
  });
});
