import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { refusalOf, signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { statusOf } from "../fixtures/request.ts";
import type { Service } from "../fixtures/service.ts";
import { signUp, signUpWithKey, type Visitor } from "../fixtures/user.ts";

type ListedAccount = Awaited<ReturnType<Visitor["trpc"]["operator"]["accounts"]["get"]["query"]>>;

let service: Service;
let operator: Visitor;

beforeAll(async () => {
  service = await startOperatedService();
  operator = await signInOperator(service.baseUrl);
});
afterAll(() => service?.[Symbol.asyncDispose]());

const today = () => {
  const from = new Date();
  from.setUTCHours(0, 0, 0, 0);
  return { from, to: new Date(from.getTime() + 86_400_000), interval: "day" as const };
};

describe("an operator who reads an account", () => {
  it("sees what its users see: keys, usage, latency and entries, and no key string", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    expect(await statusOf(service.baseUrl, owner.key)).toBe(200);
    const { accounts } = operator.trpc.operator;
    const entries = await accounts.entries.query({ id });
    expect(entries).toEqual(await owner.trpc.audit.list.query());
    expect(entries.entries).toHaveLength(1);
    expect((await accounts.entries.query({ id, status: "error" })).entries).toEqual([]);
    const usage = await accounts.usage.query({ id, ...today(), groupBy: "key" });
    expect(usage).toEqual(await owner.trpc.usage.summary.query({ ...today(), groupBy: "key" }));
    expect(usage.total.requests).toBe(1);
    expect(await accounts.performance.query({ id, ...today() })).toEqual(
      await owner.trpc.usage.performance.query(today()),
    );
    const keys = await accounts.keys.query({ id });
    expect(keys).toEqual(await owner.trpc.keys.list.query());
    expect(keys.keys.map((key) => key.id)).toEqual([owner.id]);
    expect(JSON.stringify(keys)).not.toContain(owner.key);
  });

  it("is refused without the role", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { accounts, testUpstream } = owner.trpc.operator;
    const refusals = await Promise.all(
      [
        accounts.keys.query({ id }),
        accounts.usage.query({ id, ...today() }),
        accounts.entries.query({ id }),
        testUpstream.mutate({ name: "sandbox" }),
      ].map(refusalOf),
    );
    expect(refusals.map(({ code }) => code)).toEqual(Array(4).fill("permission_denied"));
  });
});

describe("the list of accounts", () => {
  it("has the usage of 30 days and the latest request", async () => {
    const [quiet, busy] = [await signUpWithKey(service.baseUrl), await signUpWithKey(service.baseUrl)];
    for (let number = 0; number < 3; number++) await statusOf(service.baseUrl, busy.key);
    const idOf = async (owner: typeof busy) => (await owner.trpc.account.get.query()).id;
    const { accounts } = operator.trpc.operator;
    const id = await idOf(busy);
    // Asking for usage waits until it is stored.
    const { total } = await accounts.usage.query({ id, ...today() });
    const account = await accounts.get.query({ id });
    expect(account).toMatchObject({ recentRequests: 3, recentCostNanoUsd: total.costNanoUsd });
    expect(Date.now() - (account.lastRequestHour?.getTime() ?? 0)).toBeLessThan(2 * 3_600_000);
    expect(await accounts.get.query({ id: await idOf(quiet) })).toMatchObject({
      recentRequests: 0,
      recentCostNanoUsd: 0n,
      lastRequestHour: null,
    });
    const [first] = (await accounts.list.query({ order: "requests", limit: 1 })).accounts;
    expect(first?.id).toBe(id);
  });

  it("is read in pages in each order and direction: each account once, and their number with the first page", async () => {
    const { accounts } = operator.trpc.operator;
    const name = `Paged ${crypto.randomUUID()}`;
    await using sql = await openDatabaseOf(service);
    const highest = 3n;
    // Two have the same balance, the highest that an account may have.
    for (const granted of [highest, 1n, highest, 20n, 0n]) {
      const email = `${crypto.randomUUID()}@example.com`;
      const { account } = await accounts.create.mutate({ email, accountName: name });
      if (granted === 0n) continue;
      const amountNanoUsd = granted * 1_000_000_000n;
      await accounts.grantCredits.mutate({ id: account.id, amountNanoUsd, reason: "paging" });
      if (granted === highest)
        await sql`update accounts set free_nano_usd = 4500000000000000000 where id = ${account.id}`;
    }
    const figures = {
      created: ({ createdAt }: ListedAccount) => BigInt(createdAt.getTime()),
      balance: ({ balanceNanoUsd }: ListedAccount) => balanceNanoUsd,
      cost: ({ recentCostNanoUsd }: ListedAccount) => recentCostNanoUsd,
      requests: ({ recentRequests }: ListedAccount) => BigInt(recentRequests),
    };
    for (const order of ["created", "balance", "cost", "requests"] as const) {
      for (const ascending of [false, true]) {
        const read: ListedAccount[] = [];
        const totals: (number | null)[] = [];
        let cursor: string | undefined;
        do {
          const page = await accounts.list.query({ search: name, order, ascending, limit: 2, cursor });
          read.push(...page.accounts);
          totals.push(page.total);
          cursor = page.nextCursor ?? undefined;
        } while (cursor !== undefined);
        expect(totals).toEqual([5, null, null]);
        const sign = ascending ? 1 : -1;
        const figure = figures[order];
        const expected = read.toSorted((a, b) => {
          const [one, other] = figure(a) === figure(b) ? [a.id, b.id] : [figure(a), figure(b)];
          return one < other ? -sign : sign;
        });
        expect(read.map((account) => account.id)).toEqual(expected.map((account) => account.id));
        expect(new Set(read.map((account) => account.id)).size).toBe(5);
      }
    }
    expect(await accounts.list.query({ search: name, limit: 5 })).toMatchObject({
      total: 5,
      nextCursor: null,
    });
    expect((await accounts.list.query({ search: `${name} none` })).total).toBe(0);
    const { code } = await refusalOf(accounts.list.query({ order: "balance", cursor: crypto.randomUUID() }));
    expect(code).toBe("invalid_request");
  });
});

describe("the audit trail", () => {
  it("is filtered by action, author, address and text", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    const { accounts, audit } = operator.trpc.operator;
    await accounts.suspend.mutate({ id, reason: "100% Chargeback" });
    await accounts.reinstate.mutate({ id });
    const found = async (filter: Parameters<typeof audit.query>[0]) =>
      (await audit.query({ accountId: id, ...filter })).actions.map(({ action }) => action);
    expect(await found({})).toHaveLength(3);
    expect(await found({ action: "account.reinstate" })).toEqual(["account.reinstate"]);
    expect(await found({ author: "OPERATOR@" })).toEqual(["account.reinstate", "account.suspend"]);
    expect(await found({ author: owner.email })).toEqual(["user.signUp"]);
    expect(await found({ source: "127.0.0.0/8" })).toHaveLength(3);
    expect(await found({ source: "192.0.2.0/24" })).toEqual([]);
    expect(await found({ search: "100% charge" })).toEqual(["account.suspend"]);
    expect(await found({ search: "1_0%" })).toEqual([]);
    const { code } = await refusalOf(audit.query({ source: "nowhere" }));
    expect(code).toBe("invalid_request");
  });
});

describe("the test of an upstream", () => {
  it("answers for a sandbox, refuses a name that the catalog has not, and is recorded", async () => {
    const { upstreams } = await operator.trpc.operator.catalog.query();
    const name = upstreams[0]?.name ?? "";
    const result = await operator.trpc.operator.testUpstream.mutate({ name });
    expect(result).toMatchObject({ problem: null, models: 0 });
    const { actions } = await operator.trpc.operator.audit.query({ action: "upstream.test" });
    expect(actions.map(({ after }) => after)).toEqual([{ upstream: name, accepted: true }]);
    const { code } = await refusalOf(operator.trpc.operator.testUpstream.mutate({ name: "none such" }));
    expect(code).toBe("not_found");
  });
});

describe("reads of operators that take long", () => {
  it.each<[string, string, (visitor: Visitor, id: string) => Promise<unknown>]>([
    ["the list of accounts", "usage_days", ({ trpc }) => trpc.operator.accounts.list.query()],
    ["an account", "usage_days", ({ trpc }, id) => trpc.operator.accounts.get.query({ id })],
    ["security events", "security_events", ({ trpc }) => trpc.operator.security.query()],
  ])("leave connections for requests with keys that the node does not know: %s", async (_, table, read) => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    await using sql = await openDatabaseOf(service);
    let reading: Promise<unknown> = Promise.resolve();
    // The lock stands for an installation in which the reads take seconds.
    const status = await sql.transaction("read write", async (locked) => {
      await locked.unsafe(`lock table ${table} in access exclusive mode`);
      reading = Promise.allSettled(Array.from({ length: 10 }, () => read(operator, id)));
      await expect
        .poll(() => sql`select from pg_locks where relation = ${table}::regclass and not granted`)
        .not.toEqual([]);
      return statusOf(service.baseUrl, owner.key);
    });
    await reading;
    expect(status).toBe(200);
  });

  it("test an address without adding up the account's usage", async () => {
    const { id } = await (await signUpWithKey(service.baseUrl)).trpc.account.get.query();
    await using sql = await openDatabaseOf(service);
    const tested = await sql.transaction("read write", async (locked) => {
      await locked`lock table usage_days in access exclusive mode`;
      return operator.trpc.operator.accounts.tryIpRules.query({ id, address: "192.0.2.1" });
    });
    expect(tested).toEqual({ verdict: "passes" });
  });
});
