import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { logLines, runToExit, SCRIPT, type Service, startService } from "../fixtures/service.ts";
import { visit } from "../fixtures/user.ts";

const run = promisify(execFile);

const onTerminal = describe.skipIf(!existsSync(SCRIPT));

onTerminal("the first start on an empty data folder, on a terminal", () => {
  const env = { OSTIARY_DEMO: undefined };
  let service: Service;

  beforeAll(async () => {
    service = await startService({ env, fromNothing: true, onTerminal: true });
  });

  afterAll(() => service?.[Symbol.asyncDispose]());

  it("prints a curl command that works as pasted, and how to sign in", async () => {
    const printed = service.stdout();
    const command = /^curl [\s\S]*?-d '.*'$/m.exec(printed)?.[0] ?? "";
    const { stdout } = await run("sh", ["-c", command.replace("curl ", "curl -sS ")]);
    expect(JSON.parse(stdout)).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { content: expect.stringContaining("Hello!") } }],
    });

    const [, email = "", password = ""] =
      /Sign in to the dashboard as (\S+) with password (\S+)/.exec(printed) ?? [];
    const visitor = visit(service.baseUrl);
    await visitor.trpc.auth.signIn.mutate({ email, password });
    expect((await visitor.trpc.audit.list.query()).entries).toMatchObject([{ keyName: "demo", status: 200 }]);
    // No session is there that its user does not know.
    expect((await visitor.trpc.auth.sessions.query()).sessions).toMatchObject([{ isCurrent: true }]);

    const [, operatorEmail = "", operatorPassword = ""] =
      /operator's console as (\S+) with password (\S+)/.exec(printed) ?? [];
    const operator = visit(service.baseUrl);
    await operator.trpc.auth.signIn.mutate({ email: operatorEmail, password: operatorPassword });
    expect((await operator.trpc.operator.accounts.list.query()).accounts).toMatchObject([{ name: "Demo" }]);

    const key = /sk-[0-9A-Za-z]+/.exec(printed)?.[0] ?? "";
    const note = await readFile(join(service.dataDir, "demo-sign-in.txt"), "utf8");
    expect(note).toContain(password);
    expect(note).not.toContain(key);
  });

  it("is followed by starts that create no second demo account", async () => {
    await service.stop();
    const { dataDir, databaseUrl } = service;
    const second = await startService({
      env,
      onTerminal: true,
      dataDir,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    });
    await second.stop();
    expect(second.stdout()).toContain("is ready at");
    expect(second.stdout()).not.toContain("sk-");
  });

  it.each([
    ["with OSTIARY_DEMO=0", { OSTIARY_DEMO: "0" }],
    ["in production, whatever is set", { OSTIARY_DEMO: "1", NODE_ENV: "production" }],
  ])("prints only the log %s, which says so, and creates no demo account", async (_, variables) => {
    await using quiet = await startService({
      env: { ...variables, OSTIARY_LOG: "info" },
      fromNothing: true,
      onTerminal: true,
    });
    const printed = quiet.stdout();
    const lines = logLines(printed);
    expect(lines.length).toBe(printed.trim().split("\n").length);
    expect(printed).not.toContain("password");
    expect(lines.find(({ msg }) => msg === "starting")?.settings).toMatchObject({ OSTIARY_DEMO: false });
  });
});

/** What the banner prints of the demo account. */
function demoIn(printed: string) {
  const [key = ""] = /sk-[0-9A-Za-z]+/.exec(printed) ?? [];
  const [, email = "", password = ""] =
    /Sign in to the dashboard as (\S+) with password (\S+)/.exec(printed) ?? [];
  const [, operatorEmail = "", operatorPassword = ""] =
    /operator's console as (\S+) with password (\S+)/.exec(printed) ?? [];
  return { key, user: { email, password }, operator: { email: operatorEmail, password: operatorPassword } };
}

describe("a first start that ends before it has printed the demo account", () => {
  it("says why, and the next one prints an account, key and operator that work", async () => {
    // The database is in the data folder, which both starts use.
    const env = { OSTIARY_DEMO: undefined, DATABASE_URL: undefined, REDIS_URL: undefined };
    const dataDir = await mkdtemp(join(tmpdir(), "ostiary-demo-"));
    const obstacle = join(dataDir, "demo-sign-in.txt");
    await mkdir(obstacle);
    const interrupted = await runToExit({ env, dataDir });
    expect(interrupted).toMatchObject({ code: 1, stdout: "" });
    expect(interrupted.reasons).toEqual([expect.stringContaining(dataDir)]);

    await rmdir(obstacle);
    await using service = await startService({ env, dataDir });
    await expect.poll(() => service.stdout()).toMatch(/sk-[0-9A-Za-z]+[\s\S]*\n$/);
    const { key, user, operator } = demoIn(service.stdout());
    const models = await fetch(`${service.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(models.status).toBe(200);
    const { trpc } = visit(service.baseUrl);
    await trpc.auth.signIn.mutate(user);
    expect((await trpc.keys.list.query()).keys).toMatchObject([{ name: "demo" }]);
    await visit(service.baseUrl).trpc.auth.signIn.mutate(operator);
    const left = (await readdir(dataDir)).filter((name) => name.startsWith("demo-"));
    expect(left).toEqual(["demo-sign-in.txt"]);
    expect(await readFile(obstacle, "utf8")).toContain(operator.password);
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
});

describe("without a terminal", () => {
  it("the first start prints the demo account and its key, apart from the log, and later starts print nothing", async () => {
    const env = { OSTIARY_DEMO: undefined, OSTIARY_LOG: "info" };
    await using first = await startService({ env, fromNothing: true });
    await expect.poll(() => first.stdout()).toMatch(/sk-[0-9A-Za-z]+[\s\S]*\n$/);
    const printed = first.stdout();
    const [key = ""] = /sk-[0-9A-Za-z]+/.exec(printed) ?? [];
    const [, email = "", password = ""] =
      /Sign in to the dashboard as (\S+) with password (\S+)/.exec(printed) ?? [];
    const { trpc } = visit(first.baseUrl);
    await trpc.auth.signIn.mutate({ email, password });
    expect((await trpc.keys.list.query()).keys).toMatchObject([{ name: "demo" }]);
    const created = logLines(first.stderr()).find(({ msg }) => msg?.startsWith("created the demo account"));
    expect(await readFile(String(created?.passwordIn), "utf8")).toContain(password);
    for (const secret of [key, password]) expect(first.stderr()).not.toContain(secret);
    await first.stop();

    const { dataDir, databaseUrl } = first;
    const again = await startService({ env, dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
    await again.stop();
    expect(again.stdout()).toBe("");
  });
});

describe("a service with sign-up closed", () => {
  it("refuses to sign up", async () => {
    await using service = await startService({ env: { OSTIARY_SIGNUP: "closed" } });
    const { trpc } = visit(service.baseUrl);
    expect(await trpc.service.info.query()).toMatchObject({ signUp: "closed" });
    const attempt = trpc.auth.signUp.mutate({
      email: "a@example.com",
      password: "long enough to be one",
      accountName: "A",
    });
    await expect(attempt).rejects.toMatchObject({ data: { ostiary: { code: "permission_denied" } } });
  });
});
