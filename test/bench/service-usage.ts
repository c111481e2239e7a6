// What the operator's questions about all accounts cost, with 10,000 accounts that are used every day for a year.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import { PostgresUsage } from "../../server/src/audit/usage-store.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { migrate } from "../../server/src/database/migrate.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";
import { report, summary } from "./measure.ts";

const ACCOUNTS = 10_000;
const NODES = 3;
const MODELS = 20;
const TURNS = 7;
const MAX_GROUPS = 50;

const folder = await mkdtemp(join(tmpdir(), "ostiary-bench-"));
const server = await startEmbeddedPostgres({ dataDir: folder, log: () => {} });
const database = openDatabase(server.connection, {
  maxConnections: 2,
  connectTimeoutS: 5,
  statementTimeoutMs: 600_000,
});

try {
  await migrate(database, MIGRATIONS);
  await database`
    insert into accounts (id, name, created_at)
    select gen_random_uuid(), 'Account ' || number, now() from generate_series(1, ${ACCOUNTS}::int) number`;
  await database`
    insert into usage_days
    select id, day, id, 'acme/chat', 100, 1, 100000, 20000, 0, (random() * 1e9)::bigint
    from generate_series(timestamptz '2025-01-01Z', timestamptz '2025-12-31Z', '1 day') day, accounts`;
  await database`
    insert into usage_account_months
    select date_trunc('month', day, 'UTC'), account_id, sum(requests), sum(cost_nano_usd) from usage_days group by 1, 2`;
  await database`
    insert into usage_service_hours
    select hour, md5(node::text)::uuid, 'acme/chat-' || model, 700, 7, 700000, 140000, 0, 30000000000
    from generate_series(timestamptz '2025-01-01Z', timestamptz '2025-12-31T23:00Z', '1 hour') hour,
         generate_series(1, ${NODES}::int) node, generate_series(1, ${MODELS}::int) model`;
  await database.unsafe("vacuum analyze");
  const usage = new PostgresUsage(database);
  for (const [from, to] of [
    ["2025-01-01", "2026-01-01"],
    ["2025-01-13", "2025-12-27"],
    ["2025-11-29", "2025-12-29"],
  ] as const) {
    for (const groupBy of ["none", "model", "account"] as const) {
      const question = {
        from: new Date(from),
        to: new Date(to),
        interval: "day",
        timeZone: "UTC",
        starts: [],
        groupBy,
      } as const;
      const times: number[] = [];
      for (let turn = 0; turn < TURNS; turn++) {
        const started = performance.now();
        await usage.readServiceUsage(question, MAX_GROUPS);
        times.push(performance.now() - started);
      }
      report(`${from} to ${to} by day and ${groupBy}`, "ms", summary(times, 0));
    }
  }
} finally {
  await database.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
