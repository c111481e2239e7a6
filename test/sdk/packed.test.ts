import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Project, projectWithPackage } from "../fixtures/package.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";

let project: Project;
let service: Service;
let env: Record<string, string>;

beforeAll(async () => {
  project = projectWithPackage();
  copyFileSync(join(ROOT, "test/sdk/scenario.mjs"), join(project.folder, "scenario.mjs"));
  service = await startService();
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "first" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  env = {
    PATH: process.env.PATH ?? "",
    HOME: project.folder,
    OSTIARY_API_KEY: key,
    OSTIARY_MANAGEMENT_TOKEN: token,
    OSTIARY_BASE_URL: service.baseUrl,
  };
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  project?.[Symbol.dispose]();
});

describe("the packed and installed package", () => {
  it.each([
    ["Node", process.execPath, []],
    [
      "Deno",
      join(ROOT, "node_modules/.bin/deno"),
      ["run", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read"],
    ],
    ["Bun", join(ROOT, "node_modules/.bin/bun"), ["run"]],
  ])("works under %s with a service", async (_, command, args) => {
    const child = spawn(command, [...args, "scenario.mjs"], { cwd: project.folder, env });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (text) => {
      stdout += text;
    });
    child.stderr.on("data", (text) => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      whole: "one two three",
      streamed: "one two three",
      final: "one two three",
      teed: true,
      parsed: "string",
      tools: "The tool answered: sunny in a string",
      withOptions: 3,
      embedding: 256,
      models: 3,
      missing: 404,
      stranger: "invalid_api_key",
      createdAt: true,
      rotated: true,
      revoked: "revoked_api_key",
      plan: "free",
      usage: "bigint",
      aborted: "APIUserAbortError",
      response: true,
      audit: true,
      balance: "bigint",
      operator: "permission_denied",
      exported: true,
      verified: true,
    });
  });

  it("works with nothing but web standards, as in a worker", async () => {
    const standards = {
      AbortController,
      AbortSignal,
      DOMException,
      Event,
      EventTarget,
      Headers,
      ReadableStream,
    };
    const more = { Request, Response, TextDecoder, TextEncoder, TransformStream, URL, URLSearchParams };
    const timers = { setTimeout, clearTimeout, queueMicrotask, console, crypto };
    const worker = createContext({
      ...standards,
      ...more,
      ...timers,
      fetch,
      exports: {},
      module: { exports: {} },
    });
    const bundle = readFileSync(join(project.folder, "node_modules/ostiary/dist/index.cjs"), "utf8");
    runInContext(bundle, worker);
    const answered = await runInContext(
      `(async () => {
        const { Ostiary } = module.exports;
        const client = new Ostiary(${JSON.stringify({ apiKey: env.OSTIARY_API_KEY, baseURL: env.OSTIARY_BASE_URL })});
        const body = { model: "sandbox/echo", messages: [{ role: "user", content: "one two" }] };
        let streamed = "";
        for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
          streamed += chunk.choices[0]?.delta.content ?? "";
        const refused = await client.models.retrieve("no/such").catch((error) => error.name);
        return [streamed, refused].join("; ");
      })()`,
      worker,
    );
    expect(answered).toBe("one two; NotFoundError");
  });
});
