import { timeOfEntry } from "../contract/entry.ts";
import type { Reader, ReadParts, Reads } from "../database/reads.ts";
import { ANSWER_TIMEOUT_MS, withTimeout } from "../errors/deadline.ts";
import type { PostgresAuditReader } from "./audit-reader.ts";
import type { EntryFilter } from "./filter.ts";
import type { LogScope } from "./filter-sql.ts";
import type { Recorder } from "./recorder.ts";
import type { PostgresSummary, SummaryRange, SummaryRow, SummarySums } from "./summary-store.ts";

/** The sums of the entries that match a filter. */
export interface SummaryTotals {
  /** The number of requests, including refused ones. */
  readonly requests: number;
  /** The requests that failed: answered with a status of 400 or more, or aborted with an error code. */
  readonly errors: number;
  /** The tokens of the prompts. */
  readonly promptTokens: number;
  /** The tokens of the answers. */
  readonly completionTokens: number;
  /** The cost in nano-USD. */
  readonly costNanoUsd: bigint;
}

/** The requests of one interval of the histogram. */
export interface SummaryBucket {
  /** When the interval begins. */
  readonly start: Date;
  /** The number of requests, including refused ones. */
  readonly requests: number;
  /** The requests that failed. */
  readonly errors: number;
}

/** A value that entries have, and how many have it. */
export interface ValueCount {
  /** The value. */
  readonly value: string;
  /** The number of requests. */
  readonly requests: number;
}

/** The entries that match a filter, added up. */
export interface LogSummary {
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

/** Entries that a summary counts at most: as many as the dashboard's list shows. */
export const MAX_COUNTED = 200_000;
/** A summary that takes longer answers with what it has counted. */
const SUMMARY_MS = 10_000;
const MAX_VALUES = 100;
const MIN_BUCKETS = 25;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
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
  readonly store: Pick<PostgresSummary, "readRange" | "sum">;
  readonly reader: Pick<PostgresAuditReader, "asOf">;
  readonly recorder: Pick<Recorder, "flushed">;
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
    const { recorder, reads } = this.#parts;
    await withTimeout(ANSWER_TIMEOUT_MS, () => recorder.flushed());
    return reads.whole(reader, (parts) => this.#summarize(parts, scope, filter));
  }

  async #summarize(parts: ReadParts, scope: LogScope, filter: EntryFilter): Promise<LogSummary> {
    const { store, reader, now } = this.#parts;
    const asOf = await reader.asOf(scope);
    const range = await parts.run(() => store.readRange(scope, filter, MAX_COUNTED));
    if (range === null) return summaryOf([], { from: now(), to: now() }, SECOND_MS, null);
    const span = spanOf(range, filter, now());
    const bucketMs = bucketLengthOf(span);
    const rows: SummaryRow[] = [];
    const endMs = performance.now() + SUMMARY_MS;
    let countedFrom = range.isCut ? timeOfEntry(range.oldest) : null;
    for (let rest: SummaryRange = range; ; ) {
      const part = rest;
      const found = await parts.run(() => store.sum(scope, filter, asOf, part, bucketMs));
      rows.push(...found.rows);
      if (found.next === null) break;
      if (parts.isSpent || performance.now() >= endMs) {
        countedFrom = timeOfEntry(found.next);
        break;
      }
      rest = { ...range, newest: found.next };
    }
    return summaryOf(rows, span, bucketMs, countedFrom);
  }
}

/** The time that the histogram shows: the period, as far back as entries are counted. */
function spanOf({ oldest, newest, isCut }: SummaryRange, { from, to }: EntryFilter, now: Date): Span {
  const first = timeOfEntry(oldest);
  const last = timeOfEntry(newest);
  const end = to ?? now;
  // A clock that was set back leaves entries after the present moment.
  const endMs = Math.max(end.getTime(), last.getTime());
  return { from: from === null || isCut ? first : from, to: new Date(endMs) };
}

/** The shortest length of which not too many fit into the time. */
export function bucketLengthOf({ from, to }: Span): number {
  const lengthMs = Math.max(SECOND_MS, to.getTime() - from.getTime());
  const longest = BUCKETS_MS.find((bucketMs) => lengthMs / bucketMs < 4 * MIN_BUCKETS - 1);
  return longest ?? Math.ceil(lengthMs / (4 * MIN_BUCKETS - 1) / DAY_MS) * DAY_MS;
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

function added(sum: SummaryTotals, row: SummarySums): SummaryTotals {
  return {
    requests: sum.requests + row.requests,
    errors: sum.errors + row.errors,
    promptTokens: sum.promptTokens + row.promptTokens,
    completionTokens: sum.completionTokens + row.completionTokens,
    costNanoUsd: sum.costNanoUsd + row.costNanoUsd,
  };
}
