// What reading a long audit log costs: pages near and far, and an export, with ENTRIES entries (a million by default).
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import { AuditLog } from "../../server/src/audit/audit-log.ts";
import { makeAuditPartitions } from "../../server/src/audit/audit-partitions.ts";
import { PostgresAuditReader } from "../../server/src/audit/audit-reader.ts";
import { cursorText } from "../../server/src/audit/cursor.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import type { Recorder } from "../../server/src/audit/recorder.ts";
import { selectionOf } from "../../server/src/audit/selection.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { migrate } from "../../server/src/database/migrate.ts";
import { Reads } from "../../server/src/database/reads.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";
import { report, summary } from "./measure.ts";

const ENTRIES = Number(process.env.ENTRIES ?? 1_000_000);
const PAGES = 200;
/** Entries that are recorded together. */
const BATCH = 100;
const ACCOUNT = "00000000-0000-7000-8000-000000000001" as AccountId;
const KEY = "00000000-0000-7000-9000-000000000001";

const folder = await mkdtemp(join(tmpdir(), "ostiary-bench-"));
const server = await startEmbeddedPostgres({ dataDir: folder, log: () => {} });
const database = openDatabase(server.connection, {
  maxConnections: 2,
  connectTimeoutS: 5,
  statementTimeoutMs: 600_000,
});

/** One entry every two seconds, up to now. */
async function fill(): Promise<void> {
  await migrate(database, MIGRATIONS);
  await makeAuditPartitions(database, new Date());
  await database`insert into accounts (id, name, created_at) values (${ACCOUNT}, 'bench', now())`;
  await database`
    insert into keys (id, account_id, name, key_id, digest, created_at, issued_at)
    values (${KEY}, ${ACCOUNT}, 'bench', 'abcd', sha256('x'), now(), now())`;
  await database`
    insert into audit_entries (id, account_id, key, key_id, at, endpoint, model, upstream, status, end_reason, usage_source,
      prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms, time_to_first_token_ms, source_ip, batch)
    select (lpad(to_hex(ms), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
           ${ACCOUNT}::uuid, ${KEY}::uuid, 'abcd', to_timestamp(ms / 1000.0), 'POST /v1/chat/completions', 'acme/chat', 'main', 200,
           'stop', 'upstream', 1000, 200, 0, 4500000, 812, 211, '192.0.2.1', n / ${BATCH} + 1
    from (
      select n, (extract(epoch from now()) * 1000)::bigint - (${ENTRIES} - n) * 100::bigint as ms
      from generate_series(1, ${ENTRIES}) n
    ) entry`;
  await database`
    insert into audit_batches (account_id, batch, entries, newest, digest)
    select account_id, batch, count(*), (array_agg(id order by id desc))[1], sha256(batch::text::bytea)
    from audit_entries group by account_id, batch`;
  await database`
    insert into audit_chains (account_id, batches, digest, newest)
    select account_id, batch, digest, newest from audit_batches order by batch desc limit 1`;
  await database.unsafe("vacuum analyze audit_entries, audit_batches, audit_chains");
}

try {
  await fill();
  // By a clock that stands still nothing takes time, so that one reader may read all of it.
  const reads = new Reads(() => 0);
  const log = new AuditLog(
    new PostgresAuditReader(database),
    { flush: async (_: AccountId | null) => {} } as Recorder,
    reads,
    Date.now,
  );

  const asOf = await new PostgresAuditReader(database).asOf(ACCOUNT);
  const depths = { "the first page": 0, "a page in the middle": 0.5, "the last page": 1 };
  for (const [what, depth] of Object.entries(depths)) {
    const skip = Math.max(0, Math.floor(ENTRIES * depth) - 60);
    const [row] = await database<{ id: EntryId }[]>`
      select id from audit_entries where account_id = ${ACCOUNT} order by id desc offset ${skip} limit 1`;
    const selection = selectionOf(ACCOUNT, "page", filterOf({}));
    const cursor = depth === 0 || row === undefined ? null : cursorText({ asOf, entry: row.id }, selection);
    const times: number[] = [];
    for (let page = 0; page < PAGES; page++) {
      const started = performance.now();
      const { entries } = await log.list(ACCOUNT, { filter: filterOf({}), cursor, limit: 50 });
      times.push(performance.now() - started);
      if (entries.length !== 50) throw new Error(`a page of ${entries.length} entries`);
    }
    report(`${what} of ${ENTRIES} entries`, "ms", summary(times, 2));
  }

  for (const format of ["ndjson", "csv"] as const) {
    globalThis.gc?.();
    const started = performance.now();
    let bytes = 0;
    let mostHeap = 0;
    for await (const text of await log.export(ACCOUNT, {
      format,
      filter: filterOf({}),
      cursor: null,
      isProved: false,
    })) {
      bytes += text.length;
      mostHeap = Math.max(mostHeap, process.memoryUsage().rss);
    }
    const seconds = (performance.now() - started) / 1_000;
    report(
      `an export as ${format}`,
      "",
      `${Math.round(ENTRIES / seconds)} entries/s  ${Math.round(bytes / seconds / 1e6)} MB/s`,
    );
    report("  most memory of the process", "MB", (mostHeap / 1024 / 1024).toFixed(0));
  }
} finally {
  await database.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
