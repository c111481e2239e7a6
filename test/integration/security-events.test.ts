import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inTransaction } from "../../server/src/database/database.ts";
import { mintSecretString } from "../../server/src/secrets/secret-string.ts";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { refusalOf, signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import { sendChat, statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { PASSWORD, signUp, signUpWithKey, type Visitor, visit } from "../fixtures/user.ts";
import { freshAddress, from, plainEvent, TRUSTING_PROXY, useUnknownKey } from "./security-events.ts";

const WRONG = "a wrong password";

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let operator: Visitor;

beforeAll(async () => {
  upstream = await startModelServer(({ response }) => response.writeHead(401).end("{}"));
  catalog = await writeCatalog({
    upstreams: { locked: { dialect: "openai", baseUrl: upstream.baseUrl } },
    models: [{ id: "acme/locked", routes: [{ upstream: "locked", model: "inner" }] }],
  });
  service = await startOperatedService({ env: { ...TRUSTING_PROXY, OSTIARY_CATALOG: catalog.file } });
  operator = await signInOperator(service.baseUrl);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

async function attempt(email: string, password: string, address: string): Promise<string> {
  return visit(service.baseUrl, from(address))
    .trpc.auth.signIn.mutate({ email, password })
    .then(
      () => "signed in",
      (error) => error.data.ostiary.code,
    );
}

/** What came from an address, last seen first. An hour may have begun in between: what it has parted is put together. */
async function seenFrom(address: string) {
  const { events } = await operator.trpc.operator.security.query({ source: address });
  const counts = new Map<string, number>();
  for (const { id: _, firstAt: __, lastAt: ___, count, ...group } of events) {
    const name = JSON.stringify(group);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return [...counts].map(([name, count]) => ({ ...JSON.parse(name), count }));
}

describe("a sign-in", () => {
  it("with a wrong password is recorded with its user, and for an unknown user without the input", async () => {
    const address = freshAddress();
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await attempt(owner.email.toUpperCase(), WRONG, address);
    await attempt(owner.email, WRONG, address);
    for (let number = 0; number < 3; number++) await attempt(`nobody-${number}@example.com`, WRONG, address);
    expect(await seenFrom(address)).toEqual([
      plainEvent("sign_in_failed", 3, address),
      {
        ...plainEvent("sign_in_failed", 2, address),
        account: { id, name: "Test" },
        userEmail: owner.email,
      },
    ]);
    expect(await attempt(owner.email, PASSWORD, address)).toBe("signed in");
    expect(await seenFrom(address)).toHaveLength(2);
  });

  it("over the limit is recorded as such, with a right or a wrong password", async () => {
    const address = freshAddress();
    const owner = await signUp(service.baseUrl);
    for (let number = 0; number < 10; number++) await attempt(owner.email, WRONG, address);
    expect(await attempt(owner.email, PASSWORD, address)).toBe("rate_limit_exceeded");
    expect(await attempt(owner.email, WRONG, address)).toBe("rate_limit_exceeded");
    expect(await seenFrom(address)).toMatchObject([
      { kind: "sign_in_limited", count: 2, userEmail: owner.email, account: { name: "Test" } },
      { kind: "sign_in_failed", count: 10, userEmail: owner.email },
    ]);
  });

  it("for many users from one address is recorded as one event", async () => {
    const address = freshAddress();
    for (const name of ["one", "other", "third"]) {
      const attempts = Array.from({ length: 12 }, () => attempt(`no-${name}@example.com`, WRONG, address));
      const outcomes = await Promise.all(attempts);
      expect(outcomes.filter((code) => code === "rate_limit_exceeded")).toHaveLength(2);
    }
    const seen = await seenFrom(address);
    expect(seen).toHaveLength(2);
    expect(seen).toContainEqual(plainEvent("sign_in_limited", 6, address));
    expect(seen).toContainEqual(plainEvent("sign_in_failed", 30, address));
  });

  it("of an operator is recorded, and so is a wrong password in changing it", async () => {
    const address = freshAddress();
    const visitor = visit(service.baseUrl, from(address));
    const { email, password } = { email: "operator@example.com", password: "an operator's password" };
    await visitor.trpc.auth.signIn.mutate({ email, password });
    await refusalOf(visitor.trpc.auth.changePassword.mutate({ current: WRONG, next: "a longer password" }));
    expect(await seenFrom(address)).toEqual([
      { ...plainEvent("sign_in_failed", 1, address), userEmail: email },
      { ...plainEvent("operator_signed_in", 1, address), userEmail: email },
    ]);
  });
});

describe("a key", () => {
  it("that is unknown or malformed is recorded with its source address only", async () => {
    const address = freshAddress();
    const foreign = mintSecretString("sk-");
    for (const key of [foreign, `${foreign.slice(0, -1)}!`, "sk-short", "xk-other"]) {
      expect(await statusOf(service.baseUrl, key, from(address))).toBe(401);
    }
    const caller = visit(service.baseUrl, { ...from(address), authorization: `Bearer ${foreign}` });
    await refusalOf(caller.trpc.keys.list.query());
    expect(await seenFrom(address)).toEqual([plainEvent("unknown_key", 5, address)]);
  });

  it("that is missing causes no event, and neither does one that is accepted", async () => {
    const address = freshAddress();
    const bareRequest = await fetch(`${service.baseUrl}/v1/models`, { headers: from(address) });
    expect(bareRequest.status).toBe(401);
    const { key } = await signUpWithKey(service.baseUrl);
    expect(await statusOf(service.baseUrl, key, from(address))).toBe(200);
    const unknownModel = await fetch(`${service.baseUrl}/v1/models/none`, {
      headers: { authorization: `Bearer ${key}`, ...from(address) },
    });
    expect(unknownModel.status).toBe(404);
    expect(await seenFrom(address)).toEqual([]);
  });

  it("that was revoked is recorded with its account and key ID", async () => {
    const address = freshAddress();
    const owner = await signUpWithKey(service.baseUrl);
    const { id, name } = await owner.trpc.account.get.query();
    await owner.trpc.keys.revoke.mutate({ id: owner.id });
    await statusOf(service.baseUrl, owner.key, from(address));
    const caller = visit(service.baseUrl, { ...from(address), authorization: `Bearer ${owner.key}` });
    await refusalOf(caller.trpc.keys.list.query());
    expect(await seenFrom(address)).toEqual([
      { ...plainEvent("revoked_key", 2, address), account: { id, name }, keyId: owner.key.slice(-4) },
    ]);
  });

  it("or management token is recorded when its account is suspended or its address blocked", async () => {
    const address = freshAddress();
    const owner = await signUpEnterprise(service.baseUrl, operator);
    const id = owner.accountId;
    const { key } = await owner.trpc.keys.create.mutate({ name: "ruled" });
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    const { accounts } = operator.trpc.operator;
    const use = async () => {
      expect(await statusOf(service.baseUrl, key, from(address))).toBe(403);
      const script = visit(service.baseUrl, { ...from(address), authorization: `Bearer ${token}` });
      expect((await refusalOf(script.trpc.keys.list.query())).status).toBe(403);
    };
    await accounts.setIpRules.mutate({ id, rules: { networks: ["192.0.2.0/24"] } });
    await use();
    await accounts.suspend.mutate({ id, reason: "unpaid" });
    await use();
    const account = { id, name: "Test" };
    const keyId = key.slice(-4);
    expect(await seenFrom(address)).toEqual([
      { ...plainEvent("account_suspended", 1, address), account },
      { ...plainEvent("account_suspended", 1, address), account, keyId },
      { ...plainEvent("ip_blocked", 1, address), account },
      { ...plainEvent("ip_blocked", 1, address), account, keyId },
    ]);
  });
});

describe("a management token", () => {
  it("that is refused is recorded with its source address only", async () => {
    const address = freshAddress();
    const owner = await signUp(service.baseUrl);
    const { token, id } = await owner.trpc.tokens.create.mutate({ name: "script" });
    await owner.trpc.tokens.revoke.mutate({ id });
    for (const wrong of [token, mintSecretString("mt-"), "mt-short"]) {
      const headers = { ...from(address), authorization: `Bearer ${wrong}` };
      expect((await fetch(`${service.baseUrl}/v1/audit`, { headers })).status).toBe(401);
      await refusalOf(visit(service.baseUrl, headers).trpc.keys.list.query());
    }
    expect(await seenFrom(address)).toEqual([plainEvent("management_token_refused", 6, address)]);
  });
});

describe("an upstream", () => {
  it("that refuses the service's credential is recorded by its name", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const response = await sendChat(service.baseUrl, key, { model: "acme/locked" });
    expect(response.status).toBe(502);
    const { events } = await operator.trpc.operator.security.query({ kind: "upstream_credential_refused" });
    expect(events).toMatchObject([
      { ...plainEvent("upstream_credential_refused", 1, null), upstream: "locked" },
    ]);
  });
});

describe("the list of security events", () => {
  it("includes those that are being written when it is asked for", async () => {
    const address = freshAddress();
    const owner = await signUp(service.baseUrl);
    await using sql = await openDatabaseOf(service);
    const { listed } = await inTransaction(sql, async (transaction) => {
      await transaction`lock table security_events in exclusive mode`;
      await useUnknownKey(service.baseUrl, address);
      // The service writes events every few seconds.
      const waits = async () => {
        await transaction`select`; // so that the server does not end it as idle
        return sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      };
      await expect.poll(waits, { timeout: 20_000 }).toHaveLength(1);
      const listed = operator.trpc.operator.security.query({ source: address });
      // A list that waits for nothing would be read by the time that this is answered, which is sent later.
      for (let later = 0; later < 3; later++) await owner.trpc.account.get.query();
      return { listed };
    });
    expect((await listed).events).toHaveLength(1);
  });

  it("has the first and last time of each, and counts repetitions", async () => {
    const address = freshAddress();
    const before = Date.now();
    await useUnknownKey(service.baseUrl, address);
    const [first] = (await operator.trpc.operator.security.query({ source: address })).events;
    await expect.poll(() => Date.now()).toBeGreaterThan(first?.lastAt.getTime() ?? 0);
    await useUnknownKey(service.baseUrl, address);
    const { events } = await operator.trpc.operator.security.query({ source: address });
    const [last] = events;
    // An hour may have begun in between.
    const count = events.reduce((sum, event) => sum + event.count, 0);
    expect(count).toBe(2);
    expect(events.at(-1)?.id).toBe(first?.id);
    expect(events.at(-1)?.firstAt).toEqual(first?.firstAt);
    expect(first?.firstAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(last?.lastAt.getTime()).toBeGreaterThan(first?.lastAt.getTime() ?? 0);
  });

  it("can be filtered by kind, account and source", async () => {
    const { trpc } = operator;
    const query = trpc.operator.security.query;
    const [one, other] = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    for (const owner of [one, other]) {
      await owner.trpc.keys.revoke.mutate({ id: owner.id });
      await statusOf(service.baseUrl, owner.key, from("2001:db8:77::1"));
    }
    await useUnknownKey(service.baseUrl, "2001:db8:77:1::2");
    await useUnknownKey(service.baseUrl, "172.20.5.6");
    const { id: accountId } = await one.trpc.account.get.query();
    expect((await query({ accountId })).events).toMatchObject([
      { kind: "revoked_key", account: { id: accountId } },
    ]);
    expect((await query({ accountId, kind: "unknown_key" })).events).toEqual([]);
    expect((await query({ source: "2001:db8:77::/48" })).events).toHaveLength(3);
    expect((await query({ source: "2001:db8:77::/48", kind: "unknown_key" })).events).toMatchObject([
      { sourceIp: "2001:db8:77:1::2" },
    ]);
    expect((await query({ source: "172.20.0.0/16" })).events).toHaveLength(1);
    expect((await query({ source: "172.20.5.6" })).events).toHaveLength(1);
    expect((await query({ source: "::ffff:172.20.5.6" })).events).toHaveLength(1);
    expect((await query({ source: "::ffff:172.20.0.0/112" })).events).toHaveLength(1);
    expect((await query({ source: "172.20.5.7" })).events).toEqual([]);
    const kinds = new Set((await query({ kind: "revoked_key", limit: 200 })).events.map(({ kind }) => kind));
    expect([...kinds]).toEqual(["revoked_key"]);
  });

  it("is read in pages, latest first, each event once", async () => {
    for (let number = 1; number <= 11; number++) {
      await useUnknownKey(service.baseUrl, `172.21.0.${number}`);
    }
    // Seen again, the first is the last.
    await useUnknownKey(service.baseUrl, "172.21.0.1");
    const query = operator.trpc.operator.security.query;
    const seen: (string | null)[] = [];
    const times: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await query({
        source: "172.21.0.0/24",
        limit: 4,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...page.events.map(({ sourceIp }) => sourceIp));
      times.push(...page.events.map(({ lastAt }) => lastAt.getTime()));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(new Set(seen).size).toBe(11);
    expect(seen).toHaveLength(11);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect((await query({ limit: 1 })).events).toHaveLength(1);
  });

  it("refuses invalid filters, and callers who are not operators", async () => {
    const query = operator.trpc.operator.security.query;
    for (const wrong of [{ source: "10.0.0.0/40" }, { cursor: "1~2" }, { cursor: "x" }, { limit: 201 }]) {
      expect((await refusalOf(query(wrong))).code, JSON.stringify(wrong)).toBe("invalid_request");
    }
    expect((await refusalOf(query({ kind: "made_up" as "unknown_key" }))).code).toBe("invalid_request");
    const owner = await signUpWithKey(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "script" });
    for (const { trpc } of [
      visit(service.baseUrl),
      owner,
      visit(service.baseUrl, { authorization: `Bearer ${owner.key}` }),
      visit(service.baseUrl, { authorization: `Bearer ${token}` }),
    ]) {
      expect([401, 403]).toContain((await refusalOf(trpc.operator.security.query())).status);
    }
  });
});
