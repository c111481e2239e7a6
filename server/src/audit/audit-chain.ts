import type { AccountId } from "../contract/account.ts";
import { atOneMoment, type Database, LONG_READ_TIMEOUT_MS, type Transaction } from "../database/database.ts";
import type { Reader, Reads } from "../database/reads.ts";
import type { Recorder } from "./recorder.ts";
import { readBatchDigest } from "./removed-entries.ts";

/** A point in an account's chain of batches. Given later, it shows whether earlier entries were changed. */
interface ChainPoint {
  /** The number of the batch, from 1. */
  readonly batch: number;
  /** The SHA-256 digest of the batch and those before it: 64 hexadecimal digits. */
  readonly digest: string;
}

interface ChainProblem {
  /** The number of the batch, from 1. */
  readonly batch: number;
  /**
   * `changed`: its entries, or what is stored of it, differ from what was recorded. `entries_missing`, `entries_added`: their number differs too.
   * `batch_missing`: the batch itself is missing. `digest_differs`: the chain does not contain the expected point.
   */
  readonly problem: "changed" | "entries_missing" | "entries_added" | "batch_missing" | "digest_differs";
  /** The number of entries that the batch was recorded with; `null`: the batch is missing. */
  readonly recordedEntries: number | null;
  /** The number of entries that the database has of the batch. */
  readonly foundEntries: number;
}

interface ChainReport {
  /** The last batch; `null`: nothing has been recorded. */
  readonly head: ChainPoint | null;
  /** Batches up to this one were deleted at the end of the plan's retention. 0: none. */
  readonly removedBatches: number;
  /** The number of batches that this call has verified. */
  readonly batches: number;
  /** The number of entries that this call has verified. */
  readonly entries: number;
  /** What was found wrong, up to 100 problems. Empty: nothing was changed. */
  readonly problems: readonly ChainProblem[];
  /** Pass it as `after` to verify the rest; `null`: everything is verified. */
  readonly next: number | null;
}

type ChainHead = Pick<ChainReport, "head" | "removedBatches">;

/** About how many entries one call verifies. */
const MAX_VERIFIED = 100_000;
/** Entries that one transaction reads. Other reads of the database run in between. */
const SLICE = 10_000;
/** The maximum number of batches in a slice, because many small batches cost as much as a few large ones. */
const MAX_BATCHES = 2_000;
/** A chain that lacks many batches would otherwise make an endless list. */
const MAX_PROBLEMS = 100;

/**
 * Detects entries that were changed, removed or added after they were recorded: each batch's digest covers its entries and the
 * previous digest. An attacker who can write to the database can also compute a new chain; comparing it with a
 * point that was saved before shows that.
 */
export class AuditChain {
  readonly #database: Database;
  readonly #recorder: Recorder;
  readonly #reads: Reads;

  constructor(database: Database, recorder: Recorder, reads: Reads) {
    this.#database = database.withTimeout(LONG_READ_TIMEOUT_MS);
    this.#recorder = recorder;
    this.#reads = reads;
  }

  /**
   * Verifies about a hundred thousand entries of the chain.
   *
   * @param after the batch after which to begin; `null`: begin with the oldest.
   * @param expected a point that was saved before and that the chain must contain.
   * @throws {Failure} as {@link Reads.whole}.
   */
  async verify(
    accountId: AccountId,
    after: number | null,
    expected: ChainPoint | null,
    reader: Reader,
  ): Promise<ChainReport> {
    await this.#recorder.flush(accountId);
    return this.#reads.whole(reader, async (slices) => {
      const verify = (from: number | null, point: ChainPoint | null) =>
        slices.run(() => atOneMoment(this.#database, (sql) => verifyStretch(sql, accountId, from, point)));
      let report = await verify(after, expected);
      // Batches may be recorded or deleted meanwhile: each slice begins where the previous one ended.
      while (report.next !== null && isUnfinished(report) && !slices.isSpent()) {
        report = joined(report, await verify(report.next, null));
      }
      return report;
    });
  }
}

/** Verifies all of an account's chain, as far as problems can be listed, whatever else the database has to do. */
export async function verifyWholeChain(database: Database, accountId: AccountId): Promise<ChainReport> {
  const verify = (after: number | null) =>
    atOneMoment(database, (sql) => verifyStretch(sql, accountId, after, null));
  let report = await verify(null);
  while (report.next !== null && report.problems.length < MAX_PROBLEMS) {
    report = joined(report, await verify(report.next));
  }
  return report;
}

function isUnfinished({ entries, problems }: ChainReport): boolean {
  return entries + SLICE <= MAX_VERIFIED && problems.length < MAX_PROBLEMS;
}

/** Joins the reports of two consecutive slices. */
function joined(first: ChainReport, second: ChainReport): ChainReport {
  return {
    ...second,
    batches: first.batches + second.batches,
    entries: first.entries + second.entries,
    problems: [...first.problems, ...second.problems],
  };
}

/** Verifies a stretch of the chain as one transaction sees it, whatever is recorded or removed meanwhile. */
async function verifyStretch(
  sql: Transaction,
  accountId: AccountId,
  after: number | null,
  expected: ChainPoint | null,
): Promise<ChainReport> {
  const chainHead = await readHead(sql, accountId);
  const { head, removedBatches } = chainHead;
  const problems: ChainProblem[] =
    after === null
      ? [...(await findStrays(sql, accountId, chainHead)), ...(await findWrongHead(sql, accountId))]
      : [];
  if (expected !== null && expected.batch >= removedBatches) {
    const { batch } = expected;
    if ((await readBatchDigest(sql, accountId, batch)) !== expected.digest) {
      problems.push({ batch, problem: "digest_differs", recordedEntries: null, foundEntries: 0 });
    }
  }
  const start = Math.max(after ?? 0, removedBatches);
  if (head === null || start >= head.batch) {
    return { head, removedBatches, batches: 0, entries: 0, problems, next: null };
  }
  const { last, entries } = await readStretch(sql, accountId, start);
  // If batches are missing at the end, the chain's head shows that they existed.
  const end = last === null ? head.batch : Math.min(last, head.batch);
  problems.push(...(await findProblems(sql, accountId, start, end)));
  const next = end < head.batch ? end : null;
  return { head, removedBatches, batches: end - start, entries, problems, next };
}

async function readHead(sql: Transaction, accountId: AccountId): Promise<ChainHead> {
  const [row] = await sql<ChainHead[]>`
    select case when digest is not null then json_build_object('batch', batches, 'digest', encode(digest, 'hex')) end
             as head,
           removed_batches::float8 as "removedBatches"
    from audit_chains where account_id = ${accountId}`;
  return row ?? { head: null, removedBatches: 0 };
}

/** The last batch of a stretch after `after` that can be verified at once, and the number of its entries. */
async function readStretch(
  sql: Transaction,
  accountId: AccountId,
  after: number,
): Promise<{ readonly last: number | null; readonly entries: number }> {
  // Uses the primary key.
  const [row] = await sql<{ last: number | null; entries: number }[]>`
    select max(batch)::float8 as last, coalesce(max(total), 0)::float8 as entries
    from (
      select batch, sum(entries) over (order by batch) as total, row_number() over (order by batch) as place
      from (
        select batch, entries from audit_batches
        where account_id = ${accountId} and batch > ${after} order by batch limit ${MAX_BATCHES}
      ) next
    ) counted
    where total <= ${SLICE} or place = 1`;
  return row ?? { last: null, entries: 0 };
}

/** Finds what in the batches after `after` up to `last` differs from what was recorded. */
async function findProblems(
  sql: Transaction,
  accountId: AccountId,
  after: number,
  last: number,
): Promise<readonly ChainProblem[]> {
  // Uses audit_entries_by_batch, and keys_pkey. The digest does not cover the key, from which entries have their key's name: `valid` counts those
  // whose key is one of the account, with their key ID unless it was reissued. A restored database may lack the key. A text of several lines may
  // have the digest of other fields, and a network that of an address. An infinite time has none.
  return sql<ChainProblem[]>`
    with contents as (
      select batch, count(*) as entries, (array_agg(entry.id order by entry.id))[count(*)::integer] as newest,
             sha256(string_agg(entry_digest(entry), ''::bytea order by entry.id)) as content,
             count(*) filter (
               where (keys.account_id = entry.account_id and (keys.key_id = entry.key_id or keys.issued_at <> keys.created_at)) is not false
                 and strpos(concat(entry.error_code, entry.end_reason, entry.usage_source, entry.would_refuse), chr(10)) = 0
                 and isfinite(entry.at)
                 and (set_masklen(entry.source_ip, -1) = entry.source_ip) is not false
             ) as valid
      from audit_entries entry left join keys on keys.id = entry.key
      where entry.account_id = ${accountId} and batch > ${after} and batch <= ${last}
      group by batch
    ),
    links as (
      select batch, entries, newest, digest, lag(digest) over (order by batch) as previous
      from (
        select batch, entries, newest, digest from audit_batches
        where account_id = ${accountId} and batch between ${after} and ${last}
        union all
        select removed_batches, 0, null, removed_digest from audit_chains
        where account_id = ${accountId} and removed_batches = ${after} and removed_batches > 0
      ) kept
    )
    select number::float8 as batch,
           case
             when links.entries is null then 'batch_missing'
             when coalesce(contents.entries, 0) < links.entries then 'entries_missing'
             when contents.entries > links.entries then 'entries_added'
             else 'changed'
           end as problem,
           links.entries as "recordedEntries", coalesce(contents.entries, 0)::float8 as "foundEntries"
    from generate_series(${after + 1}::bigint, ${last}::bigint) number
    left join links on links.batch = number
    left join contents on contents.batch = number
    where (
      links.digest = sha256(coalesce(links.previous, '') || contents.content)
      and links.entries = contents.entries and links.newest = contents.newest and contents.valid = contents.entries
    ) is not true
    order by number
    limit ${MAX_PROBLEMS}`;
}

/** Finds entries that belong to no batch of the chain. */
async function findStrays(
  sql: Transaction,
  accountId: AccountId,
  { head, removedBatches }: ChainHead,
): Promise<readonly ChainProblem[]> {
  // Uses audit_entries_by_batch, twice.
  return sql<ChainProblem[]>`
    select batch::float8 as batch, 'entries_added' as problem, 0 as "recordedEntries",
           count(*)::float8 as "foundEntries"
    from audit_entries
    where account_id = ${accountId} and (batch <= ${removedBatches} or batch > ${head?.batch ?? 0})
    group by audit_entries.batch order by audit_entries.batch limit ${MAX_PROBLEMS}`;
}

/** Finds whether the end of the chain differs from the batches: what is recorded next would be linked to it, or taken for deleted. */
async function findWrongHead(sql: Transaction, accountId: AccountId): Promise<readonly ChainProblem[]> {
  // Uses the primary keys, and audit_entries_by_account.
  return sql<ChainProblem[]>`
    select batches::float8 as batch, 'changed' as problem, null as "recordedEntries", 0 as "foundEntries"
    from audit_chains chain
    where account_id = ${accountId} and batches > 0 and (
      digest is distinct from coalesce(
        (select batch.digest from audit_batches batch where batch.account_id = chain.account_id and batch.batch = batches),
        case when removed_batches = batches then removed_digest else digest end
      )
      or removed_up_to > newest
      or newest is null
      or digest is null
      or (removed_batches = 0) <> (removed_digest is null)
      or (removed_batches = 0) <> (removed_up_to is null)
      or (select max(batch.batch) from audit_batches batch where batch.account_id = chain.account_id) > batches
      or (select min(batch.batch) from audit_batches batch where batch.account_id = chain.account_id) <= removed_batches
      or newest < (
        select id from audit_entries entry where entry.account_id = chain.account_id order by id desc limit 1
      )
    )`;
}
