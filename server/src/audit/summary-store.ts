import type { EntryId } from "../contract/entry.ts";
import { type Database, LONG_READ_TIMEOUT_MS } from "../database/database.ts";
import type { AsOf } from "./cursor.ts";
import type { EntryFilter } from "./filter.ts";
import { hasFailed, inPeriod, type LogScope, matching } from "./filter-sql.ts";

/** What the matching entries of one group add up to. */
export interface SummarySums {
  readonly requests: number;
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costNanoUsd: bigint;
}

/** A group of entries: those of a time interval, or with the same model, error code, status or upstream. */
export interface SummaryRow extends SummarySums {
  readonly kind: "bucket" | "model" | "errorCode" | "status" | "upstream";
  /** The number of the interval since 1970, the model, the error code, the status or the upstream; `null`: they have none. */
  readonly value: string | null;
}

/** The entries to search: from the newest back to the oldest, both included. */
export interface SummaryRange {
  readonly newest: EntryId;
  readonly oldest: EntryId;
  /** Whether the period has older entries. */
  readonly isCut: boolean;
}

/** Entries that one statement adds up, so that other reads get their turns in between. */
const MAX_SUMMED = 50_000;
/** Models and the like with rows of their own: clients make up names of models. */
const MAX_VALUES = 200;

/** Adds up audit entries in PostgreSQL. */
export class PostgresSummary {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database.withTimeout(LONG_READ_TIMEOUT_MS);
  }

  /** The newest entries of the period, at most `max`; `null` if it has none. Reads only the index of `inPeriod`. */
  async readRange(scope: LogScope, filter: EntryFilter, max: number): Promise<SummaryRange | null> {
    const sql = this.#database;
    const own = sql`
      select id from audit_entries entries
      where ${inPeriod(sql, scope, filter)}
        ${scope === null ? sql`` : sql`and entries.id <= (select newest from audit_chains where account_id = ${scope})`}`;
    const [row] = await sql<{ newest: EntryId | null; last: EntryId | null; oldest: EntryId | null }[]>`
      select (${own} order by id desc limit 1) as newest,
             (${own} order by id desc offset ${max - 1} limit 1) as last,
             (${own} order by id limit 1) as oldest`;
    const { newest = null, last = null, oldest = null } = row ?? {};
    if (newest === null || oldest === null) return null;
    return { newest, oldest: last ?? oldest, isCut: last !== null && last !== oldest };
  }

  /**
   * Adds up the matching entries among the next {@link MAX_SUMMED} of a range, newest first.
   *
   * @returns `next`: the newest entry that is left; `null` at the end of the range.
   */
  async sum(
    scope: LogScope,
    filter: EntryFilter,
    asOf: AsOf,
    { newest, oldest }: SummaryRange,
    bucketMs: number,
  ): Promise<{ readonly rows: readonly SummaryRow[]; readonly next: EntryId | null }> {
    const sql = this.#database;
    const range = sql`entries.id <= ${newest} and entries.id >= ${oldest}`;
    const [edge] = await sql<{ id: EntryId }[]>`
      select id from audit_entries entries where ${inPeriod(sql, scope, filter)} and ${range}
      order by id desc offset ${MAX_SUMMED} limit 1`;
    // Uses the index of `inPeriod`.
    const rows = await sql<SummaryRow[]>`
      with found as (
        select floor(extract(epoch from entries.at) * 1000 / ${bucketMs}::bigint)::bigint as bucket, entries.model,
               entries.error_code, entries.status, entries.upstream, ${hasFailed(sql)} as failed, entries.prompt_tokens,
               entries.completion_tokens, entries.cost_nano_usd
        from audit_entries entries
        where ${matching(sql, scope, filter, asOf)} and ${range}
          ${edge === undefined ? sql`` : sql`and entries.id > ${edge.id}`}
      ),
      grouped as (
        select case grouping(bucket, model, error_code, status, upstream)
                 when 15 then 'bucket' when 23 then 'model' when 27 then 'errorCode' when 29 then 'status' else 'upstream'
               end as kind,
               coalesce(bucket::text, model, error_code, status::text, upstream) as value,
               count(*) as requests, count(*) filter (where failed) as errors,
               coalesce(sum(prompt_tokens), 0) as prompt_tokens, coalesce(sum(completion_tokens), 0) as completion_tokens,
               sum(cost_nano_usd)::bigint as cost_nano_usd
        from found group by grouping sets ((bucket), (model), (error_code), (status), (upstream))
      ),
      ranked as (
        select *, row_number() over (partition by kind order by requests desc, value) as place from grouped
      )
      select kind, value, requests::float8 as requests, errors::float8 as errors,
             prompt_tokens::float8 as "promptTokens", completion_tokens::float8 as "completionTokens",
             cost_nano_usd as "costNanoUsd"
      from ranked where kind = 'bucket' or place <= ${MAX_VALUES}`;
    return { rows, next: edge?.id ?? null };
  }
}
