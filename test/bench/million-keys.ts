// Whether authentication slows down with the number of keys: a thousand of a hundred accounts against a million of a
// hundred thousand, on the same server, read in turns.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import { openDatabase } from "../../server/src/database/database.ts";
import { migrate } from "../../server/src/database/migrate.ts";
import { PostgresKeys } from "../../server/src/keys/keys-store.ts";
import { digestOf } from "../../server/src/secrets/digest.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";
import { median, report, summary } from "./measure.ts";

const ROUNDS = 9;
const READS = 500;
const SIZES = { few: { keys: 1_000, accounts: 100 }, many: { keys: 1_000_000, accounts: 100_000 } };

const folder = await mkdtemp(join(tmpdir(), "ostiary-bench-"));
const server = await startEmbeddedPostgres({ dataDir: folder, log: () => {} });

/** A database of its own with so many keys. Their strings are `sk-<number>`: here only their digests matter. */
async function fill(name: string, { keys, accounts }: { keys: number; accounts: number }) {
  const admin = openDatabase(server.connection, {
    maxConnections: 1,
    connectTimeoutS: 5,
    statementTimeoutMs: 600_000,
  });
  await admin.unsafe(`create database ${name}`);
  await admin.end();
  const database = openDatabase(
    { ...server.connection, database: name },
    { maxConnections: 1, connectTimeoutS: 5, statementTimeoutMs: 600_000 },
  );
  await migrate(database, MIGRATIONS);
  await database`
    insert into accounts (id, name, created_at)
    select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'account ' || n, now()
    from generate_series(0, ${accounts - 1}) n`;
  await database`
    insert into keys (id, account_id, name, key_id, digest, created_at, issued_at)
    select ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid,
           ('00000000-0000-7000-8000-' || lpad(to_hex(n % ${accounts}), 12, '0'))::uuid,
           'key ' || n, lpad(to_hex(n), 8, '0'), sha256(convert_to('sk-' || n, 'UTF8')), now(), now()
    from generate_series(0, ${keys - 1}) n`;
  await database.unsafe("vacuum analyze");
  return { database, store: new PostgresKeys(database), keys };
}

type Filled = Awaited<ReturnType<typeof fill>>;

async function readMicroseconds({ store, keys }: Filled): Promise<number> {
  const times: number[] = [];
  for (let read = 0; read < READS; read++) {
    const digest = digestOf(`sk-${Math.floor(Math.random() * keys)}`);
    const started = performance.now();
    const found = await store.findKeyByDigest(digest);
    times.push((performance.now() - started) * 1_000);
    if (found === null) throw new Error("a key was not found");
  }
  return median(times);
}

try {
  const few = await fill("few", SIZES.few);
  const many = await fill("many", SIZES.many);
  await readMicroseconds(few);
  await readMicroseconds(many);
  const measured = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    measured.few.push(await readMicroseconds(few));
    measured.many.push(await readMicroseconds(many));
  }
  report("reading a snapshot, 1,000 keys of 100 accounts", "µs", summary(measured.few, 0));
  report("reading a snapshot, 1,000,000 keys of 100,000 accounts", "µs", summary(measured.many, 0));
  const ratios = measured.many.map((value, round) => value / (measured.few[round] ?? Number.NaN));
  report("  ratio", "", summary(ratios, 2));
  await few.database.end();
  await many.database.end();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
