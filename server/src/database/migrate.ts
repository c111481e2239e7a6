import { readdir, readFile } from "node:fs/promises";
import { type Database, inTransaction, type Statements } from "./database.ts";

/** An arbitrary number that no other advisory lock uses. */
const MIGRATION_LOCK = 7_305_113_001n;
/** For a file that changes all rows of a large table, and for nodes that wait for another one's migration. */
const MIGRATION_TIMEOUT_MS = 60 * 60_000;
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/**
 * Brings the schema up to date: numbered `.sql` files, each once, in order, all in one transaction, so that
 * nodes which start together wait for each other and a failing file changes nothing.
 *
 * @returns the files that were applied now.
 * @throws {Error} when the database was migrated by a newer version of the service.
 */
export async function migrate(database: Database, folder: URL): Promise<readonly string[]> {
  const files = await filesIn(folder);
  return inTransaction(database.withTimeout(MIGRATION_TIMEOUT_MS), async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    await transaction`
      create table if not exists schema_migrations (
        file text primary key,
        applied_at timestamptz not null default now()
      )`;
    const applied = await appliedFiles(transaction);
    requireKnown(files, applied);
    const pending = files.filter((file) => !applied.has(file));
    for (const file of pending) {
      await transaction.unsafe(await readFile(new URL(file, folder), "utf8"));
      await transaction`insert into schema_migrations (file) values (${file})`;
    }
    return pending;
  });
}

/**
 * The files that {@link migrate} would apply.
 *
 * @throws {Error} when the database was migrated by a newer version of the service.
 */
export async function pendingMigrations(database: Database, folder: URL): Promise<readonly string[]> {
  const files = await filesIn(folder);
  const [table] = await database<{ exists: boolean }[]>`
    select to_regclass('schema_migrations') is not null as exists`;
  const applied = table?.exists === true ? await appliedFiles(database) : new Set<string>();
  requireKnown(files, applied);
  return files.filter((file) => !applied.has(file));
}

async function filesIn(folder: URL): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
}

function requireKnown(files: readonly string[], applied: ReadonlySet<string>): void {
  const unknown = [...applied].filter((file) => !files.includes(file));
  if (unknown.length === 0) return;
  throw new Error(
    `The database was migrated by a newer version of the service (${unknown.join(", ")}). Start that version, or restore a backup.`,
  );
}

async function appliedFiles(database: Statements): Promise<ReadonlySet<string>> {
  const rows = await database<{ file: string }[]>`select file from schema_migrations`;
  return new Set(rows.map((row) => row.file));
}
