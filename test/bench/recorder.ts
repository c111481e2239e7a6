// How many entries a second reach the database, with all that is counted of them; what the sums of charges by day cost; and a summary
// of a year's usage.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import { v7 as uuidv7 } from "uuid";
import { makeAuditPartitions } from "../../server/src/audit/audit-partitions.ts";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import { PostgresUsage } from "../../server/src/audit/usage-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { migrate } from "../../server/src/database/migrate.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";
import { report, summary } from "./measure.ts";

const BATCH = 2_000;
const BATCHES = 20;
const SMALL_BATCH = 20;
const SMALL_BATCHES = 300;
const MAX_TRIES = 60;
const KEYS = 50;
const MODELS = 5;
const DAY_MS = 24 * 60 * 60_000;

const folder = await mkdtemp(join(tmpdir(), "ostiary-bench-"));
const server = await startEmbeddedPostgres({ dataDir: folder, log: () => {} });
const options = { maxConnections: 2, connectTimeoutS: 5, statementTimeoutMs: 600_000 };
const database = openDatabase(server.connection, options);

const accounts = Array.from({ length: 10 }, () => uuidv7() as AccountId);
const keys = Array.from({ length: KEYS }, () => uuidv7() as KeyUuid);

/** The number of batches that were recorded. */
let recorded = 0;

function entry(number: number): AuditEntry {
  const id = uuidv7() as EntryId;
  return auditEntry({
    id,
    accountId: accounts[number % accounts.length] ?? (id as string as AccountId),
    key: keys[number % KEYS] ?? (id as string as KeyUuid),
    model: `acme/chat-${number % MODELS}`,
    upstream: "main",
    usageSource: "upstream",
    promptTokens: 1_000,
    completionTokens: 200,
    cachedTokens: 0,
    costNanoUsd: 4_500_000n,
    latencyMs: 812,
    timeToFirstTokenMs: 211,
    sourceIp: `192.0.2.${number % 250}`,
  });
}

async function millisecondsOf(store: PostgresAudit, size: number): Promise<number> {
  const entries = Array.from({ length: size }, (_, number) => entry(number));
  const started = performance.now();
  await store.insertEntries(entries);
  const time = performance.now() - started;
  recorded++;
  return time;
}

/** Makes the database time its functions, on all connections that are opened later. */
async function timeFunctions(): Promise<void> {
  const first = openDatabase(server.connection, options);
  await first.unsafe("alter database postgres set track_functions = 'pl'");
  await first.end();
}

/** How often the trigger ran that sums charges by day, and how many milliseconds it took, once at least `calls` are counted. */
async function triggerTime(
  calls: number,
): Promise<{ readonly calls: number; readonly milliseconds: number }> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const [counted] = await database<{ calls: number; milliseconds: number }[]>`
      select coalesce(sum(calls), 0)::integer as calls, coalesce(sum(total_time), 0) as milliseconds
      from pg_stat_user_functions where funcname = 'add_to_credit_days'`;
    if (counted !== undefined && counted.calls >= calls) return counted;
    // Connections report what they have counted once a second, and at the latest when they have been idle for 10 seconds.
    await database`select pg_sleep(0.5)`;
  }
  throw new Error("The database does not report the calls of the trigger.");
}

/** Reports the trigger's part of the time of batches: other work on the machine slows down both. */
async function reportCreditDays(store: PostgresAudit, size: number, batches: number): Promise<void> {
  const before = await triggerTime(recorded);
  let total = 0;
  for (let batch = 0; batch < batches; batch++) total += await millisecondsOf(store, size);
  const after = await triggerTime(recorded);
  const share = (100 * (after.milliseconds - before.milliseconds)) / total;
  report(`sums of charges by day: part of the time, ${size} entries`, "%", share.toFixed(2));
}

try {
  await timeFunctions();
  await migrate(database, MIGRATIONS);
  await makeAuditPartitions(database, new Date());
  for (const id of accounts) {
    await database`insert into accounts (id, name, created_at) values (${id}, 'bench', now())`;
  }
  const store = new PostgresAudit(database, uuidv7());
  const rates: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    rates.push((BATCH / (await millisecondsOf(store, BATCH))) * 1_000);
  }
  report(`entries a second, in batches of ${BATCH}`, "1/s", summary(rates, 0));
  await reportCreditDays(store, BATCH, BATCHES);
  await reportCreditDays(store, SMALL_BATCH, SMALL_BATCHES);

  const [account] = accounts;
  if (account === undefined) throw new Error("there is no account");
  await database`
    insert into usage_days
    select ${account}::uuid, date_trunc('day', now(), 'UTC') - day * interval '1 day', key.id, 'acme/chat-' || model, 100, 1, 100000, 20000, 0, 450000000
    from generate_series(1, 365) day, generate_series(1, ${MODELS}) model,
         jsonb_to_recordset(${database.json(keys.map((id) => ({ id })))}) as key (id uuid)`;
  await database.unsafe("vacuum analyze usage_days");
  const usage = new PostgresUsage(database);
  const times: number[] = [];
  for (let turn = 0; turn < 50; turn++) {
    const started = performance.now();
    const to = new Date();
    await usage.readUsage(
      account,
      {
        from: new Date(to.getTime() - 365 * DAY_MS),
        to,
        interval: "month",
        timeZone: "UTC",
        starts: [],
        groupBy: "model",
      },
      200,
    );
    times.push(performance.now() - started);
  }
  report(`a year by month and model, of ${KEYS} keys and ${MODELS} models`, "ms", summary(times, 1));
} finally {
  await database.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
