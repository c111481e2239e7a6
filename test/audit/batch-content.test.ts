import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyWholeChain } from "../../server/src/audit/audit-chain.ts";
import { contentsOf, entryDigestOf } from "../../server/src/audit/batch-content.ts";
import { storedTextsOf } from "../../server/src/audit/stored-texts.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import { refusesContent } from "../../server/src/database/insert-all.ts";
import { parseAddress } from "../../server/src/networks/networks.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

const CREDIT = 1_000_000n;

let database: AuditDatabase;
let first: AuditEntry;

beforeAll(async () => {
  first = auditEntry();
  database = await openAuditDatabase(first);
});

afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
});

/** An entry of the one account. */
function entryOf(differing: Partial<AuditEntry> = {}): AuditEntry {
  return auditEntry({ ...first, id: uuidv7() as EntryId, ...differing });
}

/** An account and key of their own, with credit. */
async function otherAccount(): Promise<AuditEntry> {
  const other = auditEntry({ costNanoUsd: 10n });
  const { accountId, key, keyId } = other;
  await database.sql`
    insert into accounts (id, name, created_at, free_nano_usd) values (${accountId}, 'Other', now(), ${CREDIT.toString()})`;
  await database.sql`
    insert into keys (id, account_id, name, key_id, digest, created_at, issued_at)
    values (${key}, ${accountId}, 'other', ${keyId}, ${Buffer.from(key)}, now(), now())`;
  return other;
}

/** What is recorded of an account: its batches, the requests of its keys, and the credit that is left. */
async function stateOf({ accountId, key }: AuditEntry) {
  const [batches, [used], [account], chain] = await Promise.all([
    database.sql<{ entries: number }[]>`
      select entries from audit_batches where account_id = ${accountId} order by batch`,
    database.sql<{ requests: number }[]>`select requests::integer from key_usage where key = ${key}`,
    database.sql<{ free: bigint }[]>`select free_nano_usd as free from accounts where id = ${accountId}`,
    verifyWholeChain(database.sql, accountId),
  ]);
  return {
    batches: batches.map(({ entries }) => entries),
    requests: used?.requests ?? 0,
    free: account?.free,
    problems: chain.problems,
  };
}

const TEXTS = [
  "",
  "acme/chat",
  'quoted "text", comma',
  "back\\slash \\u0041",
  "tab\there",
  "Ünïcödé 模型 🚀",
  "e\u0301 \u00e9",
  " surrounded ",
  "\u2028line\u2029",
  "null",
];
const COUNTS = [null, 0, 1, 4_096, 2_147_483_648, Number.MAX_SAFE_INTEGER];
const TIMES = ["1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "2026-11-26T12:00:00.100Z"];
const HEXTETS = [0, 0, 0, 1, 0xffff, 0xabcd];

/** One of a list, by the place of an entry and that of a field: each value meets many others. */
function pick<Item>(items: readonly Item[], entry: number, field: number): Item {
  return items[(entry * (2 * field + 1) + field) % items.length] as Item;
}

/** An address as the service notes them, IPv6 with runs of zeros in all places. */
function addressOf(entry: number): string | null {
  if (entry % 3 === 0) return entry % 2 === 0 ? null : `192.0.2.${entry % 256}`;
  const hextets = Array.from({ length: 8 }, (_, place) => HEXTETS[(entry >> place) % HEXTETS.length] ?? 0);
  return (
    parseAddress(hextets.map((hextet) => (hextet + (entry % 7)).toString(16)).join(":"))?.toString() ?? null
  );
}

function awkwardEntry(number: number): AuditEntry {
  const text = (field: number) => pick(TEXTS, number, field);
  const textOrNull = (field: number) => pick([null, ...TEXTS], number, field);
  const count = (field: number) => pick(COUNTS, number, field);
  return entryOf({
    keyId: text(1),
    endpoint: text(2),
    model: textOrNull(3),
    upstream: textOrNull(4),
    at: new Date(pick(TIMES, number, 5)),
    status: 100 + (number % 500),
    errorCode: textOrNull(6) as AuditEntry["errorCode"],
    promptTokens: count(7),
    completionTokens: count(8),
    cachedTokens: count(9),
    latencyMs: number * 7_919,
    timeToFirstTokenMs: pick([null, 0, 2_147_483_647], number, 10),
    sourceIp: addressOf(number),
    wouldRefuse: textOrNull(11) as AuditEntry["wouldRefuse"],
    cacheWriteTokens: count(12),
    cacheWrite1hTokens: count(13),
    reasoningTokens: count(14),
    audioTokens: count(15),
    imageTokens: count(16),
  });
}

describe("what a batch adds to its account's chain", () => {
  it("is what the database computes from the rows that it stored", async () => {
    const entries = Array.from({ length: 1_200 }, (_, number) => awkwardEntry(number));
    await database.audit.insertEntries(entries);
    const rows = await database.sql<{ id: string; digest: string }[]>`
      select id, encode(sha256(entry_digest(entry)), 'hex') as digest from audit_entries entry
      where id in (select value::uuid from jsonb_array_elements_text(${database.sql.json(entries.map(({ id }) => id))}))`;
    const stored = new Map(rows.map(({ id, digest }) => [id, digest]));
    const given = entries.flatMap((entry) => {
      const texts = storedTextsOf(entry);
      if (texts === null) return [];
      const { accountId, id } = entry;
      return [[id, contentsOf([{ accountId, id, digest: entryDigestOf(texts) }])[0]?.digest]];
    });
    expect(given.map(([id = ""]) => [id, stored.get(id)])).toEqual(given);
    expect(given.length).toBeGreaterThan(1_000);
    // Only a key that was reissued may have had all these key IDs.
    await database.sql`update keys set issued_at = created_at + interval '1 minute' where id = ${first.key}`;
    expect(await verifyWholeChain(database.sql, first.accountId)).toMatchObject({ problems: [] });
  });

  it("is left to the database where it stores a value in another form", async () => {
    const account = await otherAccount();
    const written = [
      { sourceIp: "::1:2" },
      { sourceIp: "2001:DB8::1" },
      { id: uuidv7().toUpperCase() as EntryId },
      { at: new Date("+010000-01-01T00:00:00.000Z") },
      { at: new Date("-000001-01-01T00:00:00.000Z") },
      { at: new Date("8000-06-01T00:00:00.001Z") },
      { status: "0200" as never },
      { promptTokens: "+5" as never },
      { model: ["a"] as never },
    ];
    for (const differing of written) {
      const entry = auditEntry({ ...account, id: uuidv7() as EntryId, ...differing });
      expect(storedTextsOf(entry)).toBeNull();
      await database.audit.insertEntries([entry]);
    }
    expect(await stateOf(account)).toEqual({
      batches: written.map(() => 1),
      requests: written.length,
      free: CREDIT - 10n * BigInt(written.length),
      problems: [],
    });
  });

  it("is refused by the database where it is no value of the field", async () => {
    const account = await otherAccount();
    const unstorable = [
      { sourceIp: 5 as never },
      { promptTokens: 1.5 },
      { at: new Date(Number.NaN) },
      { keyId: "\u0000" },
      { keyId: "half of a pair: \ud83d" },
    ];
    for (const differing of unstorable) {
      const entry = auditEntry({ ...account, id: uuidv7() as EntryId, ...differing });
      await expect(database.audit.insertEntries([entry])).rejects.toSatisfy(refusesContent);
    }
    expect(await stateOf(account)).toEqual({ batches: [], requests: 0, free: CREDIT, problems: [] });
  });

  it("is what was not recorded before, when a batch comes again in part", async () => {
    const [one, other] = [await otherAccount(), await otherAccount()];
    const of = (account: AuditEntry, count: number) =>
      Array.from({ length: count }, () => auditEntry({ ...account, id: uuidv7() as EntryId }));
    const before = [...of(one, 3), ...of(other, 2)];
    await database.audit.insertEntries(before);
    await database.audit.insertEntries([...of(one, 4), ...before]);
    expect(await stateOf(one)).toEqual({ batches: [3, 4], requests: 7, free: CREDIT - 70n, problems: [] });
    expect(await stateOf(other)).toEqual({ batches: [2], requests: 2, free: CREDIT - 20n, problems: [] });
  });

  it.each([
    ["unexpectedly", false],
    ["as is expected", true],
  ])("is nothing, when a batch comes again as a whole, %s", async (_, mayExist) => {
    const account = await otherAccount();
    await database.audit.insertEntries([account], { mayExist });
    await database.audit.insertEntries([account], { mayExist });
    expect(await stateOf(account)).toEqual({ batches: [1], requests: 1, free: CREDIT - 10n, problems: [] });
  });

  it("has an entry once that is in the batch twice", async () => {
    const account = await otherAccount();
    await database.audit.insertEntries([
      account,
      auditEntry({ ...account, id: uuidv7() as EntryId }),
      account,
    ]);
    expect(await stateOf(account)).toEqual({ batches: [2], requests: 2, free: CREDIT - 20n, problems: [] });
  });
});

describe("what a batch adds to the use of its key", () => {
  it("does not set back what later requests have left, when it comes late", async () => {
    const account = await otherAccount();
    const requestAt = (time: string, sourceIp: string) => {
      const at = new Date(time);
      return auditEntry({ ...account, id: uuidv7({ msecs: at.getTime() }) as EntryId, at, sourceIp });
    };
    const { sql, audit } = database;
    const use = async () => {
      const [used] = await sql`
        select requests::integer, last_used_at, host(last_used_ip) as last_used_ip from key_usage where key = ${account.key}`;
      const addresses = await sql`
        select host(source_ip) as source_ip, last_seen_at from key_addresses where key = ${account.key} order by 1`;
      return [used, ...addresses];
    };
    const [noon, eleven, later] = [
      "2026-11-26T12:00:00.000Z",
      "2026-11-26T11:00:00.000Z",
      "2026-11-26T12:00:00.001Z",
    ];
    await audit.insertEntries([requestAt(noon, "192.0.2.1")]);
    await audit.insertEntries([requestAt(eleven, "192.0.2.2"), requestAt(eleven, "192.0.2.1")]);
    expect(await use()).toEqual([
      { requests: 3, last_used_at: new Date(noon), last_used_ip: "192.0.2.1" },
      { source_ip: "192.0.2.1", last_seen_at: new Date(noon) },
      { source_ip: "192.0.2.2", last_seen_at: new Date(eleven) },
    ]);
    await audit.insertEntries([requestAt(later, "192.0.2.2"), requestAt(eleven, "192.0.2.1")]);
    expect(await use()).toEqual([
      { requests: 5, last_used_at: new Date(later), last_used_ip: "192.0.2.2" },
      { source_ip: "192.0.2.1", last_seen_at: new Date(noon) },
      { source_ip: "192.0.2.2", last_seen_at: new Date(later) },
    ]);
    // The newest entry, where reading backwards begins, is not in the last batch.
    await audit.insertEntries([requestAt(eleven, "192.0.2.1")]);
    expect((await stateOf(account)).problems).toEqual([]);
  });
});
