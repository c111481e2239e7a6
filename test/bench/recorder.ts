// How many entries a second reach the database, with all that is counted of them; and a summary of a year's usage.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import { v7 as uuidv7 } from "uuid";
import { makeAuditPartitions } from "../../server/src/audit/audit-partitions.ts";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import { PostgresUsage } from "../../server/src/audit/usage-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type AuditEntry, type EntryId, NO_TOKENS } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { migrate } from "../../server/src/database/migrate.ts";
import { report, summary } from "./measure.ts";

const BATCH = 2_000;
const BATCHES = 20;
const KEYS = 50;
const MODELS = 5;
const DAY_MS = 24 * 60 * 60_000;

const folder = await mkdtemp(join(tmpdir(), "ostiary-bench-"));
const server = await startEmbeddedPostgres({ dataDir: folder, log: () => {} });
const database = openDatabase(server.connection, {
  maxConnections: 2,
  connectTimeoutS: 5,
  statementTimeoutMs: 600_000,
});

const accounts = Array.from({ length: 10 }, () => uuidv7() as AccountId);
const keys = Array.from({ length: KEYS }, () => uuidv7() as KeyUuid);

function entry(number: number): AuditEntry {
  const id = uuidv7() as EntryId;
  return {
    id,
    accountId: accounts[number % accounts.length] ?? (id as string as AccountId),
    key: keys[number % KEYS] ?? (id as string as KeyUuid),
    keyId: "abcd",
    at: new Date(),
    endpoint: "POST /v1/chat/completions",
    model: `acme/chat-${number % MODELS}`,
    upstream: "main",
    status: 200,
    errorCode: null,
    endReason: "stop",
    usageSource: "upstream",
    ...NO_TOKENS,
    promptTokens: 1_000,
    completionTokens: 200,
    cachedTokens: 0,
    costNanoUsd: 4_500_000n,
    latencyMs: 812,
    timeToFirstTokenMs: 211,
    sourceIp: `192.0.2.${number % 250}`,
    wouldRefuse: null,
  };
}

try {
  await migrate(database, new URL("../../server/src/database/migrations/", import.meta.url));
  await makeAuditPartitions(database, new Date());
  for (const id of accounts) {
    await database`insert into accounts (id, name, created_at) values (${id}, 'bench', now())`;
  }
  const store = new PostgresAudit(database, uuidv7());
  const rates: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const entries = Array.from({ length: BATCH }, (_, number) => entry(number));
    const started = performance.now();
    await store.insertEntries(entries);
    rates.push((BATCH / (performance.now() - started)) * 1_000);
  }
  report(`entries a second, in batches of ${BATCH}`, "1/s", summary(rates, 0));

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
