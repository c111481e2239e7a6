import type { AccountId } from "../contract/account.ts";
import { type EntryId, timeOfEntry } from "../contract/entry.ts";
import type { Database, Transaction } from "../database/database.ts";
import { Failure } from "../errors/failure.ts";
import type { ExportPosition } from "./cursor.ts";

/** What retention has deleted of an account's log: whole batches, from the beginning of the chain. */
export interface Removed {
  /** The number of batches. */
  readonly batches: bigint;
  /** The newest of their entries; `null`: nothing was deleted. */
  readonly upTo: EntryId | null;
}

/** The columns of a {@link Removed} in a statement that joins `audit_chains chain`. */
export const REMOVED_COLUMNS = `chain.removed_batches as "removedBatches", chain.removed_up_to as "removedUpTo"`;

/** A row with the {@link REMOVED_COLUMNS}. Both are `null` for an account that has no chain yet. */
export interface RemovedRow {
  readonly removedBatches: bigint | null;
  readonly removedUpTo: EntryId | null;
}

/** What a row says. Without one, nothing was deleted. */
export function removedOf(row: RemovedRow | undefined): Removed {
  return { batches: row?.removedBatches ?? 0n, upTo: row?.removedUpTo ?? null };
}

/** Reads what has been deleted by now. */
export async function readRemoved(sql: Database, accountId: AccountId): Promise<Removed> {
  const [row] = await sql<RemovedRow[]>`
    select ${sql.unsafe(REMOVED_COLUMNS)} from audit_chains chain where account_id = ${accountId}`;
  return removedOf(row);
}

/** The time of the newest entry that was deleted for its age, in milliseconds since 1970; `null`: none was. */
export async function readNewestDeletedMs(database: Database): Promise<number | null> {
  // A scan: there is one row for each account.
  const [row] = await database<{ id: EntryId }[]>`
    select removed_up_to as id from audit_chains where removed_up_to is not null order by removed_up_to desc limit 1`;
  return row === undefined ? null : timeOfEntry(row.id).getTime();
}

/** The digest of a batch in hexadecimal, even if it is the last one that retention deleted; `null` if there is no such batch. */
export async function readBatchDigest(
  sql: Database | Transaction,
  accountId: AccountId,
  batch: bigint | number,
): Promise<string | null> {
  const [row] = await sql<{ digest: string | null }[]>`
    select encode(digest, 'hex') as digest from audit_batches
    where account_id = ${accountId} and batch = ${batch}
    union all
    select encode(removed_digest, 'hex') from audit_chains
    where account_id = ${accountId} and removed_batches = ${batch}`;
  return row?.digest ?? null;
}

/**
 * Requires that an export can still read everything after the entry that it has written last.
 *
 * @param removed read in the same snapshot as the entries after it, or later.
 * @param before what had been deleted when the entry was read. Entries of requests that lasted long are recorded with later ones, so an
 *   export may begin with entries that are older than some that were deleted before it. `null`: unknown, as after an interruption.
 *   Then such an entry counts as one after which entries were deleted.
 * @throws {Failure} `not_found`
 */
export function requireKept(entry: EntryId, removed: Removed, before: Removed | null): void {
  const isOverlap = before?.batches === removed.batches;
  if (removed.upTo !== null && removed.upTo > entry && !isOverlap) throw entriesDeleted();
}

/**
 * Requires that an export can continue from a position. A proof needs its first batch too, because the digest before that is read again.
 *
 * @throws {Failure} `not_found`
 */
export function requireContinuable({ entry, proof }: ExportPosition, removed: Removed): void {
  const written = proof?.written ?? null;
  // With its header only, an export with a proof begins again; after its end, nothing is left to read.
  if (proof?.first === 0n || written === "end") return;
  if (proof !== null && removed.batches >= proof.first) throw entriesDeleted();
  const hasAllOfPeriod = written?.section === "rest";
  if (!hasAllOfPeriod) requireKept(entry, removed, null);
}

/** Retention has deleted what an export would have to read next. */
export function entriesDeleted(): Failure {
  return new Failure(
    "not_found",
    "The export cannot continue, because entries after its cursor were deleted at the end of their retention. Begin the export again, without a cursor.",
    { param: "cursor" },
  );
}
