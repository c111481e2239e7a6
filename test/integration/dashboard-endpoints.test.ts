import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

const CHAT = "/dashboard/chat/completions";
const EXPORT = "/dashboard/audit/export";
/** By which a request of a few tokens costs something. */
const PRICES = { inputUsdPerMTok: 1, outputUsdPerMTok: 10 };

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

let catalog: CatalogFile;
let service: Service;
let operator: Visitor;

beforeAll(async () => {
  catalog = await writeCatalog({
    upstreams: { sandbox: { dialect: "sandbox" } },
    models: [{ id: "sandbox/echo", prices: PRICES, routes: [{ upstream: "sandbox", model: "echo" }] }],
  });
  service = await startOperatedService({ env: { OSTIARY_CATALOG: catalog.file } });
  operator = await signInOperator(service.baseUrl);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
});

type Headers = Readonly<Record<string, string>>;

/** What the dashboard's own page sends along. */
function sameOrigin(): Headers {
  return { origin: service.baseUrl, "sec-fetch-site": "same-origin" };
}

function bodyOf(content: string, more: object = {}): string {
  return JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content }], ...more });
}

/** A chat as one of the account's keys, with what a browser sends. */
function chat(headers: Headers, body = bodyOf("hi")): Promise<Response> {
  return fetch(service.baseUrl + CHAT, {
    method: "POST",
    headers: { "content-type": "application/json", ...sameOrigin(), ...headers },
    body,
  });
}

function asKey(owner: Visitor, id: string): Headers {
  return { cookie: owner.cookie(), "ostiary-key": id };
}

async function refusalOf(answering: Promise<Response>) {
  const response = await answering;
  const { error } = await response.json();
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  return { status: response.status, code: error.code, param: error.param };
}

async function lastEntryOf(owner: Owner) {
  const { entries } = await owner.trpc.audit.list.query({ limit: 1 });
  return entries[0];
}

/** The text that a stream of a chat completion says, which has to be whole. */
function contentOf(stream: string): string {
  const events = stream.split("\n\n").filter((event) => event.startsWith("data: "));
  expect(events.at(-1)).toBe("data: [DONE]");
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}

describe("a person at the dashboard", () => {
  it("chats as one of their keys, which needs no key string and pays for it", async () => {
    const owner = await signUp(service.baseUrl);
    const first = await owner.trpc.keys.create.mutate({ name: "first" });
    const second = await owner.trpc.keys.create.mutate({ name: "second" });
    const before = await owner.trpc.credits.balance.query();

    const response = await chat(asKey(owner, second.id), bodyOf("Hello there", { stream: true }));
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

  it("gets an answer that is not streamed as well, also for a key's id in capitals", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const response = await chat(asKey(owner, owner.id.toUpperCase()), bodyOf("Hello there"));
    expect(response.status).toBe(200);
    const { choices, usage } = await response.json();
    expect(choices[0].message.content).toContain("Hello there");
    expect(await lastEntryOf(owner)).toMatchObject({ tokenCount: usage.total_tokens });
  });

  it("is held to the account's limits together with its applications", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const limits = { requestsPerMinute: 2, tokensPerMinute: null, concurrentRequests: null };
    await operator.trpc.operator.accounts.setLimits.mutate({ id, limits });
    const application = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
      body: bodyOf("hi"),
    });
    expect(application.status).toBe(200);
    const passed = await chat(asKey(owner, owner.id));
    expect(passed.status).toBe(200);
    expect(passed.headers.get("x-ratelimit-limit-requests")).toBe("2");
    expect(passed.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const refused = await chat(asKey(owner, owner.id));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await lastEntryOf(owner)).toMatchObject({ status: 429, endpoint: `POST ${CHAT}` });
  });

  it("is told what is wrong with a body, and that there is no credit", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    expect(await refusalOf(chat(asKey(owner, owner.id), "{"))).toMatchObject({ code: "invalid_json" });
    expect(await refusalOf(chat(asKey(owner, owner.id), bodyOf("hi", { model: "no/such" })))).toMatchObject({
      code: "model_not_found",
    });
    const { id } = await owner.trpc.account.get.query();
    const { balanceNanoUsd } = await owner.trpc.credits.balance.query();
    await operator.trpc.operator.accounts.grantCredits.mutate({
      id,
      amountNanoUsd: -balanceNanoUsd,
      reason: "test",
    });
    expect(await refusalOf(chat(asKey(owner, owner.id)))).toMatchObject({
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

  it("exports what GET /v1/audit/export answers under the same filter, byte for byte", async () => {
    const owner = await signUp(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const first = await owner.trpc.keys.create.mutate({ name: "first" });
    const second = await owner.trpc.keys.create.mutate({ name: '=a "second", key' });
    for (const { id } of [first, second, second]) await (await chat(asKey(owner, id))).arrayBuffer();
    await (await chat(asKey(owner, second.id), bodyOf("hi", { model: "no/such" }))).arrayBuffer();
    const read = async (path: string, headers: Headers) => {
      const response = await fetch(service.baseUrl + path, { headers });
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
    expect(await exported(`cursor=${JSON.parse(line).cursor}`)).toHaveLength(2);
    expect(
      await refusalOf(fetch(`${service.baseUrl}${EXPORT}?keys=x`, { headers: asKey(owner, "") })),
    ).toEqual({
      status: 400,
      code: "invalid_request",
      param: "keys",
    });
    // Reading leaves no entry.
    expect(await exported("")).toHaveLength(4);
  });

  it("exports nobody else's entries", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await (await chat(asKey(owner, owner.id))).arrayBuffer();
    const stranger = await signUpWithKey(service.baseUrl);
    const response = await fetch(service.baseUrl + EXPORT, {
      // What a script would say of itself is not looked at here.
      headers: { cookie: stranger.cookie(), authorization: `Bearer ${owner.key}` },
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});

describe("what a session opens at the dashboard", () => {
  it("is closed to who has none, whatever else they have", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const withoutSession: Headers[] = [
      {},
      { authorization: `Bearer ${owner.key}` },
      { authorization: `Bearer ${token}` },
      { cookie: "ostiary_session=made-up" },
      { cookie: `ostiary_session=${"a".repeat(43)}` },
      { cookie: owner.cookie().replace("ostiary_session", "session") },
    ];
    const notSignedIn = { status: 401, code: "not_signed_in", param: null };
    for (const headers of withoutSession) {
      const told = JSON.stringify(Object.keys(headers));
      expect(await refusalOf(chat({ "ostiary-key": owner.id, ...headers })), told).toEqual(notSignedIn);
      expect(await refusalOf(fetch(service.baseUrl + EXPORT, { headers })), told).toEqual(notSignedIn);
    }
    const signedIn = asKey(owner, owner.id);
    await owner.trpc.auth.signOut.mutate();
    expect(await refusalOf(chat(signedIn))).toEqual(notSignedIn);
    expect(await refusalOf(fetch(service.baseUrl + EXPORT, { headers: signedIn }))).toEqual(notSignedIn);
    const again = visit(service.baseUrl);
    await again.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    expect((await again.trpc.audit.list.query()).entries).toEqual([]);
  });

  it("is not a chat that another site's page has sent", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const foreign: Headers[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: service.baseUrl.replace("http:", "https:") },
    ];
    for (const headers of foreign) {
      expect(
        await refusalOf(chat({ ...asKey(owner, owner.id), ...headers })),
        JSON.stringify(headers),
      ).toEqual({
        status: 403,
        code: "permission_denied",
        param: null,
      });
    }
    const form = chat({ ...asKey(owner, owner.id), "content-type": "text/plain" });
    expect(await refusalOf(form)).toMatchObject({ status: 415 });
    const preflight = await fetch(service.baseUrl + CHAT, { method: "OPTIONS" });
    expect([...preflight.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries.map(({ status }) => status)).toEqual([415]);
  });

  it("is not another account's key, nor one that there is not", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const other = await signUpWithKey(service.baseUrl);
    for (const id of [other.id, crypto.randomUUID()]) {
      expect(await refusalOf(chat(asKey(owner, id)))).toEqual({
        status: 404,
        code: "not_found",
        param: "ostiary-key",
      });
    }
    const unnamed = { cookie: owner.cookie() };
    for (const headers of [unnamed, asKey(owner, ""), asKey(owner, owner.key), asKey(owner, "x")]) {
      expect(await refusalOf(chat(headers))).toEqual({
        status: 400,
        code: "invalid_request",
        param: "ostiary-key",
      });
    }
    for (const { trpc } of [owner, other]) expect((await trpc.audit.list.query()).entries).toEqual([]);
  });

  it("is refused with a revoked key, and its owner sees that", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    expect((await chat(asKey(owner, owner.id))).status).toBe(200);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    expect(await refusalOf(chat(asKey(owner, owner.id)))).toEqual({
      status: 401,
      code: "revoked_api_key",
      param: null,
    });
    expect(await lastEntryOf(owner)).toMatchObject({
      endpoint: `POST ${CHAT}`,
      status: 401,
      errorCode: "revoked_api_key",
      costNanoUsd: 0n,
    });
  });

  it("is no chat in a suspended account, whose log can still be exported", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await (await chat(asKey(owner, owner.id))).arrayBuffer();
    await operator.trpc.operator.accounts.suspend.mutate({ id, reason: "leak" });
    expect(await refusalOf(chat(asKey(owner, owner.id)))).toMatchObject({
      status: 403,
      code: "account_suspended",
    });
    const response = await fetch(service.baseUrl + EXPORT, { headers: { cookie: owner.cookie() } });
    expect((await response.text()).split("\n")).toHaveLength(2 + 1);
    await operator.trpc.operator.accounts.reinstate.mutate({ id });
    expect((await chat(asKey(owner, owner.id))).status).toBe(200);
  });

  it("is no chat from outside the account's IP rules", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const key = await owner.trpc.keys.create.mutate({ name: "ruled" });
    const setRules = (networks: string[]) =>
      operator.trpc.operator.accounts.setIpRules.mutate({ id: owner.accountId, rules: { networks } });
    await setRules(["192.0.2.0/24"]);
    expect(await refusalOf(chat(asKey(owner, key.id)))).toMatchObject({ status: 403, code: "ip_blocked" });
    await setRules(["127.0.0.0/8"]);
    expect((await chat(asKey(owner, key.id))).status).toBe(200);
  });

  it("is nothing to an operator, who has no account", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const denied = { status: 403, code: "permission_denied", param: null };
    expect(await refusalOf(chat(asKey(operator, owner.id)))).toEqual(denied);
    const headers = { cookie: operator.cookie() };
    expect(await refusalOf(fetch(service.baseUrl + EXPORT, { headers }))).toEqual(denied);
  });

  it("is at its own paths only, and not in the contract", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const headers = { authorization: `Bearer ${key}` };
    const { paths } = await (await fetch(`${service.baseUrl}/v1/openapi.json`)).json();
    expect(Object.keys(paths).filter((path) => path.includes("dashboard"))).toEqual([]);
    for (const path of ["/dashboard/", "/dashboard/models", "/dashboard/v1/models", `${CHAT}/x`]) {
      expect(await refusalOf(fetch(service.baseUrl + path, { headers })), path).toMatchObject({
        status: 404,
      });
    }
    expect(await refusalOf(fetch(service.baseUrl + CHAT))).toMatchObject({ code: "method_not_allowed" });
    expect((await fetch(`${service.baseUrl}/dashboard`)).headers.get("content-type")).toContain("text/html");
  });
});

/** A chat whose body is held back after its first bytes, until `finish`. */
function slowChat(headers: Headers) {
  const body = bodyOf("late");
  const sent = httpRequest(service.baseUrl + CHAT, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers },
  });
  const status = new Promise<number>((resolve, reject) => {
    sent.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
  });
  sent.write(body.slice(0, 5));
  return {
    finish: () => {
      sent.end(body.slice(5));
      return status;
    },
  };
}

describe("a chat whose body is still on its way", () => {
  it("is not made by a session that ended meanwhile", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const call = slowChat(asKey(owner, owner.id));
    await owner.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "another long password" });
    expect(await call.finish()).toBe(401);
    expect((await owner.trpc.audit.list.query({ status: "200" })).entries).toEqual([]);
  });

  it("is not made as a key that was revoked meanwhile", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await (await chat(asKey(owner, owner.id))).arrayBuffer();
    const call = slowChat(asKey(owner, owner.id));
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    expect(await call.finish()).toBe(401);
    expect(await lastEntryOf(owner)).toMatchObject({ errorCode: "revoked_api_key" });
  });
});

describe.skipIf(!isDistributed)("a key that was revoked at one node", () => {
  it("makes no chat at another that knew it, from the moment that the revocation is answered", async () => {
    await using other = await startService({
      databaseUrl: service.databaseUrl ?? "",
      env: { OSTIARY_CATALOG: catalog.file },
    });
    const owner = await signUp(service.baseUrl);
    const chatThere = async (id: string) => {
      const response = await fetch(other.baseUrl + CHAT, {
        method: "POST",
        headers: { "content-type": "application/json", ...asKey(owner, id) },
        body: bodyOf("hi"),
      });
      await response.arrayBuffer();
      return response.status;
    };
    for (let round = 0; round < 10; round++) {
      const { id } = await owner.trpc.keys.create.mutate({ name: `key ${round}` });
      expect([await chatThere(id), await chatThere(id)]).toEqual([200, 200]);
      await owner.trpc.keys.revoke.mutate({ id });
      expect(await chatThere(id)).toBe(401);
    }
  });
});

describe("a dashboard that browsers reach over HTTPS", () => {
  it("is known by its cookie for HTTPS, and chats from its public address only", async () => {
    await using secure = await startService({
      env: { OSTIARY_PUBLIC_URL: "https://keys.example", OSTIARY_CATALOG: catalog.file },
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
