import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { type EntryId, timeOfEntry } from "../contract/entry.ts";
import { type Database, LONG_READ_TIMEOUT_MS } from "../database/database.ts";
import type { Reader, ReadSlices, Reads } from "../database/reads.ts";
import type { PostgresAuditReader } from "./audit-reader.ts";
import type { EntryFilter } from "./filter.ts";
import { fromNewest, hasFailed, inPeriod, type LogScope, matching } from "./filter-sql.ts";
import type { LogSearch } from "./log-search.ts";
import type { Recorder } from "./recorder.ts";
import type { UsageTotals } from "./usage.ts";

/** The sums of the entries that match a filter. */
type SummaryTotals = Omit<UsageTotals, "cachedTokens">;

/** The requests of one interval of the histogram. */
interface SummaryBucket {
  /** When the interval begins. */
  readonly start: Date;
  /** The number of requests, including refused ones. */
  readonly requests: number;
  /** The requests that failed. */
  readonly errors: number;
}

/** A value that entries have, and how many have it. */
interface ValueCount {
  /** The value. */
  readonly value: string;
  /** The number of requests. */
  readonly requests: number;
}

/** The entries that match a filter, added up. */
interface LogSummary {
  /** The sums over all entries that were counted. */
  readonly total: SummaryTotals;
  /** The time up to which older entries were not counted, because there are too many; `null`: all were counted. */
  readonly countedFrom: Date | null;
  /** The length of an interval of the histogram in milliseconds. */
  readonly bucketMs: number;
  /** The intervals of the histogram, in order of time, without gaps: at most 100. Empty without entries. */
  readonly buckets: readonly SummaryBucket[];
  /** The models with the most requests, at most 100. */
  readonly models: readonly ValueCount[];
  /** The error codes with the most requests, at most 100. */
  readonly errorCodes: readonly ValueCount[];
  /** The statuses with the most requests, at most 100. */
  readonly statuses: readonly ValueCount[];
  /** The upstreams with the most requests, at most 100. */
  readonly upstreams: readonly ValueCount[];
}

/** A group of entries: those of a time interval, or with the same model, error code, status or upstream. */
export interface SummaryRow extends SummaryTotals {
  readonly kind: "bucket" | "model" | "errorCode" | "status" | "upstream";
  /** The number of the interval since 1970, the model, the error code, the status or the upstream; `null`: they have none. */
  readonly value: string | null;
}

/** The entries to search: from the newest back to the oldest, both included. */
interface SummaryRange {
  readonly newest: EntryId;
  readonly oldest: EntryId;
  /** Whether the period has older entries. */
  readonly isCut: boolean;
}

/** Entries that a summary counts at most: as many as the dashboard's list shows. */
const MAX_COUNTED = 200_000;
/** Entries that one statement adds up, so that other reads get their turns in between. */
const MAX_SUMMED = 50_000;
/** Models and the like with rows of their own: clients make up names of models. */
const MAX_ROWS_OF_KIND = 200;
/** A summary that takes longer answers with what it has counted. */
const SUMMARY_MS = 10_000;
const MAX_VALUES = 100;
const MAX_BUCKETS = 100;

/** The lengths of intervals, each at most four times the one before. */
const BUCKETS_MS: readonly number[] = [
  ...[1, 4, 15].map((seconds) => seconds * SECOND_MS),
  ...[1, 4, 15].map((minutes) => minutes * MINUTE_MS),
  ...[1, 3, 12].map((hours) => hours * HOUR_MS),
  ...[1, 4, 14, 56, 182, 728].map((days) => days * DAY_MS),
];

const NOTHING: SummaryTotals = {
  requests: 0,
  errors: 0,
  promptTokens: 0,
  completionTokens: 0,
  costNanoUsd: 0n,
};

interface Span {
  readonly from: Date;
  readonly to: Date;
}

interface AuditSummaryParts {
  readonly store: PostgresSummary;
  readonly entries: PostgresAuditReader;
  readonly recorder: Recorder;
  readonly reads: Reads;
  readonly now: () => Date;
}

/** Sums and histograms of an account's audit log, or of that of all accounts, by any filter. The work is bounded: the newest {@link MAX_COUNTED} entries of the period. */
export class AuditSummary {
  readonly #parts: AuditSummaryParts;

  constructor(parts: AuditSummaryParts) {
    this.#parts = parts;
  }

  /** Includes all requests that this node has answered. @throws as {@link Reads.whole}. */
  async summarize(scope: LogScope, filter: EntryFilter, reader: Reader): Promise<LogSummary> {
    await this.#parts.recorder.tryFlush(scope);
    return this.#parts.reads.whole(reader, (slices) => this.#summarize(slices, scope, filter));
  }

  async #summarize(slices: ReadSlices, scope: LogScope, filter: EntryFilter): Promise<LogSummary> {
    const { store, entries, now } = this.#parts;
    const search = { scope, filter, asOf: await entries.asOf(scope) };
    const range = await slices.run(() => store.readRange(scope, filter));
    if (range === null) return summaryOf([], { from: now(), to: now() }, SECOND_MS, null);
    const span = spanOf(range, filter, now());
    const bucketMs = bucketLengthOf(span);
    const rows: SummaryRow[] = [];
    const endMs = performance.now() + SUMMARY_MS;
    let next: EntryId | null = range.newest;
    do {
      const rest: SummaryRange = { ...range, newest: next };
      const found = await slices.run(() => store.sum(search, rest, bucketMs));
      rows.push(...found.rows);
      next = found.next;
    } while (next !== null && !slices.isSpent() && performance.now() < endMs);
    const uncounted = next ?? (range.isCut ? range.oldest : null);
    return summaryOf(rows, span, bucketMs, uncounted && timeOfEntry(uncounted));
  }
}

/** The time that the histogram shows: the period, as far back as entries are counted. */
function spanOf({ oldest, newest, isCut }: SummaryRange, { from, to }: EntryFilter, now: Date): Span {
  // A clock that was set back leaves entries after the present moment.
  const endMs = Math.max((to ?? now).getTime(), timeOfEntry(newest).getTime());
  return { from: from === null || isCut ? timeOfEntry(oldest) : from, to: new Date(endMs) };
}

/** The length of an interval in milliseconds: the shortest one for which {@link MAX_BUCKETS} intervals cover the time. */
export function bucketLengthOf({ from, to }: Span): number {
  const lengthMs = Math.max(SECOND_MS, to.getTime() - from.getTime());
  const longest = BUCKETS_MS.find((bucketMs) => lengthMs / bucketMs < MAX_BUCKETS - 1);
  return longest ?? Math.ceil(lengthMs / (MAX_BUCKETS - 1) / DAY_MS) * DAY_MS;
}

/** Adds up the parts of a summary. */
export function summaryOf(
  rows: readonly SummaryRow[],
  { from, to }: Span,
  bucketMs: number,
  countedFrom: Date | null,
): LogSummary {
  const ofTime = rows.filter(({ kind }) => kind === "bucket");
  const byBucket = sumsBy(ofTime);
  const first = Math.floor(from.getTime() / bucketMs);
  const last = Math.floor(Math.max(to.getTime() - 1, from.getTime()) / bucketMs);
  const buckets = Array.from({ length: last - first + 1 }, (_, index) => {
    const { requests, errors } = byBucket.get(String(first + index)) ?? NOTHING;
    return { start: new Date((first + index) * bucketMs), requests, errors };
  });
  const valuesOf = (kind: SummaryRow["kind"]) =>
    [...sumsBy(rows.filter((row) => row.kind === kind))]
      .map(([value, { requests }]) => ({ value, requests }))
      .sort((one, other) => other.requests - one.requests || (one.value < other.value ? -1 : 1))
      .slice(0, MAX_VALUES);
  return {
    total: ofTime.reduce<SummaryTotals>(added, NOTHING),
    countedFrom,
    bucketMs,
    buckets: rows.length === 0 ? [] : buckets,
    models: valuesOf("model"),
    errorCodes: valuesOf("errorCode"),
    statuses: valuesOf("status"),
    upstreams: valuesOf("upstream"),
  };
}

/** The sums of each value. Parts of the log have rows of their own. */
function sumsBy(rows: readonly SummaryRow[]): ReadonlyMap<string, SummaryTotals> {
  const sums = new Map<string, SummaryTotals>();
  for (const row of rows) {
    if (row.value !== null) sums.set(row.value, added(sums.get(row.value) ?? NOTHING, row));
  }
  return sums;
}

function added(sum: SummaryTotals, row: SummaryTotals): SummaryTotals {
  return {
    requests: sum.requests + row.requests,
    errors: sum.errors + row.errors,
    promptTokens: sum.promptTokens + row.promptTokens,
    completionTokens: sum.completionTokens + row.completionTokens,
    costNanoUsd: sum.costNanoUsd + row.costNanoUsd,
  };
}

/** Adds up audit entries in PostgreSQL. */
export class PostgresSummary {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database.withTimeout(LONG_READ_TIMEOUT_MS);
  }

  /** The newest entries of the period, at most {@link MAX_COUNTED}; `null` if it has none. Reads only the index of `inPeriod`. */
  async readRange(scope: LogScope, filter: EntryFilter): Promise<SummaryRange | null> {
    const sql = this.#database;
    const own = sql`
      select id from audit_entries entries where ${inPeriod(sql, scope, filter)} and ${fromNewest(sql, scope)}`;
    const [row] = await sql<{ newest: EntryId | null; last: EntryId | null; oldest: EntryId | null }[]>`
      select (${own} order by id desc limit 1) as newest,
             (${own} order by id desc offset ${MAX_COUNTED - 1} limit 1) as last,
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
    { scope, filter, asOf }: LogSearch,
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
      from ranked where kind = 'bucket' or place <= ${MAX_ROWS_OF_KIND}`;
    return { rows, next: edge?.id ?? null };
  }
}
