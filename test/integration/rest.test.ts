import { beforeAll, describe, expect, it } from "vitest";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import { type RestReply, type RestRequest, sendRest } from "../fixtures/rest.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

const service = sharedByFile(startOperatedService);
let owner: Owner;
let token: string;
let key: string;

beforeAll(async () => {
  owner = await signUp(service.baseUrl);
  token = (await owner.trpc.tokens.create.mutate({ name: "script" })).token;
  key = (await owner.trpc.keys.create.mutate({ name: "reader" })).key;
});

/** With the management token, unless another credential is given. */
function send(method: string, path: string, request: RestRequest = {}): Promise<RestReply> {
  return sendRest(service.baseUrl, method, path, { credential: token, ...request });
}

describe("keys by REST", () => {
  it("are created, listed, rotated and revoked with a management token", async () => {
    const created = await send("POST", "/v1/keys", { body: { name: "production" } });
    expect(created).toMatchObject({
      status: 200,
      body: { name: "production", state: "active", replaces: null },
    });
    expect(created.headers.get("cache-control")).toBe("no-store");
    const { id, key: first, key_id } = created.body;
    expect(first.slice(-4)).toBe(key_id);
    expect(await statusOf(service.baseUrl, first)).toBe(200);

    const rotated = await send("POST", `/v1/keys/${id}/rotate`, {
      body: { name: "next", idle_after_seconds: 60 },
    });
    expect(rotated).toMatchObject({ status: 200, body: { name: "next", replaces: id } });
    const usage = await send("GET", `/v1/keys/${id}/usage`);
    expect(usage.body).toMatchObject({
      id,
      key_id,
      requests_last_minute: 1,
      last_used_ip: "127.0.0.1",
      rotation: { successor_id: rotated.body.id, idle_after_seconds: 60, is_idle: false },
    });

    const { addresses } = await owner.trpc.keys.addresses.query({ id });
    expect(addresses).toMatchObject([{ ip: "127.0.0.1", lastUsedAt: expect.any(Date) }]);
    expect((await send("GET", `/v1/keys/${id}/addresses`)).body).toEqual(inRest({ addresses }));

    const listed = await send("GET", "/v1/keys");
    expect(listed.body).toMatchObject({ object: "list", has_more: false, next_cursor: null });
    expect(listed.body.data.map(({ name }: { name: string }) => name)).toEqual([
      "next",
      "production",
      "reader",
    ]);

    const revoked = await send("POST", `/v1/keys/${id}/revoke`);
    expect(revoked).toMatchObject({ status: 200, body: { id, state: "revoked" } });
    expect(await statusOf(service.baseUrl, first)).toBe(401);
    const deleted = await send("DELETE", `/v1/keys/${rotated.body.id}`);
    expect(deleted).toMatchObject({ status: 200, body: { id: rotated.body.id, state: "revoked" } });
    expect(await statusOf(service.baseUrl, rotated.body.key)).toBe(401);
    expect((await send("DELETE", `/v1/keys/${rotated.body.id}`)).body).toEqual(deleted.body);
  });

  it("are read page by page", async () => {
    const account = await signUp(service.baseUrl);
    const { token: credential } = await account.trpc.tokens.create.mutate({ name: "script" });
    const names = ["one", "two", "three", "four", "five"];
    for (const name of names) await send("POST", "/v1/keys", { credential, body: { name } });
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await send("GET", `/v1/keys?limit=2${cursor}`, { credential });
      seen.push(...body.data.map(({ name }: { name: string }) => name));
      expect(body.has_more).toBe(body.next_cursor !== null);
      if (!body.has_more) break;
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
    expect(seen).toEqual(names.toReversed());
  });

  it("are created once for an idempotency key", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const [first, again] = [
      await send("POST", "/v1/keys", { body: { name: "once" }, headers }),
      await send("POST", "/v1/keys", { body: { name: "once" }, headers }),
    ];
    // Its answer may still be on its way: nothing is created or issued again in that time.
    expect(again).toMatchObject({ status: 409, body: { error: { param: "Idempotency-Key" } } });
    expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await statusOf(service.baseUrl, first.body.key)).toBe(200);
    const other = await send("POST", "/v1/keys", { body: { name: "other" }, headers });
    expect(other).toMatchObject({
      status: 422,
      body: { error: { code: "idempotency_key_reused", param: "Idempotency-Key" } },
    });
    const { body } = await send("GET", "/v1/keys");
    expect(body.data.filter(({ name }: { name: string }) => name === "once")).toHaveLength(1);
  });
});

/** An answer of a procedure in REST's form, written down independently of the service. */
function inRest(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(inRest);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (!name.endsWith("NanoUsd")) return [snake, inRest(field)];
      return [snake.replace("_nano_usd", "_usd"), String(Number(field) / 1e9)];
    }),
  );
}

describe("reading by REST", () => {
  const day = new Date().toISOString().slice(0, 10);

  it("returns what the procedures return, for keys and management tokens alike", async () => {
    const { id } = await owner.trpc.keys.create.mutate({ name: "idle" });
    const { trpc } = owner;
    const period = { from: "2026-01-01", to: day, interval: "month" as const };
    const summaryPath = `/v1/usage?from=2026-01-01&to=${day}&interval=month`;
    const pairs = [
      ["/v1/account", await trpc.account.get.query()],
      ["/v1/account/limits", await trpc.account.limits.query()],
      ["/v1/credits", await trpc.credits.balance.query()],
      [`/v1/keys/${id}/usage`, await trpc.keys.usage.query({ id })],
    ] as const;
    for (const [path, answer] of pairs) {
      for (const credential of [key, token]) {
        expect((await send("GET", path, { credential })).body, path).toEqual(inRest(answer));
      }
    }
    // Tokens leave no entries, and so no usage.
    const summary = await trpc.usage.summary.query({ ...period, groupBy: "key" });
    expect((await send("GET", `${summaryPath}&group_by=key`)).body).toEqual(inRest(summary));
    expect(summary.total.requests).toBeGreaterThan(0);
    const { entries } = await trpc.credits.ledger.query();
    expect((await send("GET", "/v1/credits/ledger")).body.data).toEqual(inRest(entries));
    const { lines } = await trpc.credits.statement.query();
    expect((await send("GET", "/v1/credits/statement")).body.data).toEqual(inRest(lines));
    expect(lines.length).toBeGreaterThan(0);
    await sendChat(service.baseUrl, key);
    const performance = await trpc.usage.performance.query(period);
    const { body } = await send("GET", `/v1/usage/performance?from=2026-01-01&to=${day}&interval=month`);
    expect(body).toEqual(inRest(performance));
    expect(body.upstreams).toMatchObject([{ errors: 0, latency_ms: { p50: expect.any(Number) } }]);
    const { actions } = await trpc.account.actions.query({ limit: 3 });
    expect((await send("GET", "/v1/account/actions?limit=3")).body).toMatchObject({
      data: inRest(actions),
      has_more: true,
    });
  });

  it("adds up the entries of the log that match", async () => {
    const { trpc } = owner;
    const today = { from: new Date(`${day}T00:00:00Z`), to: new Date(Date.now() + 60_000) };
    const query = `from=${today.from.toISOString()}&to=${today.to.toISOString()}`;
    for (const status of ["200", "error"]) {
      const summary = await trpc.audit.summary.query({
        from: today.from.toISOString(),
        to: today.to.toISOString(),
        status,
      });
      expect(summary.total.requests).toBeGreaterThan(0);
      expect((await send("GET", `/v1/audit/summary?${query}&status=${status}`)).body).toEqual(
        inRest(summary),
      );
    }
    const wrong = await send("GET", "/v1/audit/summary?status=7xx");
    expect(wrong).toMatchObject({ status: 400, body: { error: { param: "status" } } });
  });

  it("writes amounts exactly, also small, large and negative ones", async () => {
    const operator = await signInOperator(service.baseUrl);
    const account = await signUp(service.baseUrl);
    const { token: credential } = await account.trpc.tokens.create.mutate({ name: "script" });
    const { id } = await account.trpc.account.get.query();
    const grant = (amountNanoUsd: bigint) =>
      operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd, reason: "test" });
    await grant(-5_000_000_000n);
    await grant(9_000_000_000_000_000n);
    await grant(1n);
    expect((await send("GET", "/v1/credits", { credential })).body).toEqual({
      balance_usd: "9000000.000000001",
      reserved_usd: "0",
    });
    const { body } = await send("GET", "/v1/credits/ledger", { credential });
    expect(body.data.map(({ amount_usd }: { amount_usd: string }) => amount_usd)).toEqual([
      "0.000000001",
      "9000000",
      "-5",
      "5",
    ]);
    const { body: trail } = await send("GET", "/v1/account/actions?limit=1", { credential });
    expect(trail.data[0]).toMatchObject({
      action: "account.grantCredits",
      by: null,
      before: { balance_usd: "9000000" },
      after: { balance_usd: "9000000.000000001", amount_usd: "0.000000001" },
    });
  });

  it("answers HEAD without a body, and paths with a slash at their end", async () => {
    const head = await send("HEAD", "/v1/account");
    expect(head).toMatchObject({ status: 200, body: null });
    expect((await send("GET", "/v1/account/")).status).toBe(200);
  });

  it("includes today in a summary up to today, and up to now", async () => {
    const used = await signUp(service.baseUrl);
    const { key: credential } = await used.trpc.keys.create.mutate({ name: "used" });
    await statusOf(service.baseUrl, credential);
    const now = encodeURIComponent(new Date().toISOString());
    for (const to of [new Date().toISOString().slice(0, 10), now]) {
      const path = `/v1/usage?from=2026-01-01&to=${to}&interval=day`;
      const { body } = await send("GET", path, { credential });
      expect(body.total.requests, to).toBeGreaterThanOrEqual(1);
    }
  });
});
