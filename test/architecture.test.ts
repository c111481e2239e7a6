import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { runModule } from "./fixtures/run-code.ts";
import { ROOT } from "./fixtures/service.ts";

const SOURCES = resolve(import.meta.dirname, "../server/src");

const CONTRIBUTING = readFileSync(resolve(import.meta.dirname, "../CONTRIBUTING.md"), "utf8");

/** The folders of `server/src`, outermost first, as CONTRIBUTING.md lists them. */
const ORDER = [
  ...(CONTRIBUTING.split("### Folder order")[1]?.split("\n## ")[0] ?? "").matchAll(/^\| `([a-z]+)` /gm),
].map(([, folder = ""]) => folder);

/** The programs of the server. */
const ENTRIES = ["main.ts", "service.ts", "operator.ts", "ostiary-server.ts"];

/** The places that may import a framework or driver. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  hono: ["http/app.ts"],
  "@hono/node-server": ["http/node.ts"],
  "@trpc/server": ["management/"],
  postgres: ["database/"],
  ioredis: ["admission/redis-", "accounts/redis-"],
  undici: ["upstream/http/"],
};

interface Import {
  readonly from: string;
  readonly to: string;
}

function importsOf(from: string, text: string): Import[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, to = ""]) => ({ from, to }));
}

const imports = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap((name) => importsOf(name, readFileSync(join(SOURCES, name), "utf8")));

/** Imports, type-only ones included, that do not point to a folder below. */
function importsAgainst(order: readonly string[], all: readonly Import[]): string[] {
  return all.flatMap(({ from, to }) => {
    // The entry points compose the folders.
    if (!to.startsWith(".") || !from.includes("/")) return [];
    const target = relative(SOURCES, resolve(SOURCES, dirname(from), to));
    const [folder = "", targetFolder = ""] = [from.split("/")[0], target.split("/")[0]];
    if (folder === targetFolder) return [];
    // The command line is a client of the SDK; everything else shares the contract with it.
    const shared = folder === "cli" ? "../../sdk/src/" : "../../sdk/src/contract/";
    if (target.startsWith(shared)) return [];
    const isBelow = order.indexOf(targetFolder) > order.indexOf(folder) && order.includes(folder);
    return isBelow ? [] : [`${from} → ${target}`];
  });
}

describe("the folders of server/src", () => {
  it("are all in the order of CONTRIBUTING.md", () => {
    const folders = readdirSync(SOURCES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).toSorted()).toEqual(ORDER.toSorted());
  });

  it("import only from folders below them", () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(importsAgainst(ORDER, imports)).toEqual([]);
  });

  it("may not import the other way, not even a type or a neighbour's file", () => {
    const turned = [
      ...importsOf("accounts/plan.ts", 'import type { Credits } from "../credits/credits.ts";'),
      ...importsOf("upstream/openai/usage.ts", 'import { Gateway } from "../../gateway/gateway.ts";'),
      ...importsOf("errors/failure.ts", 'const { Keys } = await import("../keys/keys.ts");'),
      ...importsOf("keys/keys.ts", 'import { Failure } from "../errors/failure.ts";'),
    ];
    expect(importsAgainst(ORDER, turned)).toEqual([
      "accounts/plan.ts → credits/credits.ts",
      "upstream/openai/usage.ts → gateway/gateway.ts",
      "errors/failure.ts → keys/keys.ts",
    ]);
  });

  it("import frameworks and drivers only in their homes", () => {
    const wrong = imports.filter(({ from, to }) => {
      const framework = Object.keys(HOMES).find((name) => to === name || to.startsWith(`${name}/`));
      return framework !== undefined && !HOMES[framework]?.some((home) => from.startsWith(home));
    });
    expect(wrong).toEqual([]);
  });

  it("read the environment only in entry points", () => {
    const asking = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !ENTRIES.includes(name))
      .filter((name) => /process\.env|Deno\.env/.test(readFileSync(join(SOURCES, name), "utf8")));
    expect(asking).toEqual([]);
  });
});

it("every file of tests is where the configuration of Vitest looks for it", () => {
  const files = execFileSync("git", ["ls-files", "--", "*.test.ts"], { cwd: ROOT, encoding: "utf8" })
    .trim()
    .split("\n");
  expect(files.filter((file) => !/^test\/(?:[^/]+\/)?[^/]+\.test\.ts$/.test(file))).toEqual([]);
});

// A run of the tests lists these folders while another one, beside it, runs code of documents and of the dashboard.
it("code that tests run is in no folder where tests are looked for", async () => {
  const { stdout } = await runModule("console.log(import.meta.dirname)", {});
  expect(relative(import.meta.dirname, stdout.trim())).toMatch(/^node_modules\//);
});
