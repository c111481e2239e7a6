import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { intervalStart, type UsageInterval } from "../../sdk/src/contract/time-intervals.ts";
import { Reconciler } from "../../server/src/audit/reconciliation.ts";
import type { UsageQuestion, WholeSpan } from "../../server/src/audit/usage.ts";
import { PostgresUsage } from "../../server/src/audit/usage-store.ts";
import { dropOldUsage } from "../../server/src/keys/key-usage.ts";
import { dropOldSecurityEvents } from "../../server/src/security/security-store.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { SAMPLE } from "../fixtures/audit-logs.ts";

const DAYS = 366;
const MODELS = 400;
const MAX_GROUPS = 27;
const FROM = new Date("2025-01-01T00:00:00Z");
const TO = new Date("2026-01-01T00:00:00Z");
const { accountId, key } = SAMPLE;

let database: AuditDatabase;

beforeAll(async () => {
  database = await openAuditDatabase(SAMPLE);
  // Model n costs n a day.
  await database.sql`
    insert into usage_days
      (account_id, day, key, model, requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd)
    select ${accountId}::uuid, ${FROM}::timestamptz + day * interval '1 day', ${key}::uuid, 'acme/model-' || model, 1, 0, 2, 3, 0, model
    from generate_series(0, ${DAYS - 2}::bigint) day, generate_series(1, ${MODELS}::bigint) model`;
  await database.sql`
    insert into usage_hours select account_id, day, key, model, requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd
    from usage_days`;
  await database.sql.unsafe("vacuum analyze usage_days, usage_hours");
  // A statement fails if it keeps more in memory than `work_mem`, and would write the rest to disk.
  await database.sql.unsafe("alter system set temp_file_limit = 0");
  await database.sql`select pg_reload_conf()`;
});
afterAll(() => database?.[Symbol.asyncDispose]());

function question(interval: UsageInterval, timeZone: string): UsageQuestion & WholeSpan {
  const starts: Date[] = [];
  for (let at = intervalStart(FROM, interval, timeZone); at < TO; ) {
    starts.push(at);
    at = intervalStart(at, interval, timeZone, 1);
  }
  const [from = FROM] = starts;
  return { from, to: intervalStart(TO, interval, timeZone, 1), interval, timeZone, groupBy: "model", starts };
}

describe("the usage of a year with as many rows as entries", () => {
  it.each(["UTC", "Europe/Berlin"])(
    "keeps sums of the models with rows of their own only, by day in %s",
    async (timeZone) => {
      const rows = await new PostgresUsage(database.sql).readUsage(
        accountId,
        question("day", timeZone),
        MAX_GROUPS,
      );
      const own = rows.filter(({ isOther }) => !isOther);
      const rest = rows.filter(({ isOther }) => isOther);
      const costliest = Array.from({ length: MAX_GROUPS }, (_, n) => `acme/model-${MODELS - n}`);
      expect(new Set(own.map(({ model }) => model))).toEqual(new Set(costliest));
      expect(rest).toHaveLength(DAYS - 1);
      expect(rest.every(({ model }) => model === null)).toBe(true);
      expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe((DAYS - 1) * MODELS);
      const cost = (MODELS * (MODELS + 1)) / 2;
      expect(rows.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)).toBe(BigInt((DAYS - 1) * cost));
    },
  );
});

describe("old usage of keys and old security events", () => {
  const ROWS = 30_000;
  const MAX_AT_ONCE = 10_000;

  it.each([
    {
      table: "key_usage_minutes",
      columns: "key, minute, requests",
      values: "gen_random_uuid(), now() - interval '3 days', 1",
      drop: dropOldUsage,
    },
    {
      table: "key_addresses",
      columns: "key, source_ip, last_seen_at",
      values: "gen_random_uuid(), '192.0.2.1', now() - interval '31 days'",
      drop: dropOldUsage,
    },
    {
      table: "security_events",
      columns: "id, hour, kind, source_ip, count, first_at, last_at",
      values:
        "gen_random_uuid(), now() - interval '91 days', 'unknown_key', '10.0.0.0'::inet + n, 1, now(), now()",
      drop: dropOldSecurityEvents,
    },
  ])("are deleted in batches, so that nothing waits long for a row: $table", async (old) => {
    const { sql } = database;
    const { table } = old;
    await sql.unsafe(`
      insert into ${table} (${old.columns}) select ${old.values} from generate_series(1, ${ROWS}) n;
      create table deleted_at_once (rows bigint not null);
      create function note_deleted() returns trigger language plpgsql as $$
        begin insert into deleted_at_once select count(*) from gone; return null; end $$;
      create trigger note_deleted after delete on ${table} referencing old table as gone
        for each statement execute function note_deleted()`);
    await old.drop(sql, new Date());
    const [deleted] = await sql<{ all: number; most: number }[]>`
      select sum(rows)::float8 as all, max(rows)::float8 as most from deleted_at_once`;
    await sql.unsafe(`drop table deleted_at_once; drop function note_deleted cascade`);
    expect(deleted?.all).toBe(ROWS);
    expect(deleted?.most).toBeLessThanOrEqual(MAX_AT_ONCE);
  });
});

describe("the regular reconciliation of an old account", () => {
  const CHARGES = 30_000;
  const MAX_READ = 2_000;
  const ids = (n: number) => `01936ef4-0000-7000-8000-${String(n).padStart(12, "0")}`;

  /** The rows of the ledger that have been read, once all connections have reported theirs. */
  async function rowsRead(): Promise<number> {
    const { sql } = database;
    const report = () => sql`select pg_stat_force_next_flush(), pg_sleep(0.05)`;
    await Promise.all([report(), report()]);
    const [row] = await sql<{ rows: bigint }[]>`
      select (seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint as rows from pg_stat_user_tables where relname = 'credit_ledger'`;
    return Number(row?.rows ?? 0n);
  }

  it("reads the charges of the last days, and finds a wrong balance, and a charge that was changed", async () => {
    const { sql } = database;
    const reconciler = new Reconciler(
      sql,
      { outstanding: () => ({ holds: 0, nanoUsd: 0n }) },
      () => new Date(),
    );
    const wrong = async () => (await reconciler.checkRecent(2)).mismatches.map((found) => found.accountId);
    await sql`
      insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
      select ('01936ef4-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${accountId}, now() - interval '40 days' + n * interval '1 minute',
             'charge', -1, 'requests'
      from generate_series(1, ${CHARGES}) n`;
    await sql`
      insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
      values (${ids(0)}, ${accountId}, now() - interval '41 days', 'grant', ${CHARGES + 100}, 'invoice'),
             (ledger_entry_id(1), ${accountId}, now(), 'charge', -10, 'requests')`;
    await sql`update accounts set free_nano_usd = 90 where id = ${accountId}`;
    await sql.unsafe("vacuum analyze credit_ledger, credit_days, accounts");
    const before = await rowsRead();
    expect(await wrong()).toEqual([]);
    expect((await rowsRead()) - before).toBeLessThan(MAX_READ);

    await sql`update accounts set free_nano_usd = 91 where id = ${accountId}`;
    expect(await wrong()).toEqual([accountId]);
    await sql`update accounts set free_nano_usd = 90 where id = ${accountId}`;
    expect(await wrong()).toEqual([]);
    // By somebody who also keeps the triggers from changing the day's sum.
    await sql.unsafe(`
      alter table credit_ledger disable trigger all;
      update credit_ledger set amount_nano_usd = -5 where amount_nano_usd = -10;
      alter table credit_ledger enable trigger all`);
    expect(await wrong()).toEqual([accountId]);
    expect((await reconciler.check(2)).mismatches.map((found) => found.accountId)).toEqual([accountId]);
  });
});
