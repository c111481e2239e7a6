import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raiseVersion, unpublishedVersionsIn } from "../../server/src/admission/publisher.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type Database, inTransaction } from "../../server/src/database/database.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { signInOperator, signUpEnterprise, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { signUp, type Visitor } from "../fixtures/user.ts";

let service: Service;
let operator: Visitor;
let database: ServiceDatabase;
let accountId: AccountId;
let owner: Visitor;

beforeAll(async () => {
  service = await startOperatedService();
  operator = await signInOperator(service.baseUrl);
  const enterprise = await signUpEnterprise(service.baseUrl, operator);
  owner = enterprise;
  accountId = enterprise.accountId as AccountId;
  database = await openDatabaseOf(service);
});

afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

async function versionOf(): Promise<bigint> {
  const [row] = await database<{ version: bigint }[]>`select version from accounts where id = ${accountId}`;
  return row?.version ?? 0n;
}

describe("a version that is not published yet", () => {
  it("is the newest of its account, and stays until that one is published", async () => {
    // The service's sweep does not see what is not committed.
    const undone = new Error("undone");
    const inside = inTransaction(database, async (sql) => {
      // A transaction runs statements as a pool does.
      const unpublished = unpublishedVersionsIn(sql as unknown as Database);
      const first = await raiseVersion(sql, accountId);
      const second = await raiseVersion(sql, accountId);
      expect(second).toBe(first + 1n);
      const waits = { accountId, version: second };
      expect(await unpublished.list(null, 10)).toContainEqual(waits);
      await unpublished.clear(accountId, first);
      expect(await unpublished.list(null, 10)).toContainEqual(waits);
      expect(await unpublished.isPending(accountId, first)).toBe(true);
      expect(await unpublished.isPending(accountId, second + 1n)).toBe(false);
      await unpublished.clear(accountId, second);
      expect(await unpublished.isPending(accountId, first)).toBe(false);
      throw undone;
    });
    await expect(inside).rejects.toBe(undone);
  });
});

describe("a change that is repeated", () => {
  it("of a key is published again, and neither recorded again nor given another time", async () => {
    const { id } = await owner.trpc.keys.create.mutate({ name: "revoked twice" });
    const before = await versionOf();
    const { revokedAt } = await owner.trpc.keys.revoke.mutate({ id });
    expect((await owner.trpc.keys.revoke.mutate({ id })).revokedAt).toEqual(revokedAt);
    expect(await versionOf()).toBe(before + 2n);
    const actions = await database`
      select from actions where account_id = ${accountId} and action = 'key.revoke'`;
    expect(actions).toHaveLength(1);
  });

  it("of an account is published again, as its publication may have failed, and recorded once", async () => {
    const { suspend } = operator.trpc.operator.accounts;
    const before = await versionOf();
    await suspend.mutate({ id: accountId, reason: "abuse" });
    await suspend.mutate({ id: accountId, reason: "abuse" });
    expect(await versionOf()).toBe(before + 2n);
    const actions = await database`
      select from actions where account_id = ${accountId} and action = 'account.suspend'`;
    expect(actions).toHaveLength(1);
  });
});

describe("changes of an account that are made at the same time", () => {
  it("are all in force, and none undoes another", async () => {
    const { suspend, setPlan, setLimits, get } = operator.trpc.operator.accounts;
    const { id } = await (await signUp(service.baseUrl)).trpc.account.get.query();
    const limits = { requestsPerMinute: 7 };
    const changes = await inTransaction(database, async (sql) => {
      await sql`select from accounts where id = ${id} for update`;
      const all = Promise.all([
        suspend.mutate({ id, reason: "abuse" }),
        setPlan.mutate({ id, plan: "pro" }),
        setLimits.mutate({ id, limits }),
      ]);
      const waits = () =>
        database`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(waits, { timeout: 4_000 }).toHaveLength(3);
      return { all };
    });
    await changes.all;
    expect(await get.query({ id })).toMatchObject({ state: "suspended", plan: "pro", limits });
  });
});
