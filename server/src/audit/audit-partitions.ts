import { setTimeout as pause } from "node:timers/promises";
import { firstEntryIdAt } from "../contract/entry.ts";
import { ADVISORY_LOCKS } from "../database/advisory-locks.ts";
import {
  BACKGROUND_TIMEOUT_MS,
  type Database,
  inTransaction,
  isLockTimeout,
  limitLockWaits,
  type Transaction,
} from "../database/database.ts";

const MONTHS_AHEAD = 2;
const LOCK_ATTEMPTS = 30;
/** A lock of the table that waits for long reads of the log blocks all other statements. */
const LOCK_TIMEOUT_MS = 1_000;
const LOCK_PAUSE_MS = 500;

/**
 * Creates the missing monthly partitions of `audit_entries`, from last month (journals may be replayed late) to two months
 * ahead. Call it at start and every hour. Entries of a month without a partition are in the default one until theirs is created.
 *
 * @param now the time of the database, which all nodes share.
 * @throws the error of a lock that it did not get, if a long transaction uses the table.
 */
export async function makeAuditPartitions(
  pool: Database,
  now: Date,
  maxAttempts = LOCK_ATTEMPTS,
): Promise<void> {
  const database = pool.withTimeout(BACKGROUND_TIMEOUT_MS);
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(database, (sql) => makeAbsent(sql, now));
    } catch (error) {
      if (!isLockTimeout(error) || attempt === maxAttempts) throw error;
    }
    await pause(LOCK_PAUSE_MS);
  }
}

interface Month {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

async function makeAbsent(sql: Transaction, now: Date): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.partitions})`;
  const names = await readPartitions(sql);
  const absent = Array.from({ length: MONTHS_AHEAD + 2 }, (_, index) => monthOf(now, index - 1)).filter(
    ({ name }) => !names.includes(name),
  );
  if (absent.length === 0) return;
  await lockEntries(sql);
  for (const month of absent) await makePartition(sql, month);
}

/** The names of all partitions of `audit_entries`. */
export async function readPartitions(sql: Database | Transaction): Promise<readonly string[]> {
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'audit_entries'::regclass`;
  return rows.map(({ name }) => name);
}

/**
 * Locks the log against all other statements until the end of the transaction. Partitions are locked with it, and never before it, because readers lock
 * it first, and locks in different orders deadlock.
 */
export async function lockEntries(sql: Transaction): Promise<void> {
  await limitLockWaits(sql, LOCK_TIMEOUT_MS);
  await sql`lock table audit_entries in access exclusive mode`;
}

/**
 * Creates a partition, and moves the month's entries into it that are in the default partition: a node whose clock was wrong may have written some.
 */
async function makePartition(sql: Transaction, { name, from, to }: Month): Promise<void> {
  const create = `create table ${name} partition of audit_entries for values from ('${from}') to ('${to}')`;
  const [stray] = await sql`select from audit_entries_other where id >= ${from} and id < ${to} limit 1`;
  if (stray === undefined) {
    await sql.unsafe(create);
    return;
  }
  // PostgreSQL creates no partition for rows in the default one. They are moved while that is detached.
  await sql`alter table audit_entries detach partition audit_entries_other`;
  await sql.unsafe(create);
  await sql`
    with moved as (delete from audit_entries_other where id >= ${from} and id < ${to} returning *)
    insert into audit_entries select * from moved`;
  await sql`alter table audit_entries attach partition audit_entries_other default`;
}

/** The month that begins `offset` months after the present one. */
export function monthOf(now: Date, offset: number): Month {
  const start = monthStart(now, offset);
  return {
    name: `audit_entries_${start.toISOString().slice(0, 7).replace("-", "_")}`,
    from: firstEntryIdAt(start),
    to: firstEntryIdAt(monthStart(now, offset + 1)),
  };
}

function monthStart(now: Date, offset: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1));
}
