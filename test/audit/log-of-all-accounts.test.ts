import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AuditLog } from "../../server/src/audit/audit-log.ts";
import { PostgresAuditReader } from "../../server/src/audit/audit-reader.ts";
import type { AsOf } from "../../server/src/audit/cursor.ts";
import { type EntryFilter, filterOf } from "../../server/src/audit/filter.ts";
import type { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { Reads } from "../../server/src/database/reads.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { SAMPLE } from "../fixtures/audit-logs.ts";

const ACCOUNTS = 4;
/** More than one statement searches. */
const ENTRIES_OF_ACCOUNT = 50_100;
/** Which entries of each account are of a model that no others are of: two that no statement searches both of. */
const RARE = [10, 50_060];
/** What one statement searches, read twice: to find its end, and to check the entries. */
const MAX_READ = 2 * 50_000 + 1_000;

let database: AuditDatabase;
const keys: KeyUuid[] = [];

beforeAll(async () => {
  database = await openAuditDatabase(SAMPLE);
  for (let number = 0; number < ACCOUNTS; number++) keys.push(await insertAccount(`acct`, number));
  await database.sql.unsafe("vacuum analyze audit_entries");
}, 120_000);
afterAll(() => database?.[Symbol.asyncDispose]());

/** An account with a key and many entries, which alternate with those of the other accounts. One in a hundred failed. */
async function insertAccount(name: string, number: number): Promise<KeyUuid> {
  const { sql } = database;
  const [accountId, key] = [uuidv7() as AccountId, uuidv7() as KeyUuid];
  const keyId = `a${number}b9`;
  await sql`insert into accounts (id, name, created_at) values (${accountId}, ${name}, now())`;
  await sql`
    insert into keys (id, account_id, name, key_id, digest, created_at, issued_at)
    values (${key}, ${accountId}, 'prod', ${keyId}, ${new TextEncoder().encode(key)}, now(), now())`;
  await sql`
    insert into audit_entries (id, account_id, key, key_id, at, endpoint, model, upstream, status, error_code, end_reason,
      usage_source, cost_nano_usd, latency_ms, source_ip, batch)
    select (lpad(to_hex(ms), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, ${accountId}::uuid, ${key}::uuid,
           ${keyId}, to_timestamp(ms / 1000.0), 'POST /v1/chat/completions',
           case when n in (${RARE[0] ?? 0}, ${RARE[1] ?? 0}) then 'acme/rare' else 'acme/chat-' || n % 7 end, 'main',
           case when n % 100 = 0 then 429 else 200 end, case when n % 100 = 0 then 'rate_limit_exceeded' end,
           'stop', 'upstream', 0, 5, '192.0.2.1', n / 100 + 1
    from (
      select n, ${Date.UTC(2026, 0, 1)}::bigint + n * 1000 + ${number}::bigint as ms
      from generate_series(1, ${ENTRIES_OF_ACCOUNT}::bigint) n
    ) entry`;
  return key;
}

/** The rows of entries and of their indexes that have been read, once all connections have reported theirs. */
async function rowsRead(): Promise<number> {
  const { sql } = database;
  const report = () => sql`select pg_stat_force_next_flush(), pg_sleep(0.05)`;
  await Promise.all([report(), report()]);
  const [row] = await sql<{ rows: bigint }[]>`
    select (select sum(seq_tup_read) from pg_stat_user_tables where relname like 'audit_entries%')::bigint
         + (select sum(idx_tup_read) from pg_stat_user_indexes where relname like 'audit_entries%')::bigint as rows`;
  return Number(row?.rows ?? 0n);
}

/** The log, for a reader whose budget is spent by each part that is searched, and full again with the next page. */
function slowLog() {
  let nowMs = 0;
  class SlowReader extends PostgresAuditReader {
    override listEntries(...given: Parameters<PostgresAuditReader["listEntries"]>) {
      nowMs += 60_000;
      return super.listEntries(...given);
    }
  }
  const recorder = { flush: async (_: AccountId | null) => {} } as Recorder;
  const log = new AuditLog(new SlowReader(database.sql), recorder, new Reads(() => nowMs), Date.now);
  return { log, refill: () => (nowMs += 600_000) };
}

async function workOf(filter: Partial<EntryFilter>, before: EntryId | null = null) {
  const start = await rowsRead();
  const found = await database.reader.listEntries(
    { scope: null, filter: { ...filterOf({}), ...filter }, asOf: 0n as AsOf },
    before,
    50,
  );
  return { ...found, read: (await rowsRead()) - start };
}

describe("a page of the log of all accounts", () => {
  it("reads little more than it shows, at the beginning and deep within", async () => {
    const first = await workOf({});
    expect(first.entries).toHaveLength(50);
    expect(first.read).toBeLessThan(1_000);
    const middle = new Date(Date.UTC(2026, 0, 1) + (ENTRIES_OF_ACCOUNT / 2) * 1_000);
    const deep = await workOf({ to: middle });
    expect(deep.entries[0]?.at.getTime()).toBeLessThan(middle.getTime());
    expect(deep.read).toBeLessThan(1_000);
    const last = first.entries.at(-1);
    const next = await workOf({}, last?.id ?? null);
    expect(next.entries.some(({ id }) => first.entries.some((entry) => entry.id === id))).toBe(false);
    expect(next.read).toBeLessThan(1_000);
  });

  it("searches a part of a long log at a time, even if nothing matches", async () => {
    for (const filter of [
      { status: "error" },
      { upstream: "main", model: "acme/chat-3" },
      { upstream: "none" },
      { errorCode: "*nothing*" },
      { key: { keyId: "a1b9" } },
    ] as const) {
      const { searchedTo, read } = await workOf(filter);
      expect(read, JSON.stringify(filter)).toBeGreaterThan(50);
      expect(read, JSON.stringify(filter)).toBeLessThan(MAX_READ);
      expect(searchedTo, JSON.stringify(filter)).not.toBeNull();
    }
  });

  it("of one key reads no other key's entries", async () => {
    const [key] = keys;
    if (key === undefined) throw new Error("no key");
    const { entries, read } = await workOf({ key: { id: key }, model: "acme/chat-3" });
    expect(entries.map((entry) => entry.key)).toEqual(Array(50).fill(key));
    expect(read).toBeLessThan(ENTRIES_OF_ACCOUNT + 2_000);
  });
});

describe("a search of a log that is longer than one statement searches", () => {
  const filter = { ...filterOf({}), model: "acme/rare" };
  const placeOf = (id: string) => Number.parseInt(id.slice(-12), 16);

  it("finds everything page by page, once, and newest first", async () => {
    const { log, refill } = slowLog();
    const found: number[] = [];
    let pages = 0;
    for (let cursor: string | null = null; ; pages++) {
      const page = await log.list(null, { filter, cursor, limit: 100 });
      found.push(...page.entries.map(({ id }) => placeOf(id)));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
      refill();
    }
    expect(pages).toBeGreaterThan(3);
    expect(found).toEqual(RARE.toReversed().flatMap((place) => Array(ACCOUNTS).fill(place)));
  });

  it("is exported whole, each entry once and oldest first", async () => {
    const { sql } = database;
    const [entry] = await sql<{ accountId: AccountId }[]>`
      select account_id as "accountId" from audit_entries where key = ${keys[0] ?? ""} limit 1`;
    if (entry === undefined) throw new Error("no entry");
    await sql`
      insert into audit_chains (account_id, batches, newest)
      select account_id, max(batch), (array_agg(id order by id desc))[1] from audit_entries
      where key = ${keys[0] ?? ""} group by 1`;
    const { log } = slowLog();
    const wanted = { format: "csv", filter, cursor: null, isProved: false } as const;
    let text = "";
    for await (const part of await log.export(entry.accountId, wanted)) text += part;
    const lines = text.split("\n").filter((line) => line.includes("acme/rare"));
    expect(lines.map((line) => placeOf(/[0-9a-f-]{36}/.exec(line)?.[0] ?? ""))).toEqual(RARE);
  });
});
