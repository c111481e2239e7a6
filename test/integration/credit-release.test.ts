import { readdir, readFile } from "node:fs/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { AuditEntry } from "../../server/src/contract/entry.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import { SpenderGone } from "../../server/src/credits/credit-store.ts";
import { PostgresCredit } from "../../server/src/credits/postgres-credit.ts";
import { inTransaction, type Transaction } from "../../server/src/database/database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { type CatalogFile, writePricedCatalog } from "../fixtures/catalog.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";
import { answerWhole, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import { sendChat } from "../fixtures/request.ts";
import { logLines, type Service } from "../fixtures/service.ts";
import { signUpWithKey, type Visitor } from "../fixtures/user.ts";

/** What accounts begin with: 5 USD. */
const CREDIT = 5_000_000_000n;
const REASON = "its machine burnt down";

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let operator: Visitor;
let sql: Awaited<ReturnType<typeof openDatabaseOf>>;

beforeAll(async () => {
  upstream = await startModelServer(answerWhole);
  catalog = await writePricedCatalog(upstream.baseUrl);
  service = await startOperatedService({ env: { OSTIARY_CATALOG: catalog.file } });
  operator = await signInOperator(service.baseUrl);
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

/** A node that has set all credit of a new account aside, and was last seen two minutes ago. `left`: what the account still has. */
async function absentNode(left = CREDIT) {
  const owner = await signUpWithKey(service.baseUrl);
  const { id: accountId } = await owner.trpc.account.get.query();
  const nodeId = crypto.randomUUID();
  const [spender] = await sql<{ id: SpenderId }[]>`
    insert into credit_spenders (node_id, label, seen_at)
    values (${nodeId}, 'lost, process 1', now() - interval '2 minutes') returning id`;
  if (spender === undefined) throw new Error("no spender was made");
  await sql.transaction("", async (transaction) => {
    await transaction`update accounts set free_nano_usd = 0 where id = ${accountId}`;
    await transaction`
      insert into credit_reserves (account_id, spender, granted_nano_usd, number)
      values (${accountId}, ${spender.id}, ${left}, 1)`;
    await transaction`
      insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
      select ${uuidv7()}, ${accountId}, now(), 'adjustment', ${left - CREDIT}, 'test' where ${left < CREDIT}`;
  });
  return { owner, accountId: accountId as AccountId, nodeId, spender: spender.id };
}

function chat(key: string): Promise<Response> {
  return sendChat(service.baseUrl, key, { model: "acme/chat", max_tokens: 200 });
}

/** What the absent node still had in its journal. */
function lateEntry(accountId: AccountId, spender: SpenderId, costNanoUsd: bigint): AuditEntry {
  return auditEntry({ accountId, spender, costNanoUsd, upstream: "main", usageSource: "upstream" });
}

describe("credit that an absent node has reserved", () => {
  it("is not spent by others, who are told why, until an operator releases it", async () => {
    const { owner, accountId, spender } = await absentNode();
    const refused = await chat(owner.key);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("30");
    expect((await refused.json()).error).toMatchObject({
      code: "server_is_overloaded",
      message: expect.stringContaining("a node that is not running"),
    });
    const [failed] = logLines(service.stderr()).filter(({ msg }) => msg === "a request failed");
    expect(failed?.reason).toContain(`operator nodes release ${spender} --reason`);
    expect(await owner.trpc.credits.balance.query()).toEqual({
      balanceNanoUsd: CREDIT,
      reservedNanoUsd: CREDIT,
    });
    const { nodes } = await operator.trpc.operator.nodes.list.query();
    expect(nodes.find(({ id }) => id === spender)).toMatchObject({
      label: "lost, process 1",
      isAway: true,
      accounts: 1,
      reservedNanoUsd: CREDIT,
    });
    const { reserved } = await operator.trpc.operator.checkBooks.query();
    expect(reserved.stuckNanoUsd).toBeGreaterThanOrEqual(CREDIT);

    expect(await operator.trpc.operator.nodes.release.mutate({ id: spender, reason: REASON })).toEqual({
      accounts: 1,
      amountNanoUsd: CREDIT,
    });
    await expect.poll(async () => (await chat(owner.key)).status).toBe(200);
    const { actions } = await operator.trpc.operator.audit.query({ limit: 1 });
    expect(actions).toMatchObject([{ action: "credit.release", reason: REASON, byOperator: true }]);
    const releases =
      await sql`select account_id, amount_nano_usd, reason from credit_releases where spender = ${spender}`;
    expect([...releases]).toMatchObject([{ account_id: accountId, amount_nano_usd: CREDIT, reason: REASON }]);
    await expect(
      operator.trpc.operator.nodes.release.mutate({ id: spender, reason: REASON }),
    ).rejects.toMatchObject({ data: { ostiary: { code: "not_found" } } });
  });

  it("is that of a node that counts as seen when others find that the database's clock was ahead", async () => {
    const { spender } = await absentNode();
    await sql`update credit_spenders set seen_at = now() + interval '1 day' where id = ${spender}`;
    const isSeenAhead = async () => {
      const { nodes } = await operator.trpc.operator.nodes.list.query();
      return nodes.some(({ id, seenAt }) => id === spender && seenAt.getTime() > Date.now());
    };
    expect(await isSeenAhead()).toBe(true);
    await expect.poll(isSeenAhead, { timeout: 30_000 }).toBe(false);
  });

  it("is no reason to try again if it would not pay for the request", async () => {
    const { owner } = await absentNode(5n);
    const refused = await chat(owner.key);
    expect(refused.status).toBe(402);
    expect((await refused.json()).error).toMatchObject({ code: "credit_balance_exhausted" });
    expect(await owner.trpc.credits.balance.query()).toEqual({ balanceNanoUsd: 5n, reservedNanoUsd: 5n });
  });

  it("pays for what the node had answered when it returns first, and otherwise as far as other credit reaches", async () => {
    const { owner, accountId, nodeId, spender } = await absentNode();
    const late = new PostgresAudit(sql, nodeId);
    await late.insertEntries([lateEntry(accountId, spender, CREDIT / 5n)]);
    expect((await owner.trpc.credits.balance.query()).balanceNanoUsd).toBe((CREDIT / 5n) * 4n);
    await operator.trpc.operator.nodes.release.mutate({ id: spender, reason: REASON });
    const entry = lateEntry(accountId, spender, CREDIT);
    // Sent again, as a node does whose answer was lost.
    for (let time = 0; time < 3; time++) await late.insertEntries([entry]);
    expect(await owner.trpc.credits.balance.query()).toEqual({ balanceNanoUsd: 0n, reservedNanoUsd: 0n });
    const { entries } = await owner.trpc.credits.ledger.query();
    expect(entries.slice(0, 2)).toMatchObject([
      { kind: "uncollected", reason: "released", amountNanoUsd: CREDIT / 5n },
      { kind: "charge", amountNanoUsd: -CREDIT },
    ]);
    const { mismatches, uncollected } = await operator.trpc.operator.checkBooks.query();
    expect(mismatches).toEqual([]);
    expect(uncollected).toContainEqual({ reason: "released", accounts: 1, nanoUsd: CREDIT / 5n });
  });

  it("can't be used by a statement of the node that arrives after the release", async () => {
    const { accountId, spender } = await absentNode();
    await operator.trpc.operator.nodes.release.mutate({ id: spender, reason: REASON });
    const late = sql`
      insert into credit_reserves (account_id, spender, granted_nano_usd, number)
      values (${accountId}, ${spender}, 1, 2)`;
    await expect(late).rejects.toThrow(/credit_reserves_spender_fkey/);
  });
});

describe("reservations of a former version", () => {
  it("become reserves that do not exceed the balance, and debts are written off", async () => {
    const files = (await readdir(MIGRATIONS)).sort();
    const run = async (connection: Transaction, first: number, last: number) => {
      for (const file of files.slice(first, last)) {
        await connection.unsafe(await readFile(new URL(file, MIGRATIONS), "utf8"));
      }
    };
    const rolledBack = new Error("rolled back");
    const upgraded = sql.transaction("", async (connection) => {
      await connection`create schema former`;
      await connection`set local search_path = former`;
      await run(connection, 0, 9);
      const nodes = [crypto.randomUUID(), crypto.randomUUID()];
      const balances = { rich: 100n, short: 50n, debtor: -30n };
      for (const [name, balance] of Object.entries(balances)) {
        const id = crypto.randomUUID();
        await connection`
          insert into accounts (id, name, balance_nano_usd, created_at) values (${id}, ${name}, ${balance}, now())`;
        await connection`
          insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
          values (${uuidv7()}, ${id}, now(), 'grant', ${balance}, 'test')`;
        for (const node of nodes) {
          await connection`
            insert into credit_reservations (account_id, node_id, amount_nano_usd, renewed_at)
            values (${id}, ${node}, 40, now())`;
        }
      }
      await run(connection, 9, 10);
      const rows = await connection`
        select name, free_nano_usd as free, balance_nano_usd(accounts) as balance,
               (select sum(amount_nano_usd)::bigint from credit_ledger where account_id = accounts.id) as ledger,
               (select jsonb_agg(granted_nano_usd order by spender) from credit_reserves where account_id = accounts.id) as reserves
        from accounts order by name`;
      expect([...rows]).toEqual([
        { name: "debtor", free: 0n, balance: 0n, ledger: 0n, reserves: null },
        { name: "rich", free: 20n, balance: 100n, ledger: 100n, reserves: [40, 40] },
        { name: "short", free: 0n, balance: 50n, ledger: 50n, reserves: [40, 10] },
      ]);
      const spenders = await connection<{ node_id: string }[]>`select node_id from credit_spenders`;
      expect(new Set(spenders.map(({ node_id }) => node_id))).toEqual(new Set(nodes));
      throw rolledBack;
    });
    await expect(upgraded).rejects.toBe(rolledBack);
  });
});

describe("the database", () => {
  it("refuses negative balances and reserves, whatever the statement", async () => {
    const { accountId, spender } = await absentNode();
    await expect(sql`update accounts set free_nano_usd = -1 where id = ${accountId}`).rejects.toThrow(
      /accounts_free_not_negative/,
    );
    await expect(
      sql`update credit_reserves set charged_nano_usd = granted_nano_usd + 1 where spender = ${spender}`,
    ).rejects.toThrow(/check/);
  });
});

describe("credit of a spender that is closed", () => {
  let credit: PostgresCredit;
  let spender: SpenderId;
  let accountId: AccountId;

  beforeEach(async () => {
    credit = new PostgresCredit(sql, crypto.randomUUID(), "test", 1);
    spender = await credit.open();
    accountId = await createAccount();
  });

  async function createAccount(): Promise<AccountId> {
    const id = crypto.randomUUID() as AccountId;
    await sql`insert into accounts (id, name, free_nano_usd, created_at) values (${id}, 'test', 100, now())`;
    return id;
  }

  const ask = () => credit.ask({ accountId, spender, number: 1n, targetNanoUsd: 40n, extraNanoUsd: 0n });
  const places = async () => {
    const [row] = await sql`
      select free_nano_usd as free,
             (select count(*)::int from credit_reserves where account_id = accounts.id) as reserves,
             (select count(*)::int from credit_spenders where id = ${spender}) as spenders
      from accounts where id = ${accountId}`;
    return row;
  };

  /** Begins `late` while the transaction of `first` has not ended, and lets that end once `late` waits for it. */
  async function overtaken<Result>(
    first: (transaction: Transaction) => Promise<unknown>,
    late: () => Promise<Result>,
  ): Promise<Result> {
    await using observer = await openDatabaseOf(service);
    let outcome: Promise<Result> | null = null;
    await inTransaction(sql, async (transaction) => {
      await first(transaction);
      outcome = late();
      // It is awaited below, when the transaction has ended.
      outcome.catch(() => {});
      const waiting = () =>
        observer`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(waiting, { timeout: 4_000 }).not.toHaveLength(0);
    });
    return outcome as unknown as Promise<Result>;
  }

  it("is free again, also what it was granted while it was being closed", async () => {
    await overtaken(
      async (transaction) => {
        await transaction`update accounts set free_nano_usd = free_nano_usd - 40 where id = ${accountId}`;
        await transaction`
          insert into credit_reserves (account_id, spender, granted_nano_usd, number)
          values (${accountId}, ${spender}, 40, 1)`;
      },
      () => credit.closeBelow((spender + 1n) as SpenderId),
    );
    expect(await places()).toEqual({ free: 100n, reserves: 0, spenders: 0 });
  });

  describe("while another transaction has locked one of its accounts", () => {
    let accounts: readonly [AccountId, AccountId, AccountId];
    let observer: Awaited<ReturnType<typeof openDatabaseOf>>;

    beforeEach(async () => {
      accounts = [
        accountId,
        await createAccount(),
        await createAccount(),
      ].toSorted() as unknown as typeof accounts;
      for (const id of accounts)
        await credit.ask({ accountId: id, spender, number: 1n, targetNanoUsd: 40n, extraNanoUsd: 0n });
      observer = await openDatabaseOf(service);
      return () => observer[Symbol.asyncDispose]();
    });

    const free = async () => {
      const rows = await observer<{ free: bigint }[]>`
        select free_nano_usd as free from accounts
        where id in (select value::uuid from jsonb_array_elements_text(${observer.json([...accounts])})) order by id`;
      return rows.map((row) => row.free);
    };

    /** Runs `work` while the second of the accounts is locked. */
    const beside = (work: () => Promise<void>) =>
      inTransaction(sql, async (transaction) => {
        await transaction`select from accounts where id = ${accounts[1]} for update`;
        await work();
      });

    it("is free of the other accounts, and of that one when it is closed again", async () => {
      const close = () => credit.closeBelow((spender + 1n) as SpenderId);
      await beside(async () => {
        expect(await close()).toBe(false);
        expect(await free()).toEqual([100n, 60n, 100n]);
        expect(await places()).toMatchObject({ spenders: 1 });
      });
      expect(await close()).toBe(true);
      expect(await free()).toEqual([100n, 100n, 100n]);
      expect(await places()).toMatchObject({ reserves: 0, spenders: 0 });
    });

    it("is free at once of all when it is released, and no other account waits for that", async () => {
      const other = new PostgresCredit(sql, crypto.randomUUID(), "test");
      const mine = await other.open();
      let released: ReturnType<typeof other.release> | undefined;
      await beside(async () => {
        released = other.release(spender, "test");
        released.catch(() => {});
        const waiting = () =>
          observer`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        await expect.poll(waiting, { timeout: 4_000 }).not.toHaveLength(0);
        for (const id of [accounts[0], accounts[2]])
          await other.ask({ accountId: id, spender: mine, number: 1n, targetNanoUsd: 10n, extraNanoUsd: 0n });
        expect(await free()).toEqual([50n, 60n, 50n]);
      });
      expect(await released).toEqual({ accounts: 3, amountNanoUsd: 120n });
      expect(await free()).toEqual([90n, 100n, 90n]);
    });
  });

  it("is not granted to an ask that waited for the end of its close", async () => {
    const asked = overtaken(
      (transaction) => transaction`delete from credit_spenders where id = ${spender}`,
      ask,
    );
    await expect(asked).rejects.toThrow(SpenderGone);
    expect(await places()).toEqual({ free: 100n, reserves: 0, spenders: 0 });
  });

  it("pays what requests of several spenders cost in the order of these, and never twice", async () => {
    const later = await credit.open();
    for (const id of [spender, later])
      await credit.ask({ accountId, spender: id, number: 1n, targetNanoUsd: 10n, extraNanoUsd: 0n });
    await credit.release(later, "test");
    const uncollected: unknown[] = [];
    await new PostgresAudit(sql, crypto.randomUUID(), (row) => uncollected.push(row)).insertEntries(
      [later, spender].map((id) => auditEntry({ accountId, spender: id, costNanoUsd: 60n })),
    );
    // The first pays 10 from its reserve and 50 of what is free, which leaves 40 to the other.
    expect(uncollected).toEqual([{ accountId, reason: "released", amountNanoUsd: 20n }]);
    expect(await places()).toMatchObject({ free: 0n });
    const [account] =
      await sql`select balance_nano_usd(accounts) as balance from accounts where id = ${accountId}`;
    expect(account).toEqual({ balance: 0n });
  });
});
