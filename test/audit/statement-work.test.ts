import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { intervalStart, type UsageInterval } from "../../sdk/src/contract/time-intervals.ts";
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
