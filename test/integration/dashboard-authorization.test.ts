import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signUpEnterprise } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { PASSWORD, signUp, signUpWithKey, visit } from "../fixtures/user.ts";
import {
  asKey,
  bodyOf,
  CHAT,
  type DashboardService,
  EXPORT,
  type Headers,
  lastEntryOf,
  refusalOf,
  slowChat,
  startDashboardService,
} from "./dashboard-service.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;

let dashboard: DashboardService;

beforeAll(async () => {
  dashboard = await startDashboardService();
});

afterAll(() => dashboard?.[Symbol.asyncDispose]());

describe("a request in a session at the dashboard", () => {
  it("is refused without a valid session, whatever other credentials it has", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
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
      expect(await refusalOf(dashboard.chat({ "ostiary-key": owner.id, ...headers })), told).toEqual(
        notSignedIn,
      );
      expect(await refusalOf(fetch(dashboard.baseUrl + EXPORT, { headers })), told).toEqual(notSignedIn);
    }
    const signedIn = asKey(owner, owner.id);
    await owner.trpc.auth.signOut.mutate();
    expect(await refusalOf(dashboard.chat(signedIn))).toEqual(notSignedIn);
    expect(await refusalOf(fetch(dashboard.baseUrl + EXPORT, { headers: signedIn }))).toEqual(notSignedIn);
    const again = visit(dashboard.baseUrl);
    await again.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
    expect((await again.trpc.audit.list.query()).entries).toEqual([]);
  });

  it("is refused when another site's page has sent it", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const foreign: Headers[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: dashboard.baseUrl.replace("http:", "https:") },
    ];
    for (const headers of foreign) {
      const refusal = { status: 403, code: "permission_denied", param: null };
      const chat = refusalOf(dashboard.chat({ ...asKey(owner, owner.id), ...headers }));
      expect(await chat, JSON.stringify(headers)).toEqual(refusal);
      const exported = fetch(dashboard.baseUrl + EXPORT, { headers: { cookie: owner.cookie(), ...headers } });
      expect(await refusalOf(exported), JSON.stringify(headers)).toEqual(refusal);
    }
    const form = dashboard.chat({ ...asKey(owner, owner.id), "content-type": "text/plain" });
    expect(await refusalOf(form)).toMatchObject({ status: 415 });
    const preflight = await fetch(dashboard.baseUrl + CHAT, { method: "OPTIONS" });
    expect([...preflight.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    const { entries } = await owner.trpc.audit.list.query();
    expect(entries.map(({ status }) => status)).toEqual([415]);
  });

  it("is refused with another account's key or an unknown one", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const other = await signUpWithKey(dashboard.baseUrl);
    for (const id of [other.id, crypto.randomUUID()]) {
      expect(await refusalOf(dashboard.chat(asKey(owner, id)))).toEqual({
        status: 404,
        code: "not_found",
        param: "ostiary-key",
      });
    }
    const unnamed = { cookie: owner.cookie() };
    for (const headers of [unnamed, asKey(owner, ""), asKey(owner, owner.key), asKey(owner, "x")]) {
      expect(await refusalOf(dashboard.chat(headers))).toEqual({
        status: 400,
        code: "invalid_request",
        param: "ostiary-key",
      });
    }
    for (const { trpc } of [owner, other]) expect((await trpc.audit.list.query()).entries).toEqual([]);
  });

  it("is refused with a revoked key, and the owner sees it in the log", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    expect((await dashboard.chat(asKey(owner, owner.id))).status).toBe(200);
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    expect(await refusalOf(dashboard.chat(asKey(owner, owner.id)))).toEqual({
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

  it("is refused for a chat of a suspended account, whose log can still be exported", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await (await dashboard.chat(asKey(owner, owner.id))).arrayBuffer();
    await dashboard.operator.trpc.operator.accounts.suspend.mutate({ id, reason: "leak" });
    expect(await refusalOf(dashboard.chat(asKey(owner, owner.id)))).toMatchObject({
      status: 403,
      code: "account_suspended",
    });
    const response = await fetch(dashboard.baseUrl + EXPORT, { headers: { cookie: owner.cookie() } });
    expect((await response.text()).split("\n")).toHaveLength(2 + 1);
    await dashboard.operator.trpc.operator.accounts.reinstate.mutate({ id });
    expect((await dashboard.chat(asKey(owner, owner.id))).status).toBe(200);
  });

  it("is refused for a chat from outside the account's IP rules", async () => {
    const owner = await signUpEnterprise(dashboard.baseUrl, dashboard.operator);
    const key = await owner.trpc.keys.create.mutate({ name: "ruled" });
    const setRules = (networks: string[]) =>
      dashboard.operator.trpc.operator.accounts.setIpRules.mutate({
        id: owner.accountId,
        rules: { networks },
      });
    await setRules(["192.0.2.0/24"]);
    expect(await refusalOf(dashboard.chat(asKey(owner, key.id)))).toMatchObject({
      status: 403,
      code: "ip_blocked",
    });
    await setRules(["127.0.0.0/8"]);
    expect((await dashboard.chat(asKey(owner, key.id))).status).toBe(200);
  });

  it("is refused for an operator, who has no account", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const denied = { status: 403, code: "permission_denied", param: null };
    expect(await refusalOf(dashboard.chat(asKey(dashboard.operator, owner.id)))).toEqual(denied);
    const headers = { cookie: dashboard.operator.cookie() };
    expect(await refusalOf(fetch(dashboard.baseUrl + EXPORT, { headers }))).toEqual(denied);
  });

  it("is served only at its own paths, which the OpenAPI document does not contain", async () => {
    const { key } = await signUpWithKey(dashboard.baseUrl);
    const headers = { authorization: `Bearer ${key}` };
    const { paths } = await (await fetch(`${dashboard.baseUrl}/v1/openapi.json`)).json();
    expect(Object.keys(paths).filter((path) => path.includes("dashboard"))).toEqual([]);
    for (const path of ["/dashboard/", "/dashboard/models", "/dashboard/v1/models", `${CHAT}/x`]) {
      expect(await refusalOf(fetch(dashboard.baseUrl + path, { headers })), path).toMatchObject({
        status: 404,
      });
    }
    expect(await refusalOf(fetch(dashboard.baseUrl + CHAT))).toMatchObject({ code: "method_not_allowed" });
    expect((await fetch(`${dashboard.baseUrl}/dashboard`)).headers.get("content-type")).toContain(
      "text/html",
    );
  });
});

describe("a chat whose body is still being sent", () => {
  it("is refused when its session ended meanwhile", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    const call = slowChat(dashboard.baseUrl, asKey(owner, owner.id));
    await owner.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "another long password" });
    expect(await call.finish()).toBe(401);
    expect((await owner.trpc.audit.list.query({ status: "200" })).entries).toEqual([]);
  });

  it("is refused when its key was revoked meanwhile", async () => {
    const owner = await signUpWithKey(dashboard.baseUrl);
    await (await dashboard.chat(asKey(owner, owner.id))).arrayBuffer();
    const call = slowChat(dashboard.baseUrl, asKey(owner, owner.id));
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    expect(await call.finish()).toBe(401);
    expect(await lastEntryOf(owner)).toMatchObject({ errorCode: "revoked_api_key" });
  });
});

describe.skipIf(!isDistributed)("a key that was revoked at one node", () => {
  it("is refused for chats at another node that knew it, as soon as the revocation is answered", async () => {
    await using other = await startService({
      databaseUrl: dashboard.databaseUrl ?? "",
      env: { OSTIARY_CATALOG: dashboard.env.OSTIARY_CATALOG },
    });
    const owner = await signUp(dashboard.baseUrl);
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
