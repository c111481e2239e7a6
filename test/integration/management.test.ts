import { setImmediate } from "node:timers/promises";
import type { AppRouter } from "@ostiary/server/router";
import { createTRPCClient, httpBatchLink, httpLink, type TRPCClientError } from "@trpc/client";
import superjson from "superjson";
import { beforeAll, describe, expect, it } from "vitest";
import { refusalOf, signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { slowPost } from "../fixtures/slow-post.ts";
import { PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";

const service = sharedByFile(startOperatedService);
let operator: Visitor;

beforeAll(async () => {
  operator = await signInOperator(service.baseUrl);
});

/** A mutation whose body is held back after its first bytes, until `finish`. */
function slowMutation(path: string, input: unknown, headers: Record<string, string>) {
  return slowPost(`${service.baseUrl}/trpc/${path}`, headers, JSON.stringify({ json: input }));
}

describe("a call whose body is still being sent", () => {
  it("is refused when its management token was revoked meanwhile", async () => {
    const owner = await signUp(service.baseUrl);
    const { id, token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const call = slowMutation("keys.create", { name: "late" }, { authorization: `Bearer ${token}` });
    await owner.trpc.tokens.revoke.mutate({ id });
    expect(await call.finish()).toBe(401);
    expect((await owner.trpc.keys.list.query()).keys).toEqual([]);
  });

  it("is refused when its session ended meanwhile", async () => {
    const owner = await signUp(service.baseUrl);
    const call = slowMutation("tokens.create", { name: "late" }, { cookie: owner.cookie() });
    await owner.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "another long password" });
    expect(await call.finish()).toBe(401);
    expect((await owner.trpc.tokens.list.query()).tokens).toEqual([]);
  });

  it("is refused when IP rules excluded its address meanwhile", async () => {
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const call = slowMutation("keys.create", { name: "late" }, { authorization: `Bearer ${token}` });
    await operator.trpc.operator.accounts.setIpRules.mutate({
      id: owner.accountId,
      rules: { networks: ["192.0.2.0/24"] },
    });
    expect(await call.finish()).toBe(403);
  });
});

describe("a replaced password", () => {
  it("can no longer open a session, even in a sign-in that was in progress", async () => {
    for (let round = 0; round < 4; round++) {
      const owner = await signUp(service.baseUrl);
      const thieves = Array.from({ length: 8 }, () => visit(service.baseUrl));
      const attempts = thieves.map(({ trpc }) =>
        trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD }).catch(() => null),
      );
      await owner.trpc.auth.changePassword.mutate({ current: PASSWORD, next: "another long password" });
      await Promise.all(attempts);
      for (const { trpc } of thieves) expect(await trpc.auth.me.query()).toBeNull();
      expect((await owner.trpc.auth.me.query())?.user.email).toBe(owner.email);
    }
  });

  it("that an operator set can't be changed back with the former one", async () => {
    for (let round = 0; round < 6; round++) {
      const owner = await signUp(service.baseUrl);
      const thief = visit(service.baseUrl);
      await thief.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
      const change = thief.trpc.auth.changePassword
        .mutate({ current: PASSWORD, next: "the thief's own password" })
        .catch(() => null);
      const reset = await operator.trpc.operator.users.resetPassword.mutate({ email: owner.email });
      await change;
      expect(await thief.trpc.auth.me.query()).toBeNull();
      await visit(service.baseUrl).trpc.auth.signIn.mutate({ email: owner.email, password: reset.password });
    }
  });
});

describe("management tokens of a user whose password is replaced", () => {
  const holds = async (token: string) => {
    const script = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    return (await script.trpc.keys.list.query().catch(() => null)) !== null;
  };

  it("end when an operator resets it, unless the operator keeps them", async () => {
    const owner = await signUp(service.baseUrl);
    const { email } = owner;
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const { resetPassword } = operator.trpc.operator.users;
    expect(await resetPassword.mutate({ email, revokeTokens: false })).toMatchObject({ revokedTokens: 0 });
    expect(await holds(token)).toBe(true);
    expect(await resetPassword.mutate({ email })).toMatchObject({ revokedTokens: 1 });
    expect(await holds(token)).toBe(false);
    const { actions } = await operator.trpc.operator.audit.query({ limit: 1 });
    expect(actions[0]).toMatchObject({ action: "user.resetPassword", after: { email, revokedTokens: 1 } });
  });

  it("end when the user changes it and asks for that", async () => {
    const owner = await signUp(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const [second, third] = ["a second password", "a third password"];
    await owner.trpc.auth.changePassword.mutate({ current: PASSWORD, next: second });
    expect(await holds(token)).toBe(true);
    await owner.trpc.auth.changePassword.mutate({ current: second, next: third, revokeTokens: true });
    expect(await holds(token)).toBe(false);
  });

  it("can't be created by a session that ends at that moment", async () => {
    for (let round = 0; round < 4; round++) {
      const owner = await signUp(service.baseUrl);
      const thief = visit(service.baseUrl);
      await thief.trpc.auth.signIn.mutate({ email: owner.email, password: PASSWORD });
      const made = Array.from({ length: 5 }, () =>
        thief.trpc.tokens.create.mutate({ name: "thief's" }).catch(() => null),
      );
      await operator.trpc.operator.users.resetPassword.mutate({ email: owner.email });
      for (const created of await Promise.all(made)) {
        if (created !== null) expect(await holds(created.token)).toBe(false);
      }
    }
  });
});

describe("an operator's management token", () => {
  it("can't reset the operator's password or create another token", async () => {
    const { token } = await operator.trpc.tokens.create.mutate({ name: "leaked" });
    const leaked = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    const { resetPassword } = leaked.trpc.operator.users;
    expect((await refusalOf(resetPassword.mutate({ email: "operator@example.com" }))).code).toBe(
      "permission_denied",
    );
    expect((await refusalOf(leaked.trpc.tokens.create.mutate({ name: "next" }))).code).toBe(
      "permission_denied",
    );
  });
});

describe("a suspended account's management token", () => {
  it("is refused like its keys, while its user can sign in", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    await operator.trpc.operator.accounts.suspend.mutate({ id, reason: "leak" });
    const script = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    expect((await refusalOf(script.trpc.keys.list.query())).code).toBe("account_suspended");
    expect((await owner.trpc.keys.list.query()).keys).toHaveLength(1);
  });
});

describe("an operator's action in an owner's audit trail", () => {
  it("names an operator, without who and from where", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await operator.trpc.operator.accounts.setPlan.mutate({ id, plan: "pro" });
    const [action] = (await owner.trpc.account.actions.query()).actions;
    expect(action).toMatchObject({ action: "account.setPlan", byOperator: true, by: null, userEmail: null });
  });
});

describe("concurrent calls", () => {
  it("of one user are queued, and none of them fails", async () => {
    const owner = await signUp(service.baseUrl);
    const { id, token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const script = visit(service.baseUrl, { authorization: `Bearer ${token}` });
    for (let round = 0; round < 6; round++) {
      const names = Array.from({ length: 3 }, () => crypto.randomUUID());
      await Promise.all(
        names.flatMap((name) => [
          owner.trpc.keys.create.mutate({ name: `key ${name}` }),
          owner.trpc.tokens.create.mutate({ name: `token ${name}` }),
          script.trpc.keys.create.mutate({ name: `script ${name}` }),
        ]),
      );
    }
    const last = script.trpc.keys.create.mutate({ name: "last" }).catch((error) => error.data.httpStatus);
    expect((await owner.trpc.tokens.revoke.mutate({ id })).revokedAt).not.toBeNull();
    expect(await last).not.toBe(500);
  });
});

describe("a request for procedures with an API key", () => {
  /** `status error_code` of all entries that a new key has when these requests were answered, in no order. */
  async function recordedOf(requests: readonly (readonly [path: string, init: RequestInit])[]) {
    const { key, trpc } = await signUpWithKey(service.baseUrl);
    for (const [path, init] of requests) {
      const headers = { authorization: `Bearer ${key}`, ...init.headers };
      await (await fetch(`${service.baseUrl}/trpc/${path}`, { ...init, headers })).text();
    }
    const { entries } = await trpc.audit.list.query({});
    return entries.map(({ status, errorCode }) => `${status} ${errorCode}`).sort();
  }

  it("is recorded when it is refused before its caller is known", async () => {
    const json = { "content-type": "application/json" };
    const recorded = await recordedOf([
      ["keys.create", { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" }],
      ["keys.create", { method: "POST", headers: { ...json, origin: "http://evil.example" }, body: "{}" }],
      ["keys.create", { method: "POST", headers: json, body: JSON.stringify({ json: "x".repeat(40_000) }) }],
      ["keys.list", { method: "PUT", headers: json, body: "{}" }],
      ["keys.list", { method: "HEAD" }],
    ]);
    expect(recorded).toEqual([
      "403 permission_denied",
      "405 method_not_allowed",
      "405 method_not_allowed",
      "413 request_too_large",
      "415 unsupported_media_type",
    ]);
  });

  it("is recorded with the code of the error that it was answered with", async () => {
    const json = { "content-type": "application/json" };
    const input = (value: unknown) => encodeURIComponent(JSON.stringify({ json: value }));
    const recorded = await recordedOf([
      ["keys.create", { method: "POST", headers: json, body: JSON.stringify({ json: { name: "a" } }) }],
      [`usage.summary?input=${input({ from: "x" })}`, {}],
      ["nope.nope", {}],
      ["keys.list", {}],
    ]);
    expect(recorded).toEqual(["200 null", "400 invalid_request", "403 permission_denied", "404 not_found"]);
  });
});

describe("a batch whose client wants each result as soon as it is ready", () => {
  const STREAMED = { "trpc-accept": "application/jsonl", "content-type": "application/json" };

  /** Calls a mutation as the only one of a batch. */
  function mutate(name: string, input: unknown, headers: Readonly<Record<string, string>> = {}) {
    return fetch(`${service.baseUrl}/trpc/${name}?batch=1`, {
      method: "POST",
      headers: { ...STREAMED, ...headers },
      body: JSON.stringify({ 0: input === undefined ? {} : { json: input } }),
    });
  }

  it("signs in and out like any other", async () => {
    const owner = await signUp(service.baseUrl);
    const signedIn = await mutate("auth.signIn", { email: owner.email, password: PASSWORD });
    expect(await signedIn.text()).toContain(owner.email);
    const [cookie = ""] = signedIn.headers.getSetCookie();
    expect(cookie).toMatch(/^ostiary_session=/);
    const signedOut = await mutate("auth.signOut", undefined, { cookie: cookie.split(";", 1)[0] ?? "" });
    await signedOut.text();
    expect(signedOut.headers.getSetCookie()).toEqual([expect.stringMatching(/^ostiary_session=;/)]);
  });

  it("is recorded with the code of the error that it was answered with, and has all results", async () => {
    const { key, trpc } = await signUpWithKey(service.baseUrl);
    const answer = await fetch(`${service.baseUrl}/trpc/tokens.list,models.list?batch=1`, {
      headers: { ...STREAMED, authorization: `Bearer ${key}` },
    });
    const text = await answer.text();
    expect(text).toContain("sandbox/echo");
    expect(text).toContain("permission_denied");
    const { entries } = await trpc.audit.list.query({});
    expect(entries.map(({ errorCode }) => errorCode)).toEqual(["permission_denied"]);
  });
});

describe("a request for procedures that is refused as a whole", () => {
  it("is understood by tRPC's own links, and by clients of the HTTP API", async () => {
    const options = {
      url: `${service.baseUrl}/trpc`,
      transformer: superjson,
      headers: { authorization: "Bearer mt-unknown" },
    };
    for (const link of [httpLink<AppRouter>(options), httpBatchLink<AppRouter>(options)]) {
      const trpc = createTRPCClient<AppRouter>({ links: [link] });
      const error = await trpc.keys.list.query().catch((thrown: TRPCClientError<AppRouter>) => thrown);
      expect(error).toMatchObject({
        message: expect.stringContaining("token"),
        data: { code: "UNAUTHORIZED", httpStatus: 401, ostiary: { code: "invalid_management_token" } },
      });
    }
    const answer = await fetch(`${options.url}/keys.list`, { headers: options.headers });
    expect(await answer.json()).toMatchObject({
      error: { code: "invalid_management_token", message: expect.stringContaining("token") },
    });
  });
});

describe("bad input", () => {
  it("of unlimited length is refused before its end", async () => {
    let isAnswered = false;
    const endless = new ReadableStream({
      pull: async (controller) => {
        await setImmediate();
        // `fetch` would read on for as long as the process runs.
        if (isAnswered) controller.close();
        else controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
    const outcome = await fetch(`${service.baseUrl}/trpc/auth.signIn`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: endless,
      duplex: "half",
    } as RequestInit).then(
      (response) => response.status,
      // The service need not wait for more of it to say no.
      () => "cut",
    );
    isAnswered = true;
    expect([413, "cut"]).toContain(outcome);
  });

  it("never causes a 500", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const evil = [
      "\u0000",
      "\ud800",
      "a\u0000b",
      "\u202e",
      "x".repeat(5_000),
      "%",
      "\\",
      "'; drop table keys; --",
    ];
    const calls = evil.flatMap((text) => [
      visit(service.baseUrl).trpc.auth.signUp.mutate({
        email: `${crypto.randomUUID()}@example.com`,
        password: PASSWORD,
        accountName: text,
      }),
      visit(service.baseUrl).trpc.auth.signIn.mutate({ email: text, password: text }),
      owner.trpc.keys.create.mutate({ name: text, idempotencyKey: text }),
      owner.trpc.keys.revoke.mutate({ id: text }),
      owner.trpc.tokens.create.mutate({ name: text }),
      owner.trpc.audit.list.query({ cursor: text }),
      owner.trpc.account.tryAddress.query({ address: text }),
      operator.trpc.operator.accounts.list.query({ search: text }),
      operator.trpc.operator.accounts.suspend.mutate({ id, reason: text }),
      operator.trpc.operator.accounts.grantCredits.mutate({ id, amountNanoUsd: 1n, reason: text }),
      operator.trpc.operator.accounts.create.mutate({ email: `${text}@example.com`, accountName: text }),
      operator.trpc.operator.accounts.setIpRules.mutate({ id, rules: { networks: [text] } }),
    ]);
    const statuses = await Promise.all(
      calls.map((call) =>
        call.then(
          () => 200,
          (error) => error.data?.httpStatus ?? error.meta?.response?.status,
        ),
      ),
    );
    expect(statuses.filter((status) => !(status < 500))).toEqual([]);
    await operator.trpc.operator.accounts.reinstate.mutate({ id });
  });

  it("in a foreign cookie does not lock its browser out", async () => {
    const { trpc } = visit(service.baseUrl, { cookie: "other=%zz; ostiary_session=%E0%A4%A" });
    expect(await trpc.auth.me.query()).toBeNull();
  });

  it("with an ID in upper case means the same ID", async () => {
    const { trpc, id } = await signUpWithKey(service.baseUrl);
    expect((await trpc.keys.usage.query({ id: id.toUpperCase() })).name).toBe("test");
    expect((await trpc.keys.rotate.mutate({ id: id.toUpperCase() })).replaces).toBe(id);
  });

  it("with an amount of credit out of range is refused", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { grantCredits } = operator.trpc.operator.accounts;
    const most = 9_000_000_000_000_000n;
    expect((await refusalOf(grantCredits.mutate({ id, amountNanoUsd: most + 1n, reason: "x" }))).code).toBe(
      "invalid_request",
    );
    expect((await refusalOf(grantCredits.mutate({ id, amountNanoUsd: 0n, reason: "x" }))).code).toBe(
      "invalid_request",
    );
    expect((await grantCredits.mutate({ id, amountNanoUsd: most, reason: "x" })).balanceNanoUsd).toBe(
      most + 5_000_000_000n,
    );
    expect((await operator.trpc.operator.accounts.get.query({ id })).balanceNanoUsd).toBe(
      most + 5_000_000_000n,
    );
  });
});
