import { readdir, readFile } from "node:fs/promises";
import { type Database, inTransaction, type Transaction } from "./database.ts";

/** An arbitrary number that no other advisory lock uses. */
const MIGRATION_LOCK = 7_305_113_001n;
/** For a file that changes all rows of a large table, and for nodes that wait for another one's migration. */
const MIGRATION_TIMEOUT_MS = 60 * 60_000;
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/**
 * Brings the schema up to date: numbered `.sql` files, each once, in order, all in one transaction, so that
 * nodes which start together wait for each other and a failing file changes nothing.
 *
 * @throws {Error} when the database was migrated by a newer version of the service.
 */
export async function migrate(database: Database, folder: URL): Promise<void> {
  const files = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
  await inTransaction(database.withTimeout(MIGRATION_TIMEOUT_MS), async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    await transaction`
      create table if not exists schema_migrations (
        file text primary key,
        applied_at timestamptz not null default now()
      )`;
    const applied = await appliedFiles(transaction);
    const unknown = [...applied].filter((file) => !files.includes(file));
    if (unknown.length > 0) {
      throw new Error(
        `The database was migrated by a newer version of the service (${unknown.join(", ")}). Start that version, or restore a backup.`,
      );
    }
    for (const file of files) {
      if (applied.has(file)) continue;
      await transaction.unsafe(await readFile(new URL(file, folder), "utf8"));
      await transaction`insert into schema_migrations (file) values (${file})`;
    }
  });
}

async function appliedFiles(transaction: Transaction): Promise<ReadonlySet<string>> {
  const rows = await transaction<{ file: string }[]>`select file from schema_migrations`;
  return new Set(rows.map((row) => row.file));
}
