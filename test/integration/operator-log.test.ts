import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { signUpWithKey, type Visitor } from "../fixtures/user.ts";

let service: Service;
let operator: Visitor;

beforeAll(async () => {
  service = await startOperatedService();
  operator = await signInOperator(service.baseUrl);
});
afterAll(() => service?.[Symbol.asyncDispose]());

const SECRET = "the quick brown fox keeps this to itself";

/** Sends a request, and returns its id. */
async function chat(key: string, model: string): Promise<string> {
  const response = await sendChat(service.baseUrl, key, {
    model,
    messages: [{ role: "user", content: SECRET }],
  });
  await response.arrayBuffer();
  return response.headers.get("x-request-id") ?? "";
}

async function newOwner() {
  const owner = await signUpWithKey(service.baseUrl);
  const { id: accountId, name } = await owner.trpc.account.get.query();
  return { ...owner, accountId, accountName: name };
}

describe("the log of all accounts", () => {
  it("has the entries of every account with the account, newest first, and nothing secret", async () => {
    const [one, other] = [await newOwner(), await newOwner()];
    const ids = [
      await chat(one.key, "sandbox/echo"),
      await chat(other.key, "sandbox/lorem"),
      await chat(one.key, "no/such/model"),
    ];
    const { log } = operator.trpc.operator;
    const { entries } = await log.list.query({ limit: 3 });
    expect(entries.map(({ requestId, account }) => [requestId, account])).toEqual([
      [ids[2], { id: one.accountId, name: one.accountName }],
      [ids[1], { id: other.accountId, name: other.accountName }],
      [ids[0], { id: one.accountId, name: one.accountName }],
    ]);
    const text = JSON.stringify(entries, (_, value) => (typeof value === "bigint" ? `${value}` : value));
    for (const secret of [SECRET, one.key, other.key]) expect(text).not.toContain(secret);
    // Each is what its owner sees.
    const own = await other.trpc.audit.get.query({ requestId: ids[1] ?? "" });
    expect(await log.get.query({ requestId: ids[1] ?? "" })).toEqual({
      ...own,
      account: { id: other.accountId, name: other.accountName },
    });
  });

  it("can be filtered by account, model, key, upstream, status and error code", async () => {
    const [one, other] = [await newOwner(), await newOwner()];
    const echo = await chat(one.key, "sandbox/echo");
    const failed = await chat(one.key, "no/such/model");
    const lorem = await chat(other.key, "sandbox/lorem");
    const ofBoth = [one.accountId, other.accountId] as string[];
    const found = async (filter: Parameters<typeof operator.trpc.operator.log.list.query>[0]) => {
      const { entries } = await operator.trpc.operator.log.list.query({ limit: 200, ...filter });
      return entries.flatMap(({ account, requestId }) => (ofBoth.includes(account.id) ? [requestId] : []));
    };
    expect(await found({})).toEqual([lorem, failed, echo]);
    expect(await found({ accountId: one.accountId })).toEqual([failed, echo]);
    expect(await found({ model: "sandbox/lorem" })).toEqual([lorem]);
    expect(await found({ model: "*/lor*" })).toEqual([lorem]);
    expect(await found({ key: other.id })).toEqual([lorem]);
    expect(await found({ key: other.key.slice(-4) })).toEqual([lorem]);
    expect(await found({ upstream: "sandbox" })).toEqual([lorem, echo]);
    expect(await found({ upstream: "elsewhere" })).toEqual([]);
    expect(await found({ status: "404" })).toEqual([failed]);
    expect(await found({ status: "error" })).toEqual([failed]);
    expect(await found({ error_code: "model_*" })).toEqual([failed]);
    expect(await found({ source: "203.0.113.0/24" })).toEqual([]);
    // An owner's log has the same filter.
    const { entries } = await one.trpc.audit.list.query({ upstream: "sandbox" });
    expect(entries.map(({ requestId }) => requestId)).toEqual([echo]);
  });

  it("is the same entries page by page, and its summary counts them", async () => {
    const owner = await newOwner();
    for (let number = 0; number < 7; number++) await chat(owner.key, "sandbox/echo");
    const { log } = operator.trpc.operator;
    const whole = await log.list.query({ limit: 1_000 });
    const paged: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await log.list.query({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      paged.push(...page.entries.map(({ requestId }) => requestId));
      expect(page.entries.length).toBeLessThanOrEqual(3);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(whole.entries.map(({ requestId }) => requestId));
    const { total, models } = await log.summary.query();
    expect(total.requests).toBe(paged.length);
    expect(models.reduce((sum, { requests }) => sum + requests, 0)).toBeLessThanOrEqual(paged.length);
    const own = await log.summary.query({ accountId: owner.accountId });
    expect(own).toMatchObject({
      total: { requests: 7, errors: 0 },
      models: [{ value: "sandbox/echo", requests: 7 }],
    });
  });

  it("is refused to others, and refuses what it does not know", async () => {
    const owner = await newOwner();
    const requestId = await chat(owner.key, "sandbox/echo");
    const foreign = owner.trpc.operator.log;
    const refusals = [foreign.list.query(), foreign.summary.query(), foreign.get.query({ requestId })];
    for (const refusal of await Promise.all(refusals.map(refusalOf))) {
      expect(refusal.code).toBe("permission_denied");
    }
    const { log } = operator.trpc.operator;
    const unknown = `req_${"0".repeat(12)}7000${"8".padEnd(16, "0")}`;
    expect((await refusalOf(log.get.query({ requestId: unknown }))).code).toBe("not_found");
    expect((await refusalOf(log.list.query({ cursor: "x" }))).code).toBe("invalid_request");
    const { nextCursor } = await log.list.query({ limit: 1 });
    expect(nextCursor).not.toBeNull();
    for (const other of [{ accountId: owner.accountId }, { status: "404" }]) {
      const refusal = await refusalOf(log.list.query({ ...other, cursor: nextCursor ?? "" }));
      expect(refusal.code).toBe("invalid_request");
    }
    expect((await refusalOf(log.list.query({ accountId: "x" }))).code).toBe("invalid_request");
    expect((await refusalOf(log.list.query({ limit: 1_001 }))).code).toBe("invalid_request");
  });
});
