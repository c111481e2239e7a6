import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService } from "../fixtures/service.ts";
import { signUp, signUpWithKey } from "../fixtures/user.ts";
import {
  asKey,
  bodyOf,
  CHAT,
  type DashboardService,
  EXPORT,
  type Headers,
  lastEntryOf,
  refusalOf,
  startDashboardService,
} from "./dashboard-service.ts";

let dashboard: DashboardService;

beforeAll(async () => {
  dashboard = await startDashboardService();
});

afterAll(() => dashboard?.[Symbol.asyncDispose]());

/** The text that a stream of a chat completion says, which has to be whole. */
function contentOf(stream: string): string {
  const events = stream.split("\n\n").filter((event) => event.startsWith("data: "));
  expect(events.at(-1)).toBe("data: [DONE]");
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}

describe("a user at the dashboard", () => {
  it("chats with one of their keys without its string, and is charged", async () => {
    const owner = await signUp(dashboard.baseUrl);
    const first = await owner.trpc.keys.create.mutate({ name: "first" });
    const second = await owner.trpc.keys.create.mutate({ name: "second" });
    const before = await owner.trpc.credits.balance.query();

    const response = await dashboard.chat(asKey(owner, second.id), bodyOf("Hello there", { stream: true }));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(contentOf(await response.text())).toContain("Hello there");

    const entry = await lastEntryOf(owner);
    expect(entry).toMatchObject({
      requestId: response.headers.get("x-request-id"),
      endpoint: `POST ${CHAT}`,
      keyId: second.keyId,
      keyName: "second",
      model: "sandbox/echo",
      status: 200,
      endReason: "stop",
      sourceIp: "127.0.0.1",
    });
    const { promptTokens, completionTokens, costNanoUsd } = entry ?? {};
    const cost = BigInt((promptTokens ?? 0) * 1_000 + (completionTokens ?? 0) * 10_000);
    expect(cost).toBeGreaterThan(0n);
    expect(costNanoUsd).toBe(cost);
    const after = await owner.trpc.credits.balance.query();
    expect(before.balanceNanoUsd - after.balanceNanoUsd).toBe(cost);
    expect((await owner.trpc.keys.usage.query({ id: first.id })).lastUsedAt).toBeNull();
    expect((await owner.trpc.keys.usage.query({ id: second.id })).lastUsedAt).not.toBeNull();
  });

  it("gets an answer that is not streamed, also for a key's ID in capitals", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const response = await dashboard.chat(asKey(owner, owner.id.toUpperCase()), bodyOf("Hello there"));
    expect(response.status).toBe(200);
    const { choices, usage } = await response.json();
    expect(choices[0].message.content).toContain("Hello there");
    expect(await lastEntryOf(owner)).toMatchObject({ tokenCount: usage.total_tokens });
  });

  it("shares the account's limits with its applications", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const limits = { requestsPerMinute: 2, tokensPerMinute: null, concurrentRequests: null };
    await dashboard.operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    const application = await fetch(`${dashboard.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
      body: bodyOf("hi"),
    });
    expect(application.status).toBe(200);
    const passed = await dashboard.chat(asKey(owner, owner.id));
    expect(passed.status).toBe(200);
    expect(passed.headers.get("x-ratelimit-limit-requests")).toBe("2");
    expect(passed.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const refused = await dashboard.chat(asKey(owner, owner.id));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await lastEntryOf(owner)).toMatchObject({ status: 429, endpoint: `POST ${CHAT}` });
  });

  it("gets the reason when a body is invalid or credit is exhausted", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    expect(await refusalOf(dashboard.chat(asKey(owner, owner.id), "{"))).toMatchObject({
      code: "invalid_json",
    });
    expect(
      await refusalOf(dashboard.chat(asKey(owner, owner.id), bodyOf("hi", { model: "no/such" }))),
    ).toMatchObject({
      code: "model_not_found",
    });
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
    await dashboard.operator.trpc.operator.accounts.grantCredits.mutate({
      id,
      amountNanoUsd: -balanceNanoUsd,
      reason: "test",
    });
    expect(await refusalOf(dashboard.chat(asKey(owner, owner.id)))).toMatchObject({
      status: 402,
      code: "credit_balance_exhausted",
    });
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries.map(({ errorCode }) => errorCode)).toEqual([
      "credit_balance_exhausted",
      "model_not_found",
      "invalid_json",
    ]);
  });

  it("exports the same bytes as GET /v1/audit/export under the same filter", async () => {
    const owner = await signUp(dashboard.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const first = await owner.trpc.keys.create.mutate({ name: "first" });
    const second = await owner.trpc.keys.create.mutate({ name: '=a "second", key' });
    for (const { id } of [first, second, second])
      await (await dashboard.chat(asKey(owner, id))).arrayBuffer();
    await (await dashboard.chat(asKey(owner, second.id), bodyOf("hi", { model: "no/such" }))).arrayBuffer();
    const read = async (path: string, headers: Headers) => {
      const response = await fetch(dashboard.baseUrl + path, { headers });
      const kept = ["content-type", "content-disposition", "cache-control", "vary"];
      return {
        status: response.status,
        headers: kept.map((name) => response.headers.get(name)),
        text: await response.text(),
      };
    };
    const exported = async (query: string) => {
      const byToken = await read(`/v1/audit/export?${query}`, { authorization: `Bearer ${token}` });
      const bySession = await read(`${EXPORT}?${query}`, { cookie: owner.cookie() });
      expect(bySession, query).toEqual(byToken);
      expect(bySession.status, query).toBe(200);
      return bySession.text.split("\n").slice(0, -1);
    };
    expect(await exported("")).toHaveLength(4);
    expect(await exported("format=csv")).toHaveLength(1 + 4);
    expect(await exported(`key=${second.id}`)).toHaveLength(3);
    expect(await exported(`format=csv&key=${second.keyId}&status=2xx`)).toHaveLength(1 + 2);
    const [line = ""] = await exported(`key=${second.id}`);
    expect(await exported(`key=${second.id}&cursor=${JSON.parse(line).cursor}`)).toHaveLength(2);
    expect(
      await refusalOf(fetch(`${dashboard.baseUrl}${EXPORT}?keys=x`, { headers: asKey(owner, "") })),
    ).toEqual({
      status: 400,
      code: "invalid_request",
      param: "keys",
    });
    // Reading leaves no entry.
    expect(await exported("")).toHaveLength(4);
  });

  it("exports no entries of other accounts", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    await (await dashboard.chat(asKey(owner, owner.id))).arrayBuffer();
    const stranger = await signUpWithKey(dashboard.baseUrl);
    const response = await fetch(dashboard.baseUrl + EXPORT, {
      // What a script would say of itself is not looked at here.
      headers: { cookie: stranger.cookie(), authorization: `Bearer ${owner.key}` },
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});

describe("a dashboard that browsers reach over HTTPS", () => {
  it("requires its HTTPS cookie, and accepts chats only from its public origin", async () => {
    await using secure = await startService({
      env: { OSTIARY_PUBLIC_URL: "https://keys.example", OSTIARY_CATALOG: dashboard.env.OSTIARY_CATALOG },
    });
    const owner = await signUpWithKey(secure.baseUrl);
    const chatFrom = (origin: string, cookie: string) =>
      fetch(secure.baseUrl + CHAT, {
        method: "POST",
        headers: { "content-type": "application/json", origin, cookie, "ostiary-key": owner.id },
        body: bodyOf("hi"),
      });
    expect(owner.cookie()).toMatch(/^__Host-ostiary_session=/);
    expect((await chatFrom(secure.baseUrl, owner.cookie())).status).toBe(403);
    expect((await chatFrom("https://keys.example", owner.cookie())).status).toBe(200);
    expect((await chatFrom("https://keys.example", owner.cookie().slice("__Host-".length))).status).toBe(401);
  });
});
