import type { AccountId } from "../contract/account.ts";
import { type EntryId, firstEntryIdAt } from "../contract/entry.ts";
import type { Database } from "../database/database.ts";
import { JSON_COVERED_FIELDS, jsonFields } from "./entry-sql.ts";
import type { ExportPlan } from "./export-plan.ts";
import { inPeriod, isSearch, matching } from "./filter-sql.ts";
import { REMOVED_COLUMNS, type Removed, type RemovedRow, removedOf } from "./removed-entries.ts";

/** Places of a batch that one line covers, counted from the batch's beginning, so that lines are the same after an interruption. */
export const PLACES_PER_LINE = 500;
/** Batches that are looked at together. */
const MAX_BATCHES = 2_000;

export interface RecordedBatch {
  readonly batch: bigint;
  readonly entries: number;
}

/** Lines of consecutive entries, and the batch of the last one. */
export interface ProvedSegment extends RecordedBatch {
  readonly text: string;
  /** The last entry, which may not match the filter itself. */
  readonly entry: EntryId;
  /** Whether the last entry completes its batch, and the lines may lack entries of that. */
  readonly needsProof: boolean;
  /** The lowest and the highest batch so far. */
  readonly first: bigint;
  readonly last: bigint;
}

/** What one line of a proof says of a batch. */
export interface ProofChunk extends RecordedBatch {
  /** In hexadecimal. */
  readonly digest: string;
  readonly chunk: number;
  /** The entries that were left out, as a JSON array; `null` if all were. */
  readonly leftOut: string | null;
  /** The digest of the entries' digests in hexadecimal, if all were left out. */
  readonly content: string | null;
}

/** A row of {@link readSegments}. If there are no entries, one row tells only what was deleted. */
type SegmentRow = (ProvedSegment | { readonly entry: null }) & {
  readonly scanned: bigint | null;
} & RemovedRow;

/** Which entries come next: up to `limit` after one, and the lowest and the highest batch before them; 0: none. */
interface NextEntries {
  readonly after: EntryId;
  readonly first: bigint;
  readonly last: bigint;
  readonly limit: number;
}

/**
 * Writes the lines of the next entries of the period, in segments that end where a batch needs a proof. `removed` is what had been deleted
 * when they were read.
 */
export async function readSegments(
  sql: Database,
  { accountId, filter, asOf, cursorStart }: ExportPlan,
  { after, first, last, limit }: NextEntries,
): Promise<{
  readonly segments: readonly ProvedSegment[];
  readonly isEnd: boolean;
  readonly removed: Removed;
}> {
  // Walks audit_entries_by_account.
  const rows = await sql<SegmentRow[]>`
    with scanned as materialized (
      select entries.id, entries.batch, batch.newest, batch.entries,
             case when ${matching(sql, accountId, filter, asOf)} then (
               select left(row_to_json(line)::text, -1) from (select entries.id, ${sql.unsafe(jsonFields(false))}) line
             ) end as line
      from audit_entries entries
      left join keys on keys.id = entries.key
      join audit_batches batch on batch.account_id = entries.account_id and batch.batch = entries.batch
      where ${inPeriod(sql, accountId, filter)} and entries.batch <= ${asOf} and entries.id > ${after}
      order by entries.id
      limit ${limit}
    ),
    placed as (
      select *, least(nullif(${first}::bigint, 0), min(batch) over so_far) as first,
             greatest(${last}::bigint, max(batch) over so_far) as last,
             id = newest and count(line) over (partition by batch) < entries as ends
      from scanned window so_far as (order by id)
    ),
    divided as (
      select *, count(*) filter (where ends) over (order by id rows between unbounded preceding and 1 preceding) as segment
      from placed
    ),
    segments as (
      select segment, coalesce(string_agg(line || ',"cursor":"' || ${cursorStart}::text || id || '~' || first || '-' || last || '"}' || chr(10), '' order by id), '') as text,
             count(*) as scanned, (array_agg(id order by id desc))[1] as entry, min(first) as first, max(last) as last,
             (array_agg(batch order by id desc))[1] as batch, (array_agg(entries order by id desc))[1] as entries, bool_or(ends) as "needsProof"
      from divided group by segment
    )
    select segments.*, ${sql.unsafe(REMOVED_COLUMNS)}
    from (select) alone
    left join segments on true
    left join audit_chains chain on chain.account_id = ${accountId}
    order by segment`;
  const segments = rows.filter((row) => row.entry !== null);
  const scanned = rows.reduce((sum, row) => sum + Number(row.scanned ?? 0n), 0);
  return { segments, isEnd: scanned < limit, removed: removedOf(rows[0]) };
}

/** Some of the places of batches: from one on, up to a number of them. */
interface BatchPlaces {
  readonly batches: readonly RecordedBatch[];
  readonly fromPlace: number;
  readonly places: number;
}

/** Reads what the export leaves out of some batches, at these places. */
export async function readLeftOut(
  sql: Database,
  { accountId, filter, asOf }: ExportPlan,
  { batches, fromPlace, places }: BatchPlaces,
): Promise<readonly ProofChunk[]> {
  // Those who may read the export may read entries outside of its period, too, but not entries of other keys.
  const mayRead = !isSearch(filter);
  const numbers = sql`(select value::bigint from jsonb_array_elements_text(${sql.json(batches.map(({ batch }) => batch.toString()))}))`;
  const part = mayRead
    ? sql`'entry', (select row_to_json(covered) from (select ${sql.unsafe(JSON_COVERED_FIELDS)}) covered)`
    : sql`'digest', encode(entry_digest(stored), 'hex')`;
  // Uses audit_entries_by_batch.
  return sql<ProofChunk[]>`
    with placed as (
      select entries as stored, entries.batch, row_number() over (partition by entries.batch order by entries.id) - 1 as place,
             (${matching(sql, accountId, filter, asOf)}) is true as is_exported
      from audit_entries entries
      where entries.account_id = ${accountId} and entries.batch in ${numbers}
    ),
    -- Without a line of its own, a batch of a search is proved by one digest.
    found as (
      select batch, ${mayRead ? sql`true` : sql`bool_or(is_exported)`} as is_partial from placed group by batch
    ),
    chunks as (
      select placed.batch, (place / ${PLACES_PER_LINE}::bigint)::integer as chunk,
             json_agg(json_build_object('place', place, ${part}) order by place)::text as left_out
      from placed join found using (batch), lateral (select (stored).*) entries
      where is_partial and not is_exported and place >= ${fromPlace}::bigint and place < ${fromPlace + places}::bigint
      group by 1, 2
    )
    select batches.batch, batches.entries, encode(batches.digest, 'hex') as digest, coalesce(chunk, 0) as chunk,
           left_out as "leftOut",
           case when not is_partial then (
             select encode(sha256(string_agg(entry_digest(placed.stored), ''::bytea order by place)), 'hex')
             from placed where placed.batch = batches.batch
           ) end as content
    from audit_batches batches join found using (batch) left join chunks using (batch)
    where batches.account_id = ${accountId} and (left_out is not null or (not is_partial and ${fromPlace}::bigint = 0))
    order by batches.batch, chunk`;
}

/** The next batches after one, up to another, whose newest entry is not in the period: together at most `maxEntries`, or a single batch. */
export async function readOthers(
  sql: Database,
  { accountId, filter: { from, to }, asOf }: ExportPlan,
  { after, upTo, maxEntries }: { readonly after: bigint; readonly upTo: bigint; readonly maxEntries: number },
): Promise<readonly RecordedBatch[]> {
  const before = from === null ? sql`false` : sql`newest < ${firstEntryIdAt(from)}`;
  const since = to === null ? sql`false` : sql`newest >= ${firstEntryIdAt(to)}`;
  // Uses the primary key.
  return sql<RecordedBatch[]>`
    select batch, entries
    from (
      select batch, entries, sum(entries) over (order by batch) as total, row_number() over (order by batch) as place
      from (
        select batch, entries from audit_batches
        where account_id = ${accountId} and batch > ${after} and batch <= least(${upTo}::bigint, ${asOf}::bigint) and (${before} or ${since})
        order by batch limit ${MAX_BATCHES}
      ) next
    ) counted
    where total <= ${maxEntries} or place = 1
    order by batch`;
}

/** `null` if there is no such batch. */
export async function readBatch(
  sql: Database,
  accountId: AccountId,
  batch: bigint,
): Promise<RecordedBatch | null> {
  const [row] = await sql<RecordedBatch[]>`
    select batch, entries from audit_batches where account_id = ${accountId} and batch = ${batch}`;
  return row ?? null;
}

/** The batch whose newest entry has an id; `null` if there is none. */
export async function readBatchUpTo(
  sql: Database,
  accountId: AccountId,
  newest: EntryId,
): Promise<RecordedBatch | null> {
  // Uses audit_entries_pkey, and the batches' primary key.
  const [row] = await sql<RecordedBatch[]>`
    select batches.batch, batches.entries
    from audit_entries entry
    join audit_batches batches on batches.account_id = entry.account_id and batches.batch = entry.batch
    where entry.id = ${newest} and entry.account_id = ${accountId} and batches.newest = entry.id`;
  return row ?? null;
}
