import { beforeAll, describe, expect, it } from "vitest";
import { Ostiary } from "../../sdk/src/client.ts";
import { AuthenticationError, ConflictError, PermissionDeniedError } from "../../sdk/src/core/errors.ts";
import { OstiaryOperator } from "../../sdk/src/operator.ts";
import { signInOperator } from "../fixtures/operator.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { openTcpProxy } from "../fixtures/tcp-proxy.ts";
import { type Owner, signUp } from "../fixtures/user.ts";
import { type ManagedService, startManagedService } from "./managed-service.ts";

const managed = sharedByFile(startManagedService);
let service: Service;
let owner: Owner;
let key: string;
let token: string;
let client: ManagedService["client"];

beforeAll(async () => {
  ({ service, owner, key, token, client } = managed);
});

describe("periods", () => {
  it("are given as dates, times or `Date`s, also of the audit log", async () => {
    await client().chat.completions.create({
      model: "sandbox/echo",
      messages: [{ role: "user", content: "one" }],
    });
    const now = new Date();
    const today = now.toISOString().slice(0, 10);
    const anHourAgo = new Date(now.getTime() - 3_600_000);
    for (const from of [today, anHourAgo, anHourAgo.toISOString()]) {
      expect((await client().audit.list({ from, limit: 1 })).data, String(from)).toHaveLength(1);
      const { total } = await client().usage.summary({ from, to: new Date(), interval: "day" });
      expect(total.requests, String(from)).toBeGreaterThan(0);
    }
    const lines: string[] = [];
    for await (const line of client().audit.export({ from: today, to: new Date() })) lines.push(line);
    expect(lines.length).toBeGreaterThan(0);
  });
});

describe("the client with a management token", () => {
  it("creates, rotates and revokes keys, with dates and amounts in their own types", async () => {
    const created = await client().keys.create({ name: "by script" });
    expect(created.key).toMatch(/^sk-/);
    expect(created.createdAt).toBeInstanceOf(Date);
    const successor = await client().keys.rotate(created.id, { idleAfterSeconds: 60 });
    const listed = await client().keys.list();
    expect(listed.find(({ id }) => id === created.id)?.rotation).toMatchObject({ successorId: successor.id });
    expect((await client().keys.revoke(created.id)).state).toBe("revoked");
    await expect(client({ apiKey: created.key }).models.list()).rejects.toMatchObject({
      code: "revoked_api_key",
    });
    await expect(client().keys.create({ name: "first" })).rejects.toBeInstanceOf(ConflictError);
    expect((await client().credits.balance()).balanceNanoUsd).toBeTypeOf("string");
    expect((await client().account.get()).plan).toBe("free");
    const now = Date.now();
    const summary = await client().usage.summary({
      from: new Date(now - 86_400_000),
      to: new Date(now + 86_400_000),
      interval: "day",
      groupBy: "key",
    });
    expect(summary.total.requests).toBe(summary.rows.reduce((sum, row) => sum + row.requests, 0));
    for await (const entry of client().credits.ledger({ limit: 1 })) expect(entry.at).toBeInstanceOf(Date);
    for await (const line of client().credits.statement({ limit: 1 })) {
      expect(line.amountNanoUsd).toMatch(/^-?\d+$/);
    }
  });

  it("makes one key when the answer to its creation was lost", async () => {
    let calls = 0;
    const lossy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (String(input).includes("keys.create") && calls++ === 0) throw new TypeError("the connection broke");
      return response;
    };
    // The service waits for the first call to be over before it issues the key again.
    const created = await client({ fetch: lossy, maxRetries: 8 }).keys.create({ name: "once" });
    expect(calls).toBeGreaterThan(1);
    const listed = await client().keys.list();
    expect(listed.filter(({ name, state }) => name === "once" && state === "active")).toHaveLength(1);
    await (await client({ apiKey: created.key }).models.list()).nextPage();
  });

  it("throws the same classes as REST", async () => {
    const byKey = client({ managementToken: key });
    await expect(byKey.keys.create({ name: "x" })).rejects.toBeInstanceOf(PermissionDeniedError);
    const wrong = client({ managementToken: `mt-${"A".repeat(49)}` });
    const error = await wrong.keys.list().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, requestId: expect.stringMatching(/^req_/) });
  });

  it("says of text that is neither a key nor a token how both begin", async () => {
    const sent = client({ managementToken: "not-a-token" }).keys.list();
    const thrown: unknown = await sent.catch((refused: unknown) => refused);
    if (!(thrown instanceof AuthenticationError)) throw new Error("it was not refused");
    const answer = await fetch(`${service.baseUrl}/v1/keys`, {
      headers: { authorization: "Bearer nothing" },
    });
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect(answer.status).toBe(401);
    for (const { message } of [error, thrown]) {
      expect(message).toContain("`sk-`, and a management token with `mt-`");
    }
  });

  it("works without an API key, and says so when a model is called", async () => {
    const manager = new Ostiary({ managementToken: token, baseURL: service.baseUrl });
    expect((await manager.keys.list()).length).toBeGreaterThan(0);
    expect((await manager.audit.list({ limit: 1 })).data).toHaveLength(1);
    await expect(manager.models.list()).rejects.toThrow("OSTIARY_API_KEY");
  });
});

describe("the operator's client", () => {
  it("suspends an account, and throws the reason of a refusal", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    const own = await trpc.tokens.create.mutate({ name: "operator" });
    const operator = new OstiaryOperator({ managementToken: own.token, baseURL: service.baseUrl });
    const { id } = await owner.trpc.account.get.query();
    await operator.accounts.suspend(id, { reason: "test" });
    const suspended = await client()
      .models.list()
      .catch((thrown: unknown) => thrown);
    expect(suspended).toBeInstanceOf(PermissionDeniedError);
    expect(suspended).toMatchObject({ reason: "account_suspended" });
    await operator.accounts.reinstate(id);
    expect((await client().models.list()).data.length).toBeGreaterThan(0);
    expect((await operator.accounts.list({ search: id })).accounts).toHaveLength(1);
    expect((await operator.upstreams()).upstreams.length).toBeGreaterThan(0);
    expect((await operator.catalog()).models.map((model) => model.id)).toContain("sandbox/echo");
    expect((await operator.checkBooks()).mismatches).toEqual([]);
    const { nodes } = await operator.nodes.list();
    expect(nodes).toMatchObject([
      { isAway: false, seenAt: expect.any(Date), reservedNanoUsd: expect.anything() },
    ]);
    const unknown = operator.nodes.release(String(BigInt(nodes[0]?.id ?? 0) + 1n), { reason: "test" });
    await expect(unknown).rejects.toMatchObject({ status: 404 });
    const listed = await operator.accounts.list({ search: id, state: "active", plan: "free" });
    expect(listed.accounts).toMatchObject([{ id, balanceNanoUsd: expect.stringMatching(/^\d+$/) }]);
    expect((await operator.accounts.list({ search: id, state: "suspended" })).accounts).toEqual([]);
    // As many networks as rules may have, which no address of a request can hold.
    const networks = Array.from(
      { length: 1_000 },
      (_, n) => `2001:db8:aaaa:bbbb:cccc:dddd:eeee:${n.toString(16)}`,
    );
    const rules = { mode: "enforce", networks } as const;
    const tried = await operator.accounts.tryIpRules(id, { address: "2001:db8::1", rules });
    expect(tried.verdict).toBe("blocked");
    const day = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 86_400_000) };
    const usage = await operator.usage({ ...day, interval: "day", groupBy: "account" });
    expect(usage.rows.find(({ account }) => account?.id === id)?.start).toBeInstanceOf(Date);
    expect(usage.total.costNanoUsd).toBeTypeOf("string");
    const { events, nextCursor } = await operator.security({ accountId: id, kind: "account_suspended" });
    expect(events).toMatchObject([{ kind: "account_suspended", account: { id }, keyId: key.slice(-4) }]);
    expect(events[0]?.lastAt).toBeInstanceOf(Date);
    expect(nextCursor).toBeNull();
    expect((await operator.security({ limit: 1 })).nextCursor).toBeTypeOf("string");
    const { actions } = await operator.audit({ accountId: id, limit: 2 });
    expect(actions.map(({ action }) => action)).toEqual(["account.reinstate", "account.suspend"]);
    expect(actions[1]).toMatchObject({ reason: "test", byOperator: true });
  });

  it("creates accounts, and tests rules before they are set", async () => {
    const { trpc } = await signInOperator(service.baseUrl);
    const own = await trpc.tokens.create.mutate({ name: "another" });
    const operator = new OstiaryOperator({ managementToken: own.token, baseURL: service.baseUrl });
    const email = "made@example.com";
    const { account, password } = await operator.accounts.create({ email, accountName: "Made" });
    expect(account).toMatchObject({
      name: "Made",
      plan: "free",
      users: [{ email }],
      balanceNanoUsd: expect.anything(),
    });
    const rules = { networks: ["10.0.0.0/8"] };
    const from = (address: string) => operator.accounts.tryIpRules(account.id, { address, rules });
    expect([await from("10.1.2.3"), await from("192.0.2.1")]).toEqual([
      { verdict: "passes" },
      { verdict: "blocked" },
    ]);
    const { notices } = await operator.accounts.setPlan(account.id, { plan: "enterprise" });
    expect(notices).toEqual(expect.any(Array));
    expect((await operator.users.resetPassword({ email })).password).not.toBe(password);
  });
});

describe("an answer of the SDK", () => {
  it("is available with its HTTP response", async () => {
    const asked = client().chat.completions.create({
      model: "sandbox/echo",
      messages: [{ role: "user", content: "hi" }],
    });
    const { data, response, requestId } = await asked.withResponse();
    expect(data.choices[0]?.message.content).toContain("hi");
    expect(response.headers.get("x-request-id")).toBe(requestId);
    const raw = await client().models.retrieve("sandbox/echo").asResponse();
    expect(await raw.json()).toMatchObject({ id: "sandbox/echo" });
    await expect(client().models.retrieve("no/such").asResponse()).rejects.toMatchObject({ status: 404 });
  });

  it("that is streamed emits events, and adds up to the whole", async () => {
    const deltas: string[] = [];
    const events: string[] = [];
    const stream = client()
      .chat.completions.stream({
        model: "sandbox/lorem",
        messages: [{ role: "user", content: "tell" }],
        stream_options: { include_usage: true },
      })
      .on("content", (delta, snapshot) => {
        deltas.push(delta);
        expect(snapshot.endsWith(delta)).toBe(true);
      })
      .on("message", () => events.push("message"))
      .on("end", () => events.push("end"));
    let chunks = 0;
    for await (const _ of stream) chunks++;
    expect(chunks).toBeGreaterThan(2);
    expect(await stream.finalContent()).toBe(deltas.join(""));
    expect((await stream.finalCompletion()).usage?.completion_tokens).toBeGreaterThan(0);
    expect(events).toEqual(["message", "end"]);
  });

  it("that is streamed has whole tool calls, and emits its errors", async () => {
    const tools = [
      {
        type: "function" as const,
        function: {
          name: "weather",
          parameters: { type: "object", properties: { city: { type: "string" } } },
        },
      },
    ];
    const called: string[] = [];
    const message = await client()
      .chat.completions.stream({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "weather" }],
        tools,
      })
      .on("toolCall", (call) => called.push(call.type === "function" ? call.function.name : ""))
      .finalMessage();
    expect(called).toEqual(["weather"]);
    const [call] = message.tool_calls ?? [];
    expect(JSON.parse(call?.type === "function" ? call.function.arguments : "")).toBeTypeOf("object");
    const errors: unknown[] = [];
    const cut = client()
      .chat.completions.stream({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "sandbox:cut" }],
      })
      .on("error", (error) => errors.push(error));
    await expect(cut.finalMessage()).rejects.toMatchObject({ code: "upstream_error" });
    expect(errors).toHaveLength(1);
  });
});

describe("the client's log", () => {
  it("has the configured level, and never a key, a prompt or an answer", async () => {
    const said: string[] = [];
    const logger = Object.fromEntries(
      ["debug", "info", "warn", "error"].map((level) => [
        level,
        (...words: unknown[]) => said.push(JSON.stringify(words)),
      ]),
    ) as unknown as Console;
    const ask = (logLevel: "off" | "debug") =>
      client({ logger, logLevel }).chat.completions.create({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "a secret prompt" }],
      });
    await ask("off");
    expect(said).toEqual([]);
    await ask("debug");
    const all = said.join("\n");
    expect(all).toContain("/chat/completions");
    for (const secret of [key, token, "a secret prompt", "sk-", "mt-"]) expect(all).not.toContain(secret);
  });
});

describe("an export", () => {
  it("resumes by itself when its connection is cut repeatedly, without gap or repeat", async () => {
    await using own = await startService();
    const busy = await signUp(own.baseUrl);
    const created = await busy.trpc.keys.create.mutate({ name: "busy" });
    const asked = new Ostiary({ apiKey: created.key, baseURL: own.baseUrl });
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 50 }, async () => (await asked.models.list()).data));
    }
    await using way = await openTcpProxy(Number(new URL(own.baseUrl).port));
    const through = new Ostiary({ apiKey: created.key, baseURL: `http://127.0.0.1:${way.port}` });
    const run = through.audit.export({ format: "csv" }, { headers: { "accept-encoding": "identity" } });
    const ids: string[] = [];
    for await (const line of run) {
      ids.push(line.split(",", 1)[0] ?? "");
      if (ids.length === 1 || ids.length === 400) {
        way.cut();
        way.heal();
      }
    }
    expect(ids[0]).toBe("id");
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length - 1).toBeGreaterThanOrEqual(1_000);
    expect(run.progress.lines).toBe(ids.length - 1);
    const { data } = await asked.audit.list({ limit: 1_000 });
    const exported = new Set(ids);
    expect(data.filter(({ endpoint, id }) => endpoint === "GET /v1/models" && !exported.has(id))).toEqual([]);
  });
});
