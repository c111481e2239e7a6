import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Project, projectWithPackage } from "../fixtures/package.ts";
import { type Ran, runProcess } from "../fixtures/run-process.ts";
import * as runtimes from "../fixtures/runtimes.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { environmentOfOwner } from "./managed-service.ts";

const CLOCK = new URL("../fixtures/shifted-clock.mjs", import.meta.url).href;
const FOLDER = join(ROOT, "sdk/examples");
const EXAMPLES = readdirSync(FOLDER).filter((name) => name.endsWith(".ts"));
/** What examples import beside the package and tRPC. */
const PACKAGES = [
  "@tanstack/query-core",
  "@tanstack/react-query",
  "@types/node",
  "hono",
  "react",
  "undici-types",
  "zod",
];

interface Runtime {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Node 20 reads JavaScript only. */
  readonly extension: "mjs" | "ts";
}

const NODE: Runtime = { name: "Node", command: process.execPath, args: [], extension: "mjs" };
const DENO: Runtime = {
  name: "Deno",
  command: runtimes.DENO,
  args: ["run", "--node-modules-dir=manual", "--no-check", "--allow-net", "--allow-env", "--allow-read"],
  extension: "ts",
};
const BUN: Runtime = {
  name: "Bun",
  command: runtimes.BUN,
  args: ["run"],
  extension: "ts",
};

let project: Project;
let service: Service;
let env: Record<string, string>;

beforeAll(async () => {
  project = projectWithPackage();
  for (const scope of ["@tanstack", "@types"]) mkdirSync(join(project.folder, "node_modules", scope));
  for (const name of PACKAGES) {
    symlinkSync(join(ROOT, "node_modules", name), join(project.folder, "node_modules", name));
  }
  // A copy, since a link would lead it to the other copy of tRPC's client, with other types.
  const bindings = "node_modules/@trpc/tanstack-react-query";
  cpSync(join(ROOT, bindings), join(project.folder, bindings), { recursive: true });
  for (const name of EXAMPLES) {
    const code = readFileSync(join(FOLDER, name), "utf8");
    writeFileSync(join(project.folder, name), code);
    const built = transformSync(code, { loader: "ts", target: "node20" }).code;
    writeFileSync(join(project.folder, name.replace(/ts$/, "mjs")), built);
  }
  service = await startService();
  env = await environmentOfOwner(service, project.folder);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  project?.[Symbol.dispose]();
});

async function run(
  name: string,
  args: readonly string[] = [],
  runtime = NODE,
  more: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const file = `${name}.${runtime.extension}`;
  return runProcess(runtime.command, [...runtime.args, file, ...args], {
    cwd: project.folder,
    env: { ...env, ...more },
  });
}

/** What an example prints. It must succeed. */
async function outputOf(name: string, args: readonly string[] = [], runtime = NODE): Promise<string> {
  const ran = await run(name, args, runtime);
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  return ran.stdout;
}

describe("the examples", () => {
  it("are type-checked as in a strict project", () => {
    const strict = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
    const kind = ["--module", "nodenext", "--target", "es2023", "--types", "node", "--skipLibCheck"];
    const lib = ["--lib", "es2023,dom,dom.iterable,dom.asynciterable,esnext.disposable"];
    const { status, stdout } = spawnSync(
      join(ROOT, "node_modules/.bin/tsc"),
      [...strict, ...kind, ...lib, ...EXAMPLES],
      { cwd: project.folder, encoding: "utf8" },
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  it("are all listed in their README, and all run by this file", () => {
    const listed = [...readFileSync(join(FOLDER, "README.md"), "utf8").matchAll(/^\| \[(\S+)\]\(\1\)/gm)];
    expect(listed.map(([, name]) => name).toSorted()).toEqual(EXAMPLES.toSorted());
    const tests = readFileSync(import.meta.filename, "utf8");
    for (const name of EXAMPLES) expect(tests).toContain(`"${name.replace(/\.ts$/, "")}"`);
  });
});

describe.each([NODE, DENO, BUN])("under $name", (runtime) => {
  it("chat answers both questions, with tokens and a request id", async () => {
    const lines = (await outputOf("chat", [], runtime)).trimEnd().split("\n");
    expect(lines).toEqual([
      "What is an ostiary?",
      expect.stringMatching(/^tokens: \d+ request: \S+$/),
      "Who was the first?",
      expect.stringMatching(/^tokens: \d+ request: \S+$/),
    ]);
  });

  it("stream shows the same answer by chunks and by events", async () => {
    const [chunks = "", events = "", last = ""] = (await outputOf("stream", [], runtime)).split("\n");
    expect(chunks.length).toBeGreaterThan(100);
    expect(events).toBe(chunks);
    expect(last).toMatch(/^finished by: \w+ tokens: 64$/);
  });

  it("tools answers with the result of the function", async () => {
    const output = await outputOf("tools", [], runtime);
    expect(output).toMatch(/^result: \{"city":".*","unit":"(celsius|fahrenheit)","temperature":(21|70)\}$/m);
    expect(output).toMatch(/^answer: .*temperature/m);
    expect(output).toMatch(/^messages: 4 tokens: [1-9]/m);
  });
});

describe("under Node", () => {
  it("structured-output has the fields of its schema", async () => {
    expect(await outputOf("structured-output")).toMatch(/^title: .* minutes: \d+ ingredients: \d+$/m);
  });

  it("embeddings finds the text that is closest to the question", async () => {
    expect(await outputOf("embeddings")).toBe("closest: Keys are rotated without downtime.\n");
  });

  it("errors explains each error, and shows which requests are retried", async () => {
    const lines = (await outputOf("errors")).trimEnd().split("\n");
    expect(lines).toEqual([
      "attempt 0 was answered with 200",
      "Hello!",
      "attempt 0 was answered with 503",
      "attempt 1 was answered with 503",
      expect.stringMatching(/^The service answered 503 \w+ \(request \S+\)\.$/),
      "attempt 0 was answered with 402",
      "The account has no credit left.",
      "attempt 0 was answered with 401",
      "The key is not valid: invalid_api_key.",
    ]);
  });

  it("export-audit-log writes every entry to a file that is verified", async () => {
    const output = await outputOf("export-audit-log", ["log.ndjson"]);
    const entries = readFileSync(join(project.folder, "log.ndjson"), "utf8").trimEnd().split("\n");
    expect(entries.length).toBeGreaterThan(1);
    for (const line of entries) expect(JSON.parse(line)).toHaveProperty("key_id");
    expect(output).toContain(`entries: ${entries.length}\n`);
    expect(output).toContain("complete and unmodified: true []\n");
    expect(output).toMatch(/^head: \d+:[0-9a-f]{64}$/m);
  });

  it("rotate-key prints a successor, keeps a key that may be in use, and revokes one that is idle", async () => {
    await using today = await startService();
    const { trpc, key: old } = await signUpWithKey(today.baseUrl);
    const { token } = await trpc.tokens.create.mutate({ name: "scripts" });
    const rotateKey = (on: Service, ...args: string[]) =>
      run("rotate-key", args, NODE, { OSTIARY_BASE_URL: on.baseUrl, OSTIARY_MANAGEMENT_TOKEN: token });
    const statusOf = async (on: Service, key: string) =>
      (await fetch(`${on.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;

    const successor = (await rotateKey(today, "start", "test")).stdout.trim();
    expect([await statusOf(today, old), await statusOf(today, successor)]).toEqual([200, 200]);
    expect((await rotateKey(today, "finish")).stdout).toBe("test is still in use\n");
    expect(await statusOf(today, old)).toBe(200);
    expect((await rotateKey(today, "begin")).code).toBe(2);
    await today.stop();

    await using tomorrow = await startService({
      dataDir: today.dataDir,
      ...(today.databaseUrl === undefined ? {} : { databaseUrl: today.databaseUrl }),
      env: { NODE_OPTIONS: `--import=${CLOCK}`, TEST_CLOCK_AHEAD_MS: String(24 * 60 * 60_000) },
    });
    expect((await rotateKey(tomorrow, "finish")).stdout).toBe("test is revoked\n");
    expect([await statusOf(tomorrow, old), await statusOf(tomorrow, successor)]).toEqual([401, 200]);
  });

  it("trpc lists the keys of the account, and shows the client's error behind tRPC's", async () => {
    const output = await outputOf("trpc");
    expect(output).toMatch(/^plan: free keys: .*first \(active\)/m);
    expect(output).toMatch(/^refused: 404 NotFoundError true$/m);
  });

  it("tanstack-query sees the key that its mutation creates", async () => {
    const lines = (await outputOf("tanstack-query")).trimEnd().split("\n");
    const counts = lines.flatMap((line) => /^keys: success (\d+)$/.exec(line)?.[1] ?? []).map(Number);
    expect(counts.at(-1)).toBe((counts[0] ?? Number.NaN) + 1);
    expect(lines).toEqual(expect.arrayContaining(["created: by a form", "revoked: by a form"]));
  });

  it("hono passes a stream on as lines of JSON, and an error as its message", async () => {
    const output = await outputOf(
      caller("hono", "default.fetch", { messages: [{ role: "user", content: "one two" }] }),
    );
    const [status, type, ...lines] = output.trimEnd().split("\n");
    expect([status, type]).toEqual(["200", "application/x-ndjson"]);
    const texts = lines.map((line) => JSON.parse(line).choices[0]?.delta.content ?? "");
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.join("")).toBe("one two");
    const limited = { messages: [{ role: "user", content: "sandbox:error 402" }] };
    expect(await outputOf(caller("hono", "default.fetch", limited))).toMatch(
      /^502\napplication\/json\n\{"message":/,
    );
  });

  it("route-handler passes the text of an answer on, and refuses other questions", async () => {
    const asked = await outputOf(caller("route-handler", "POST", { question: "one two" }));
    expect(asked).toBe("200\ntext/plain; charset=utf-8\none two");
    expect(await outputOf(caller("route-handler", "POST", {}))).toMatch(/^400\napplication\/json\n/);
  });
});

/** Writes a program that calls an example's handler as a server does, and prints status, type and body. @returns its name. */
function caller(example: string, handler: string, body: unknown): string {
  const url = pathToFileURL(join(project.folder, `${example}.mjs`)).href;
  writeFileSync(
    join(project.folder, "caller.mjs"),
    `import * as example from ${JSON.stringify(url)};
     const init = { method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(JSON.stringify(body))} };
     const answer = await example.${handler}(new Request("http://localhost/chat", init));
     console.log(answer.status);
     console.log(answer.headers.get("content-type"));
     process.stdout.write(await answer.text());`,
  );
  return "caller";
}
