import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const SOURCES = resolve(import.meta.dirname, "../server/src");

/** The layers, outermost first. A folder may import from its own layer's folders listed with it and from any below. */
const DOMAIN = [
  "access",
  "accounts",
  "admission",
  "audit",
  "catalog",
  "credits",
  "gateway",
  "idempotency",
  "keys",
  "security",
];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  serve: ["edge", "errors"],
  edge: [...DOMAIN, "errors", "secrets", "upstream"],
  rpc: [...DOMAIN, "errors", "secrets"],
  // A client of its own server, by the SDK.
  cli: ["accounts"],
  dashboard: ["edge/content-coding.ts"],
  config: ["access"],
  tracing: ["audit"],
  metrics: ["access", "audit", "credits", "errors"],
  start: [
    ...DOMAIN,
    "config",
    "edge",
    "errors",
    "metrics",
    "secrets",
    "serve",
    "store",
    "tracing",
    "upstream",
  ],
  // Implementations of interfaces that belong to the domain.
  store: [...DOMAIN, "errors"],
  upstream: ["catalog", "errors", "gateway"],
  ...Object.fromEntries(
    DOMAIN.map((folder) => [folder, [...DOMAIN, "errors", "secrets", "upstream/transport.ts"]]),
  ),
  errors: ["secrets"],
  secrets: [],
};

/** What only the rim may know. */
const FRAMEWORKS = ["hono", "@hono/node-server", "@trpc/server", "postgres", "ioredis", "undici"];
const FRAMEWORK_HOMES = ["serve", "rpc", "store", "admission/redis-store.ts", "upstream/http", "app.ts"];

interface Import {
  readonly from: string;
  readonly to: string;
}

function importsBelow(folder: string): Import[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      const found = text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g);
      return [...found].map(([, target = ""]) => ({ from: name, to: target }));
    });
}

const imports = importsBelow(SOURCES);

describe("the way through the house", () => {
  it("is one-way", () => {
    const wrong = imports.flatMap(({ from, to }) => {
      if (!to.startsWith(".")) return [];
      const target = relative(SOURCES, resolve(SOURCES, dirname(from), to));
      const [room = "", targetRoom = ""] = [from.split("/")[0], target.split("/")[0]];
      // What stands beside the folders composes them; the contract is shared with the SDK.
      if (!from.includes("/") || target.startsWith("../../sdk/src/contract/") || room === targetRoom)
        return [];
      if (room === "cli" && target.startsWith("../../sdk/src/")) return [];
      const allowed = MAY_IMPORT[room]?.some((place) => place === targetRoom || place === target) ?? false;
      return allowed ? [] : [`${from} → ${target}`];
    });
    expect(imports.length).toBeGreaterThan(100);
    expect(wrong).toEqual([]);
  });

  it("keeps frameworks, SQL and Redis at the rim", () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        FRAMEWORKS.some((name) => to === name || to.startsWith(`${name}/`)) &&
        !FRAMEWORK_HOMES.some((home) => from.startsWith(home)),
    );
    expect(wrong).toEqual([]);
  });

  it("asks the environment in its entry points only", () => {
    const asking = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && name !== "main.ts" && name !== "operator.ts")
      .filter((name) => /process\.env|Deno\.env/.test(readFileSync(join(SOURCES, name), "utf8")));
    expect(asking).toEqual([]);
  });
});
