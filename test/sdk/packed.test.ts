import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Project, projectWithPackage } from "../fixtures/package.ts";
import { runProcess } from "../fixtures/run-process.ts";
import { BUN, DENO } from "../fixtures/runtimes.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { environmentOfOwner } from "./managed-service.ts";

let project: Project;
let service: Service;
let env: Record<string, string>;

beforeAll(async () => {
  project = projectWithPackage();
  copyFileSync(join(ROOT, "test/sdk/scenario.mjs"), join(project.folder, "scenario.mjs"));
  service = await startService();
  env = await environmentOfOwner(service, project.folder);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  project?.[Symbol.dispose]();
});

describe("the packed and installed package", () => {
  it.each([
    ["Node", process.execPath, []],
    ["Deno", DENO, ["run", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read"]],
    ["Bun", BUN, ["run"]],
  ])("works under %s with a service", async (_, command, args) => {
    const options = { cwd: project.folder, env };
    const { code, stdout, stderr } = await runProcess(command, [...args, "scenario.mjs"], options);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      whole: "one two three",
      streamed: "one two three",
      final: "one two three",
      teed: true,
      parsed: "string",
      tools: "The tool answered: sunny in a string",
      withOptions: 4,
      embedding: 256,
      models: 4,
      missing: 404,
      stranger: "invalid_api_key",
      createdAt: true,
      rotated: true,
      revoked: "revoked_api_key",
      plan: "free",
      usage: "string",
      aborted: "APIUserAbortError",
      response: true,
      audit: true,
      balance: "string",
      operator: "permission_denied",
      exported: true,
      verified: true,
    });
  });

  it("lets another project call procedures with tRPC's own client, typed by the router", async () => {
    const program = `
      import { createTRPCClient } from "@trpc/client";
      import { type AppRouter, ostiaryLink, type RouterInputs, type RouterOutputs } from "ostiary/trpc";

      const trpc = createTRPCClient<AppRouter>({ links: [ostiaryLink()] });
      const input: RouterInputs["keys"]["create"] = { name: "from outside" };
      const created: RouterOutputs["keys"]["create"] = await trpc.keys.create.mutate(input);
      const [account, listed] = await Promise.all([trpc.account.get.query(), trpc.keys.list.query({ limit: 5 })]);
      const createdAt: Date = created.createdAt;
      const plan: "free" | "pro" | "enterprise" = account.plan;
      export const unknown = () => [
        // @ts-expect-error: there is no such procedure.
        trpc.keys.drop.mutate(),
        // @ts-expect-error: a name is a string.
        trpc.keys.create.mutate({ name: 1 }),
        // @ts-expect-error: listing keys changes nothing.
        trpc.keys.list.mutate(),
      ];
      console.log(JSON.stringify([createdAt instanceof Date, plan, listed.keys.some(({ id }) => id === created.id)]));
    `;
    writeFileSync(join(project.folder, "outside.ts"), program);
    const compilerOptions = {
      module: "NodeNext",
      target: "ES2022",
      lib: ["ES2023", "DOM", "DOM.Iterable", "ESNext.Disposable"],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      outDir: "out",
    };
    writeFileSync(
      join(project.folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["outside.ts"] }),
    );
    execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", project.folder], { encoding: "utf8" });
    const { stdout } = await promisify(execFile)(process.execPath, ["out/outside.js"], {
      cwd: project.folder,
      env,
    });
    expect(JSON.parse(stdout)).toEqual([true, "free", true]);
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
