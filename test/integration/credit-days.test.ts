import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Reconciler } from "../../server/src/audit/reconciliation.ts";
import { type Database, openDatabase, type Statements } from "../../server/src/database/database.ts";
import { databaseAddressOf } from "../fixtures/database.ts";
import { openFormerDatabase } from "../fixtures/former-database.ts";
import { signInOperator, startOperatedService } from "../fixtures/operator.ts";
import type { Service } from "../fixtures/service.ts";
import { signUp } from "../fixtures/user.ts";

const CONNECTIONS = 8;
const STATEMENTS = 25;
/** The last migration before days were summed. */
const BEFORE_DAYS = "0016";

let service: Service;
let sql: Database;

beforeAll(async () => {
  service = await startOperatedService();
  sql = openDatabase(await databaseAddressOf(service), {
    maxConnections: CONNECTIONS,
    connectTimeoutS: 30,
    statementTimeoutMs: 60_000,
  });
});

afterAll(async () => {
  await sql?.end();
  await service?.[Symbol.asyncDispose]();
});

type Row = {
  readonly accountId: string;
  readonly kind: "charge" | "uncollected" | "grant" | "adjustment";
  readonly amount: number;
  readonly at?: string;
  readonly reason?: string;
};

/** Writes charges to the ledger, as versions did that had no sums by day. */
async function writeRows(connection: Statements, rows: readonly Row[]): Promise<void> {
  await connection`
    insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
    select ledger_entry_id(position::integer), (row->>'accountId')::uuid, coalesce((row->>'at')::timestamptz, now()),
           row->>'kind', (row->>'amount')::bigint, coalesce(row->>'reason', 'requests')
    from jsonb_array_elements(${connection.json(rows)})
         with ordinality as given (row, position)
    order by position`;
}

async function newAccounts(connection: Statements, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  for (const id of ids) {
    await connection`insert into accounts (id, name, created_at) values (${id}, 'test', now())`;
  }
  return ids;
}

/** The costs of these accounts by day, as they are stored, and as the ledger has them. */
async function costsOf(connection: Statements, accounts: readonly string[]) {
  const ids = accounts.join(",");
  const stored = await connection`
    select account_id, day, charged_nano_usd as charged, uncollected_nano_usd as uncollected
    from credit_days where account_id = any (string_to_array(${ids}, ',')::uuid[]) order by 1, 2`;
  const summed = await connection`
    select account_id, date_trunc('day', at, 'UTC') as day,
           coalesce(sum(amount_nano_usd) filter (where kind = 'charge'), 0)::bigint as charged,
           coalesce(sum(amount_nano_usd) filter (where kind = 'uncollected'), 0)::bigint as uncollected
    from credit_ledger
    where kind in ('charge', 'uncollected') and account_id = any (string_to_array(${ids}, ',')::uuid[])
    group by 1, 2 order by 1, 2`;
  return { stored: [...stored], summed: [...summed] };
}

async function expectSums(connection: Statements, accounts: readonly string[]): Promise<void> {
  const { stored, summed } = await costsOf(connection, accounts);
  expect(stored).toEqual(summed);
}

const FIRST_DAY = "2026-03-03T23:59:59.999Z";
const NEXT_DAY = "2026-03-04T00:00:00.000Z";

/** Whether the account is among the mismatches of the present day's reconciliation, and of the whole one. */
async function foundByReconciliation(accountId: string): Promise<readonly boolean[]> {
  const outstanding = () => ({ holds: 0, nanoUsd: 0n });
  const reconciler = new Reconciler(sql, { outstanding }, () => new Date());
  const reports = [await reconciler.checkRecent(2), await reconciler.check(2)];
  return reports.map(({ mismatches }) => mismatches.some((mismatch) => mismatch.accountId === accountId));
}

describe("the costs of a day", () => {
  it("include charges of a node of an older version, in the statement and in the reconciliation", async () => {
    const owner = await signUp(service.baseUrl);
    const { id } = await owner.trpc.account.get.query();
    for (const amount of [30, 12]) {
      await sql.transaction("", async (connection) => {
        await connection`update accounts set free_nano_usd = free_nano_usd - ${amount - 5} where id = ${id}`;
        await writeRows(connection, [
          { accountId: id, kind: "charge", amount: -amount },
          { accountId: id, kind: "uncollected", amount: 5 },
        ]);
      });
    }
    const { lines } = await owner.trpc.credits.statement.query();
    const days = lines.filter(({ kind }) => kind === "requests");
    const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
    // Two lines when midnight came between the two charges.
    expect(sum(days.map(({ amountNanoUsd }) => amountNanoUsd))).toBe(-32n);
    expect(sum(days.map(({ uncollectedNanoUsd }) => uncollectedNanoUsd))).toBe(10n);
    const operator = await signInOperator(service.baseUrl);
    const { mismatches } = await operator.trpc.operator.checkBooks.query();
    expect(mismatches.filter(({ accountId }) => accountId === id)).toEqual([]);
  });

  it("are found by the reconciliation, of the present day and of all, if they do not agree with the ledger", async () => {
    const [accountId = ""] = await newAccounts(sql, 1);
    await writeRows(sql, [
      { accountId, kind: "charge", amount: -10 },
      { accountId, kind: "uncollected", amount: 4 },
      { accountId, kind: "grant", amount: 6 },
    ]);
    const isFound = () => foundByReconciliation(accountId);
    expect(await isFound()).toEqual([false, false]);
    // The sum of both stays the same, and so does that of two days.
    const changes = [
      "update credit_days set charged_nano_usd = -16, uncollected_nano_usd = 10 where account_id = $1",
      "update credit_days set day = day - interval '1 day' where account_id = $1",
      `with today as (update credit_days set uncollected_nano_usd = 3 where account_id = $1 returning *)
       insert into credit_days select account_id, day - interval '1 day', 0, 1 from today`,
    ];
    const [right] = await sql<{ day: Date }[]>`select day from credit_days where account_id = ${accountId}`;
    for (const change of changes) {
      await sql.unsafe(change, [accountId]);
      expect(await isFound(), change).toEqual([true, true]);
      await sql`delete from credit_days where account_id = ${accountId}`;
      await sql`insert into credit_days values (${accountId}, ${right?.day ?? null}, -10, 4)`;
    }
  });

  it("agree with the ledger after concurrent charges of several accounts, without a deadlock", async () => {
    const accounts = await newAccounts(sql, 6);
    const write = async (connection: number) => {
      for (let turn = 0; turn < STATEMENTS; turn++) {
        // Each statement begins with another account, and every other one goes backwards.
        const first = (connection + turn) % accounts.length;
        const order = [...accounts.slice(first), ...accounts.slice(0, first)];
        const rows = (turn % 2 === 0 ? order : order.toReversed()).flatMap((accountId): Row[] => [
          { accountId, kind: "charge", amount: -(turn + 2), at: turn % 3 === 0 ? FIRST_DAY : NEXT_DAY },
          { accountId, kind: "uncollected", amount: 1, at: turn % 5 === 0 ? FIRST_DAY : NEXT_DAY },
        ]);
        await writeRows(sql, rows);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => write(connection)));
    const { stored, summed } = await costsOf(sql, accounts);
    expect(stored).toHaveLength(2 * accounts.length);
    expect(stored).toEqual(summed);
    const [ledger] = await sql`
      select count(*)::int as rows from credit_ledger
      where account_id = any (string_to_array(${accounts.join(",")}, ',')::uuid[])`;
    expect(ledger?.rows).toBe(2 * accounts.length * CONNECTIONS * STATEMENTS);
  });

  it("cost a statement one write for each account and day, however many charges it has", async () => {
    const accounts = await newAccounts(sql, 3);
    const rows = Array.from({ length: 900 }, (_, index): Row => {
      const accountId = accounts[index % 3] ?? "";
      return { accountId, kind: "charge", amount: -1 - index, at: index % 2 === 0 ? FIRST_DAY : NEXT_DAY };
    });
    const written = await sql.transaction("", async (connection) => {
      const count = async () => {
        const [row] = await connection<{ writes: number }[]>`
          select (n_tup_ins + n_tup_upd + n_tup_del)::int as writes
          from pg_stat_xact_user_tables where relname = 'credit_days'`;
        return row?.writes ?? Number.NaN;
      };
      const before = await count();
      await writeRows(connection, rows);
      const first = await count();
      await writeRows(connection, rows);
      return [first - before, (await count()) - first];
    });
    expect(written).toEqual([6, 6]);
    await expectSums(sql, accounts);
  });

  it("have no part in grants and adjustments", async () => {
    const [accountId = ""] = await newAccounts(sql, 1);
    await writeRows(sql, [
      { accountId, kind: "grant", amount: 10 },
      { accountId, kind: "adjustment", amount: -3 },
    ]);
    expect(await costsOf(sql, [accountId])).toEqual({ stored: [], summed: [] });
  });
});

describe("the report of the reconciliation", () => {
  it("adds up what was not collected in the period, and what nodes have reserved, of it what is stuck", async () => {
    const operator = await signInOperator(service.baseUrl);
    const report = () => operator.trpc.operator.checkBooks.query({ hours: 2 });
    const { reserved: before } = await report();
    const accounts = await newAccounts(sql, 2);
    const at = new Date(Date.now() - 4 * 3_600_000).toISOString();
    const reason = uuidv7();
    for (const accountId of accounts) {
      await writeRows(sql, [{ accountId, kind: "uncollected", amount: 4, reason }]);
      await writeRows(sql, [{ accountId, kind: "uncollected", amount: 3, at, reason }]);
      await sql`update accounts set free_nano_usd = 7 where id = ${accountId}`;
    }
    for (const [seen, granted, charged] of [
      ["1 second", 5, 2],
      ["1 second", 9, 9],
      ["2 minutes", 4, 0],
    ] as const) {
      await sql`
        with spender as (
          insert into credit_spenders (node_id, label, seen_at)
          values (${uuidv7()}, 'test', now() - ${seen}::interval) returning id
        )
        insert into credit_reserves (account_id, spender, granted_nano_usd, charged_nano_usd, number)
        select ${accounts[0] ?? ""}, id, ${granted}, ${charged}, 1 from spender`;
    }
    await sql`update accounts set free_nano_usd = 0 where id = ${accounts[0] ?? ""}`;
    const { uncollected, reserved, mismatches } = await report();
    expect(uncollected.filter((part) => part.reason === reason)).toEqual([
      { reason, accounts: 2, nanoUsd: 8n },
    ]);
    expect(reserved).toEqual({
      reservations: before.reservations + 2,
      nanoUsd: before.nanoUsd + 7n,
      stuckNanoUsd: before.stuckNanoUsd + 4n,
    });
    expect(mismatches.filter(({ accountId }) => accounts.includes(accountId))).toEqual([]);
  });
});

describe("credit below zero, which a database has that lost its constraints", () => {
  it.each([
    {
      table: "accounts",
      constraint: "accounts_free_not_negative",
      change: `
        with moved as (update accounts set free_nano_usd = -5 where id = $1 returning id)
        insert into credit_reserves (account_id, spender, granted_nano_usd, number) select id, $2, 5, 1 from moved`,
    },
    {
      table: "credit_reserves",
      constraint: "credit_reserves_check",
      change: `
        with moved as (update accounts set free_nano_usd = 5 where id = $1 returning id)
        insert into credit_reserves (account_id, spender, granted_nano_usd, charged_nano_usd, number)
        select id, $2, 0, 5, 1 from moved`,
    },
  ])(
    "is found by the reconciliation in the table $table, though the sum is right",
    async ({ table, constraint, change }) => {
      const [accountId = ""] = await newAccounts(sql, 1);
      const [spender] = await sql<{ id: bigint }[]>`
      insert into credit_spenders (node_id, label) values (${uuidv7()}, 'test') returning id`;
      const [rule] = await sql<{ text: string }[]>`
      select pg_get_constraintdef(oid) as text from pg_constraint where conname = ${constraint}`;
      expect(await foundByReconciliation(accountId)).toEqual([false, false]);
      await sql.unsafe(`alter table ${table} drop constraint ${constraint}`);
      try {
        await sql.unsafe(change, [accountId, String(spender?.id)]);
        expect(await foundByReconciliation(accountId)).toEqual([true, true]);
      } finally {
        await sql`delete from credit_reserves where account_id = ${accountId}`;
        await sql`update accounts set free_nano_usd = 0 where id = ${accountId}`;
        await sql.unsafe(`alter table ${table} add constraint ${constraint} ${rule?.text}`);
      }
    },
  );
});

describe("a ledger that an operator corrects", () => {
  /** Two accounts with costs on two days. */
  async function twoAccounts(connection: Statements): Promise<readonly string[]> {
    const accounts = await newAccounts(connection, 2);
    for (const accountId of accounts) {
      await writeRows(connection, [
        { accountId, kind: "charge", amount: -70, at: FIRST_DAY },
        { accountId, kind: "charge", amount: -30, at: NEXT_DAY },
        { accountId, kind: "uncollected", amount: 20, at: NEXT_DAY },
        { accountId, kind: "grant", amount: 1_000, at: NEXT_DAY },
      ]);
    }
    return accounts;
  }

  it.each([
    {
      what: "amounts",
      statement: "update credit_ledger set amount_nano_usd = 2 * amount_nano_usd where account_id = $1",
    },
    { what: "times", statement: "update credit_ledger set at = at - interval '1 day' where account_id = $1" },
    {
      what: "kinds",
      statement: `update credit_ledger set kind = 'adjustment' where account_id = $1 and kind = 'charge'`,
    },
    { what: "rows", statement: "delete from credit_ledger where account_id = $1 and kind <> 'uncollected'" },
    { what: "all rows of an account", statement: "delete from credit_ledger where account_id = $1" },
  ])("in its $what has the sums of what remains", async ({ statement }) => {
    const accounts = await twoAccounts(sql);
    await sql.unsafe(statement, [accounts[0] ?? ""]);
    await expectSums(sql, accounts);
    const { stored } = await costsOf(sql, accounts.slice(1));
    expect(stored.map(({ charged }) => charged)).toEqual([-70n, -30n]);
  });

  it("may give the charges of one account to another", async () => {
    const accounts = await twoAccounts(sql);
    await sql`update credit_ledger set account_id = ${accounts[1] ?? ""} where account_id = ${accounts[0] ?? ""}`;
    await expectSums(sql, accounts);
    const { stored } = await costsOf(sql, accounts);
    expect(stored.map(({ charged }) => charged)).toEqual([-140n, -60n]);
  });

  it("keeps no sum of an account that is deleted", async () => {
    const [gone = "", other = ""] = await twoAccounts(sql);
    await sql`delete from credit_ledger where account_id = ${gone}`;
    await sql`delete from accounts where id = ${gone}`;
    expect(await costsOf(sql, [gone])).toEqual({ stored: [], summed: [] });
    await expectSums(sql, [other]);
  });

  it("has no sums when it is emptied", async () => {
    const rolledBack = new Error("rolled back");
    const emptied = sql.transaction("", async (connection) => {
      await twoAccounts(connection);
      await connection`truncate credit_ledger`;
      const [left] = await connection`select count(*)::int as days from credit_days`;
      expect(left?.days).toBe(0);
      throw rolledBack;
    });
    await expect(emptied).rejects.toBe(rolledBack);
  });
});

describe("an upgrade to costs by day", () => {
  it("counts the charge that an older node is writing when it begins, and those after it", async () => {
    await using former = await openFormerDatabase(service, BEFORE_DAYS);
    const accounts = await newAccounts(former.sql, 2);
    const rows = accounts.map((accountId): Row => ({ accountId, kind: "charge", amount: -7, at: FIRST_DAY }));
    await writeRows(former.sql, rows);
    let upgraded: Promise<void> | undefined;
    await former.sql.transaction("", async (connection) => {
      await writeRows(connection, rows);
      upgraded = former.upgrade();
      await expect.poll(() => isWaitedFor(connection)).toBe(true);
    });
    await upgraded;
    await writeRows(former.sql, rows);
    const { stored, summed } = await costsOf(former.sql, accounts);
    expect(stored).toEqual(summed);
    expect(stored.map(({ charged }) => charged)).toEqual([-21n, -21n]);
  });
});

/** Whether another connection waits for a lock of this one. */
async function isWaitedFor(connection: Statements): Promise<boolean> {
  const [row] = await connection<{ waited: boolean }[]>`
    select exists (
      select from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))
    ) as waited`;
  return row?.waited ?? false;
}
