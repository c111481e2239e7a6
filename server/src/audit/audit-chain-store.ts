import type { AccountId } from "../contract/account.ts";
import type { Transaction } from "../database/database.ts";
import type { ChainHead, ChainProblem } from "./audit-chain.ts";

/** The maximum of one slice: many small batches cost as much as few large ones. */
const MAX_BATCHES = 2_000;
/** A chain that lacks many batches would otherwise make an endless list. */
const MAX_PROBLEMS = 100;

/** An account's chain in PostgreSQL, as one transaction sees it, whatever is recorded or removed meanwhile. */
export class StoredChain {
  readonly #database: Transaction;
  readonly #accountId: AccountId;

  constructor(database: Transaction, accountId: AccountId) {
    this.#database = database;
    this.#accountId = accountId;
  }

  async readHead(): Promise<ChainHead> {
    const [row] = await this.#database<{ batches: bigint; digest: string | null; removed_batches: bigint }[]>`
      select batches, encode(digest, 'hex') as digest, removed_batches
      from audit_chains where account_id = ${this.#accountId}`;
    if (row === undefined || row.digest === null) {
      return { head: null, removedBatches: Number(row?.removed_batches ?? 0n) };
    }
    return {
      head: { batch: Number(row.batches), digest: row.digest },
      removedBatches: Number(row.removed_batches),
    };
  }

  /** The last batch of a stretch after `after` that can be verified at once, and the number of its entries. */
  async stretch(after: number, maxEntries: number): Promise<{ last: number; entries: number }> {
    // Uses the primary key.
    const [row] = await this.#database<{ last: bigint | null; entries: bigint | null }[]>`
      select max(batch) as last, max(total)::bigint as entries
      from (
        select batch, sum(entries) over (order by batch) as total, row_number() over (order by batch) as place
        from (
          select batch, entries from audit_batches
          where account_id = ${this.#accountId} and batch > ${after} order by batch limit ${MAX_BATCHES}
        ) next
      ) counted
      where total <= ${maxEntries} or place = 1`;
    return { last: Number(row?.last ?? after), entries: Number(row?.entries ?? 0n) };
  }

  /** Finds what in the batches after `after` up to `last` differs from what was recorded. */
  async findProblems(after: number, last: number): Promise<readonly ChainProblem[]> {
    // Uses audit_entries_by_batch.
    const rows = await this.#database<
      { batch: bigint; recorded: number | null; found: bigint; is_missing: boolean }[]
    >`
      with contents as (
        select batch, count(*) as entries, sha256(string_agg(entry_digest(entry), ''::bytea order by id)) as content
        from audit_entries entry
        where account_id = ${this.#accountId} and batch > ${after} and batch <= ${last}
        group by batch
      ),
      links as (
        select batch, entries, digest, lag(digest) over (order by batch) as previous
        from (
          select batch, entries, digest from audit_batches
          where account_id = ${this.#accountId} and batch between ${after} and ${last}
          union all
          select removed_batches, 0, removed_digest from audit_chains
          where account_id = ${this.#accountId} and removed_batches = ${after} and removed_batches > 0
        ) kept
      )
      select number as batch, links.entries as recorded, coalesce(contents.entries, 0) as found,
             links.batch is null as is_missing
      from generate_series(${after + 1}::bigint, ${last}::bigint) number
      left join links on links.batch = number
      left join contents on contents.batch = number
      where (links.digest = sha256(coalesce(links.previous, '') || contents.content)) is not true
      order by number
      limit ${MAX_PROBLEMS}`;
    return rows.map((row) => {
      const found = Number(row.found);
      return {
        batch: Number(row.batch),
        problem: problemOf(row.is_missing, row.recorded, found),
        recordedEntries: row.recorded,
        foundEntries: found,
      };
    });
  }

  /** Finds entries that belong to no batch of the chain. */
  async findStrays({ head, removedBatches }: ChainHead): Promise<readonly ChainProblem[]> {
    // Uses audit_entries_by_batch, twice.
    const rows = await this.#database<{ batch: bigint; found: bigint }[]>`
      select batch, count(*) as found from audit_entries
      where account_id = ${this.#accountId} and (batch <= ${removedBatches} or batch > ${head?.batch ?? 0})
      group by batch order by batch limit ${MAX_PROBLEMS}`;
    return rows.map(({ batch, found }) => ({
      batch: Number(batch),
      problem: "entries_added",
      recordedEntries: 0,
      foundEntries: Number(found),
    }));
  }

  /** The digest of a batch; `null` if there is no such batch. */
  async readDigest(batch: number): Promise<string | null> {
    const [row] = await this.#database<{ digest: string }[]>`
      select encode(digest, 'hex') as digest from audit_batches
      where account_id = ${this.#accountId} and batch = ${batch}`;
    return row?.digest ?? null;
  }
}

function problemOf(isMissing: boolean, recorded: number | null, found: number): ChainProblem["problem"] {
  if (isMissing || recorded === null) return "batch_missing";
  if (found < recorded) return "entries_missing";
  return found > recorded ? "entries_added" : "changed";
}
