import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";

let folder: string;
let service: Service;
let env: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-packed-"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: join(ROOT, "sdk") });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  const installed = join(folder, "node_modules/ostiary");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"]);
  // As `npm install` leaves it; Deno takes packages only from where it is told of them.
  writeFileSync(join(folder, "package.json"), '{ "dependencies": { "ostiary": "0.1.0" } }');
  cpSync(join(ROOT, "test/sdk/scenario.mjs"), join(folder, "scenario.mjs"));
  service = await startService();
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "first" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "scripts" });
  env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    OSTIARY_API_KEY: key,
    OSTIARY_MANAGEMENT_TOKEN: token,
    OSTIARY_BASE_URL: service.baseUrl,
  };
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe("the package, packed and installed", () => {
  it.each([
    ["Node", process.execPath, []],
    [
      "Deno",
      join(ROOT, "node_modules/.bin/deno"),
      ["run", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read"],
    ],
    ["Bun", join(ROOT, "node_modules/.bin/bun"), ["run"]],
  ])("works under %s against a service", async (_, command, args) => {
    const child = spawn(command, [...args, join(folder, "scenario.mjs")], { cwd: folder, env });
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
      embedding: 256,
      models: 3,
      missing: 404,
      stranger: "invalid_api_key",
      createdAt: true,
      balance: "bigint",
      operator: "permission_denied",
      exported: true,
      verified: true,
    });
  });
});
