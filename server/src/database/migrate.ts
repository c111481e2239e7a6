import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import postgres from "postgres";
import { ADVISORY_LOCKS } from "./advisory-locks.ts";
import {
  type Database,
  inTransaction,
  isLockTimeout,
  limitLockWaits,
  type Statements,
  type Transaction,
} from "./database.ts";

/** For a file that changes all rows of a large table, and for nodes that wait for another one's migration. */
const MIGRATION_TIMEOUT_MS = 60 * 60_000;
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
/** The first line of a migration with which older versions of the service don't work. */
const MIN_VERSION = /^-- min_version: (\d{4})$/;
const PAUSE_MS = 500;
/**
 * How long a migration waits for a lock. Statements of running nodes that come after it wait behind it, also while it waits for a long
 * transaction that only reads, such as that of a backup.
 */
const LOCK_TIMEOUT_MS = 1_000;
/** The pause before a migration that did not get a lock begins again. */
const LOCK_PAUSE_MS = 2_000;

/** How the schema of a database relates to the migrations of this version of the service. */
interface Schema {
  /** The number of the newest migration that the database has, such as `0018`; `null`: it has none. */
  readonly version: string | null;
  /** Migrations of this version that the database lacks. */
  readonly missing: readonly string[];
  /** Migrations of newer versions that the database has. This version works with them. */
  readonly newer: readonly string[];
}

/** A database whose schema this version of the service can't use. The message says what to do. */
class SchemaMismatch extends Error {
  override readonly name = "SchemaMismatch";
}

/** What to tell an operator when {@link MigrationListeners.onBlocked} is called. */
export const MIGRATION_IS_BLOCKED =
  "a transaction of another session, such as that of a backup, uses a table that a migration changes: trying again until it has ended";

/** What {@link migrate} reports while it waits. */
interface MigrationListeners {
  /** Called when another process is migrating, and this one waits for it. */
  readonly onWaiting?: () => void;
  /** Called once, when a transaction of another session keeps a lock that a migration needs. */
  readonly onBlocked?: () => void;
}

/**
 * Brings the schema up to date: numbered `.sql` files, each once, in order, all in one transaction, so that
 * nodes which start together wait for each other and a failing file changes nothing.
 *
 * @returns the schema as it was before.
 * @throws {SchemaMismatch} when a newer version has migrated the database in a way that this one doesn't work with, when it has tables of other
 *   programs, when the user may not change it, or when a transaction has kept a lock that a migration needs for an hour.
 */
export async function migrate(
  database: Database,
  folder: URL,
  { onWaiting = () => {}, onBlocked = () => {} }: MigrationListeners = {},
): Promise<Schema> {
  const files = await migrationsIn(folder);
  const deadlineMs = performance.now() + MIGRATION_TIMEOUT_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await inTransaction(database.withTimeout(MIGRATION_TIMEOUT_MS), (transaction) =>
        migrateIn(transaction, { folder, files, onWaiting }),
      );
    } catch (error) {
      if (!isLockTimeout(error)) throw mismatchOf(error) ?? error;
      if (performance.now() > deadlineMs) throw new SchemaMismatch(BLOCKED, { cause: error });
    }
    if (isFirst) onBlocked();
    await setTimeout(LOCK_PAUSE_MS);
  }
}

/** SQLSTATE of what a migration fails with if tables of other programs are in its way, or a part of its own. */
const IN_THE_WAY: ReadonlySet<string> = new Set(["42P07", "42710", "42723", "42703", "42P01"]);
const NOT_PERMITTED = "42501";

/** What an operator can do about an error of a migration; `null`: nothing is known. */
function mismatchOf(error: unknown): SchemaMismatch | null {
  if (!(error instanceof postgres.PostgresError)) return null;
  const begin = `The database cannot be migrated: ${error.message}.`;
  if (error.code === NOT_PERMITTED) {
    return new SchemaMismatch(
      `${begin} Make the service's user the owner of the database (ALTER DATABASE … OWNER TO …) and of its tables.`,
      { cause: error },
    );
  }
  if (!IN_THE_WAY.has(error.code)) return null;
  return new SchemaMismatch(
    `${begin} It has tables of another application, or only a part of those of the service. Give the service a database of its own, and restore backups into an empty one.`,
    { cause: error },
  );
}

const BLOCKED =
  "The database could not be migrated for an hour, because a transaction of another session uses a table that a migration changes. Find it in pg_stat_activity (xact_start), end it, and start the service again.";

async function migrateIn(
  transaction: Transaction,
  {
    folder,
    files,
    onWaiting,
  }: { readonly folder: URL; readonly files: readonly string[]; readonly onWaiting: () => void },
): Promise<Schema> {
  await lock(transaction, onWaiting);
  await limitLockWaits(transaction, LOCK_TIMEOUT_MS);
  await transaction`
    create table if not exists schema_migrations (
      file text primary key,
      applied_at timestamptz not null default now(),
      min_version text
    )`;
  // Only then: the statement would keep nodes that start meanwhile from reading the table until all migrations are applied.
  if (!(await hasMinVersion(transaction))) {
    await transaction`alter table schema_migrations add column min_version text`;
  }
  const schema = await compare(transaction, files);
  for (const file of schema.missing) {
    const text = await readFile(new URL(file, folder), "utf8");
    await transaction.unsafe(text);
    await transaction`insert into schema_migrations (file, min_version) values (${file}, ${minVersionOf(text)})`;
  }
  return schema;
}

/**
 * Resolves when the database has every migration of this version, which another process applies.
 *
 * @param timeoutMs is how long to wait for it.
 * @param onWaiting is called once, with the migrations that are missing.
 * @throws {SchemaMismatch} when they are still missing then, or as {@link migrate}.
 */
export async function untilMigrated(
  database: Database,
  folder: URL,
  { timeoutMs, onWaiting }: { readonly timeoutMs: number; onWaiting(missing: readonly string[]): void },
): Promise<Schema> {
  const files = await migrationsIn(folder);
  const deadlineMs = performance.now() + timeoutMs;
  for (let isFirst = true; ; isFirst = false) {
    const schema = await readSchema(database, files);
    if (schema.missing.length === 0) return schema;
    if (isFirst) onWaiting(schema.missing);
    if (performance.now() > deadlineMs) {
      throw new SchemaMismatch(
        `The database lacks migrations of this version (${schema.missing.join(", ")}), and OSTIARY_MIGRATE=0 keeps the service from applying them. Run the command "migrate" of this version, then start the service again.`,
      );
    }
    await setTimeout(PAUSE_MS);
  }
}

/**
 * The files that {@link migrate} would apply.
 *
 * @throws {SchemaMismatch} as {@link migrate}.
 */
export async function pendingMigrations(database: Database, folder: URL): Promise<readonly string[]> {
  return (await readSchema(database, await migrationsIn(folder))).missing;
}

/** Returns the number of the newest migration that the database has. */
export async function schemaVersion(database: Database): Promise<string | null> {
  const [row] = await database<{ file: string | null }[]>`select max(file) as file from schema_migrations`;
  return row?.file?.slice(0, 4) ?? null;
}

async function readSchema(database: Database, files: readonly string[]): Promise<Schema> {
  if (!(await hasMinVersion(database))) return { version: null, missing: files, newer: [] };
  return await compare(database, files);
}

/** Returns whether a version with this column has migrated the database. */
async function hasMinVersion(database: Statements): Promise<boolean> {
  const columns = await database`
    select from pg_attribute
    where attrelid = to_regclass('schema_migrations') and attname = 'min_version' and not attisdropped`;
  return columns.length === 1;
}

async function lock(transaction: Transaction, onWaiting: () => void): Promise<void> {
  const [row] = await transaction<
    { locked: boolean }[]
  >`select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.migrations}) as locked`;
  if (row?.locked === true) return;
  onWaiting();
  await transaction`select pg_advisory_xact_lock(${ADVISORY_LOCKS.migrations})`;
}

async function compare(database: Statements, files: readonly string[]): Promise<Schema> {
  const rows = await database<
    { file: string; minVersion: string | null }[]
  >`select file, min_version as "minVersion" from schema_migrations order by file`;
  const own = files.at(-1)?.slice(0, 4) ?? "";
  const newer = rows.filter(({ file }) => !files.includes(file));
  const breaking = newer.filter(({ minVersion }) => minVersion !== null && minVersion > own);
  if (breaking.length > 0) {
    throw new SchemaMismatch(
      `The database was migrated by a newer version of the service, which this one does not work with (${breaking.map(({ file }) => file).join(", ")}). Start that version, or restore a backup.`,
    );
  }
  const applied = new Set(rows.map(({ file }) => file));
  return {
    version: rows.at(-1)?.file.slice(0, 4) ?? null,
    missing: files.filter((file) => !applied.has(file)),
    newer: newer.map(({ file }) => file),
  };
}

async function migrationsIn(folder: URL): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
}

/** The number of the newest migration that a version must have to work with this one; `null`: every version works with it. */
function minVersionOf(text: string): string | null {
  return MIN_VERSION.exec(text.split("\n", 1)[0] ?? "")?.[1] ?? null;
}
