import { intervalStart, type UsageInterval } from "../../../sdk/src/contract/time-intervals.ts";
import type { AccountId } from "../contract/account.ts";
import { firstEntryIdAt } from "../contract/entry.ts";
import { type Database, LONG_READ_TIMEOUT_MS, type SqlFragment } from "../database/database.ts";
import type {
  Performance,
  PerformanceFigures,
  ServiceUsageQuestion,
  ServiceUsageRow,
  UpstreamHistory,
  UpstreamInterval,
  UsageFilter,
  UsageQuestion,
  UsageRow,
  WholeSpan,
} from "./usage.ts";

/**
 * Reads the rollups of audit entries from PostgreSQL, in order of time. Intervals without usage are left out. The `maxGroups` groups
 * that cost most over the whole time have rows of their own. Periods begin and end with an interval.
 */
export class PostgresUsage {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database.withTimeout(LONG_READ_TIMEOUT_MS);
  }

  async readUsage(
    accountId: AccountId,
    question: UsageQuestion & WholeSpan,
    maxGroups: number,
  ): Promise<readonly UsageRow[]> {
    const sql = this.#database;
    const { groupBy, key, model } = question;
    const group = { none: null, model: sql`model`, key: sql`key` }[groupBy];
    // Uses the primary keys, by account and time.
    const source = sql`
      (${rollupOf(sql, question)}) source
      where account_id = ${accountId}
        ${key === undefined ? sql`` : sql`and key = ${key}`}
        ${model === undefined ? sql`` : sql`and model = ${model}`}`;
    return sql<UsageRow[]>`
      with ${groupsOf(sql, question, { source, group, maxGroups })}
      select start, ${groupBy === "model" ? sql`named."group"` : sql`null`} as model,
             case when keys.id is not null then json_build_object('id', keys.id, 'keyId', key_id, 'name', name) end as key,
             is_rest as "isOther", ${totals(sql)}
      from named
      left join keys on ${groupBy === "key" ? sql`keys.id = named."group"` : sql`false`}
      order by start, is_rest, named."group"`;
  }

  /** Reads the times of the newest `maxMeasured` entries of the period; of all accounts if `accountId` is `null`. */
  async readPerformance(
    accountId: AccountId | null,
    span: WholeSpan & UsageFilter,
    maxMeasured: number,
  ): Promise<Performance> {
    const sql = this.#database;
    const { from, to, key, model } = span;
    const owner = accountId === null ? sql`` : sql`and account_id = ${accountId}`;
    // Walks audit_entries_by_key, audit_entries_by_account or the primary keys backwards, up to the limit. Entries of other models are
    // left out after it, so that a model that is hardly used does not make the walk longer.
    const rows = await sql<PerformanceRow[]>`
      with newest as materialized (
        select id, at, model, upstream, has_failed(status, error_code) as has_failed, latency_ms, time_to_first_token_ms
        from audit_entries
        where id >= ${firstEntryIdAt(from)} and id < ${firstEntryIdAt(to)} ${owner}
          ${key === undefined ? sql`` : sql`and key = ${key}`}
        order by id desc limit ${maxMeasured + 1}
      ),
      measured as (
        select ${startOf(sql, sql`at`, span)} as start, upstream, has_failed, time_to_first_token_ms as first,
               latency_ms as whole
        from newest
        where upstream is not null ${model === undefined ? sql`` : sql`and model = ${model}`}
      )
      select start, upstream, ${figures(sql, maxMeasured)}
      from measured group by grouping sets ((start), (upstream))
      order by start, requests desc, upstream`;
    return {
      intervals: rows.flatMap((row) => (row.start === null ? [] : { start: row.start, ...figuresOf(row) })),
      upstreams: rows.flatMap((row) =>
        row.upstream === null ? [] : { upstream: row.upstream, ...figuresOf(row) },
      ),
      measuredSince: rows[0]?.measuredSince ?? null,
    };
  }

  /** Reads how each upstream answered the newest `maxMeasured` entries of the period. */
  async readUpstreamHistory(span: WholeSpan, maxMeasured: number): Promise<UpstreamHistory> {
    const sql = this.#database;
    // Walks the primary key backwards, up to the limit.
    const rows = await sql<UpstreamRow[]>`
      with newest as materialized (
        select at, upstream, has_failed(status, error_code) as has_failed, error_code, latency_ms, time_to_first_token_ms
        from audit_entries
        where id >= ${firstEntryIdAt(span.from)} and id < ${firstEntryIdAt(span.to)}
        order by id desc limit ${maxMeasured + 1}
      ),
      measured as (
        select ${startOf(sql, sql`at`, span)} as start, upstream, has_failed, error_code as code, time_to_first_token_ms as first,
               latency_ms as whole
        from newest where upstream is not null
      )
      select upstream, start, code, grouping(code) = 0 as "isOfCode", ${figures(sql, maxMeasured)}
      from measured group by grouping sets ((upstream, start), (upstream, start, code))
      order by upstream, start, "isOfCode", requests desc, code`;
    return { upstreams: historiesOf(rows), measuredSince: rows[0]?.measuredSince ?? null };
  }

  async readServiceUsage(
    question: ServiceUsageQuestion & WholeSpan,
    maxGroups: number,
  ): Promise<readonly ServiceUsageRow[]> {
    if (question.groupBy === "account") return this.#readByAccount(question, maxGroups);
    const sql = this.#database;
    const isByModel = question.groupBy === "model";
    // Uses usage_service_hours_pkey, by time: how many accounts there are makes no difference.
    const source = sql`(select hour as at, * from usage_service_hours) source where true`;
    return sql<ServiceUsageRow[]>`
      with ${groupsOf(sql, question, { source, group: isByModel ? sql`model` : null, maxGroups })}
      select start, ${isByModel ? sql`"group"` : sql`null`} as model, null as account, is_rest as "isOther", ${totals(sql)}
      from named
      order by start, is_rest, "group"`;
  }

  async #readByAccount(
    question: ServiceUsageQuestion & WholeSpan,
    maxGroups: number,
  ): Promise<readonly ServiceUsageRow[]> {
    const sql = this.#database;
    const { from, to } = question;
    const source = rollupOf(sql, question);
    // The top accounts' rows are read by the primary keys. The usage of all other accounts is the service's
    // (usage_service_hours_pkey) minus theirs, so that no other account's rows are read.
    return sql<ServiceUsageRow[]>`
      with ranked as materialized (
        select account_id from (${costs(sql, partsOf(from, to))}) costs
        group by account_id
        order by sum(cost_nano_usd) desc, sum(requests) desc, account_id
        limit ${maxGroups}
      ),
      narrow as (
        select at, account_id, ${sums(sql)}
        from ranked join (${source}) source using (account_id)
        where at >= ${from} and at < ${to}
        group by 1, 2
      ),
      own as materialized (
        select ${startOf(sql, sql`at`, question)} as start, account_id, ${sums(sql)} from narrow group by 1, 2
      ),
      hours as (
        select hour, ${sums(sql)} from usage_service_hours where hour >= ${from} and hour < ${to} group by 1
      ),
      rest as (
        select start, ${sums(sql)}
        from (
          select ${startOf(sql, sql`hour`, question)} as start, requests, errors, prompt_tokens, completion_tokens,
                 cached_tokens, cost_nano_usd
          from hours
          union all
          select start, -requests, -errors, -prompt_tokens, -completion_tokens, -cached_tokens, -cost_nano_usd from own
        ) differences
        group by 1
        having sum(requests) > 0
      ),
      named as (
        select own.*, false as is_rest from own
        union all
        select start, null, requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, true
        from rest
      )
      select start, null as model, is_rest as "isOther", ${totals(sql)},
             case when account_id is not null
               then json_build_object('id', account_id, 'name', coalesce(accounts.name, ''))
             end as account
      from named left join accounts on accounts.id = account_id
      order by start, is_rest, account_id`;
  }
}

/** A row of an interval or of an upstream; the other one is `null`. */
interface PerformanceRow extends PerformanceFigures {
  readonly start: Date | null;
  readonly upstream: string | null;
  readonly measuredSince: Date | null;
}

/** A row of an interval of an upstream, or of an error code in it. */
interface UpstreamRow extends PerformanceRow {
  readonly upstream: string;
  readonly start: Date;
  readonly isOfCode: boolean;
  readonly code: string | null;
}

/** Rows in order of upstream and time, those of an interval's codes after its own. */
function historiesOf(rows: readonly UpstreamRow[]): UpstreamHistory["upstreams"] {
  const histories: { upstream: string; intervals: UpstreamInterval[] }[] = [];
  let errorCodes: { code: string; requests: number }[] = [];
  for (const row of rows) {
    const { upstream, start, isOfCode, code, requests } = row;
    if (!isOfCode) {
      if (histories.at(-1)?.upstream !== upstream) histories.push({ upstream, intervals: [] });
      errorCodes = [];
      histories.at(-1)?.intervals.push({ start, ...figuresOf(row), errorCodes });
    } else if (code !== null) errorCodes.push({ code, requests });
  }
  return histories;
}

function figuresOf({ requests, errors, latencyMs, timeToFirstTokenMs }: PerformanceRow): PerformanceFigures {
  return { requests, errors, latencyMs, timeToFirstTokenMs };
}

/** The columns of a {@link PerformanceRow} that sum up `measured` requests, which are the `newest` up to a number. */
function figures(sql: Database, maxMeasured: number) {
  return sql`
    count(*)::float8 as requests, count(*) filter (where has_failed)::float8 as errors,
    ${percentiles(sql, "whole")} as "latencyMs", ${percentiles(sql, "first")} as "timeToFirstTokenMs",
    (select case when count(*) > ${maxMeasured} then min(at) end from newest) as "measuredSince"`;
}

/** The percentiles of successful requests. */
function percentiles(sql: Database, column: "whole" | "first") {
  const percentile = (share: number) => sql`
    percentile_disc(${share}::float8) within group (order by ${sql(column)}) filter (where not has_failed)`;
  return sql`json_build_object('p50', ${percentile(0.5)}, 'p95', ${percentile(0.95)})`;
}

interface Grouping {
  /** What stands behind `from`, with its `where`. */
  readonly source: SqlFragment;
  /** A column; `null`: one row per interval. */
  readonly group: SqlFragment | null;
  readonly maxGroups: number;
}

/**
 * `named`: the sums of a source by interval and group. The groups that cost most have rows of their own, and one row without a group
 * sums up the rest.
 *
 * The groups are ranked first, so that sums are kept for them only: where there are many keys and models, sums of each group in each interval
 * would be as many as the rows that they are of.
 */
function groupsOf(sql: Database, span: WholeSpan, { source, group, maxGroups }: Grouping): SqlFragment {
  const rows = sql`${source} and at >= ${span.from} and at < ${span.to}`;
  const start = startOf(sql, sql`at`, span);
  if (group === null) {
    // By the rows' own intervals first: truncating every row would cost more than adding it up.
    return sql`
      narrow as (select at, ${sums(sql)} from ${rows} group by 1),
      named as (select ${start} as start, null as "group", false as is_rest, ${sums(sql)} from narrow group by 1)`;
  }
  return sql`
    ranked as materialized (
      select ${group} as "group" from ${rows} group by 1
      order by sum(cost_nano_usd) desc, sum(requests) desc, 1
      limit ${maxGroups}
    ),
    named as (
      select ${start} as start, ranked."group", ranked."group" is null as is_rest, ${sums(sql)}
      from (select * from ${rows}) rows left join ranked on ranked."group" = rows.${group}
      group by 1, 2
    )`;
}

/** The rollup whose rows an interval is summed from. Stored days are those of UTC. */
function rollupOf(sql: Database, { interval, timeZone }: WholeSpan) {
  return interval === "hour" || timeZone !== "UTC"
    ? sql`select hour as at, * from usage_hours`
    : sql`select day as at, * from usage_days`;
}

/**
 * The start of the interval that contains a time. The days and months of time zones are given as a list, because the database may know
 * other rules of a zone than this process.
 */
function startOf(sql: Database, time: SqlFragment, { interval, timeZone, starts }: WholeSpan) {
  if (interval === "hour" || timeZone === "UTC") return sql`date_trunc(${interval}, ${time}, 'UTC')`;
  const text = `{${starts.map((start) => start.toISOString()).join(",")}}`;
  // A query of its own is evaluated once. A mere cast would parse the list again for each row.
  const list = sql`(select ${text}::text::timestamptz[])`;
  return sql`(${list})[width_bucket(${time}, ${list})]`;
}

/** The sums of the usage columns. */
function sums(sql: Database) {
  return sql`
    sum(requests)::bigint as requests, sum(errors)::bigint as errors, sum(prompt_tokens)::bigint as prompt_tokens,
    sum(completion_tokens)::bigint as completion_tokens, sum(cached_tokens)::bigint as cached_tokens,
    sum(cost_nano_usd)::bigint as cost_nano_usd`;
}

/** The sums as the members of a `UsageTotals`. */
function totals(sql: Database) {
  return sql`
    requests::float8 as requests, errors::float8 as errors, prompt_tokens::float8 as "promptTokens",
    completion_tokens::float8 as "completionTokens", cached_tokens::float8 as "cachedTokens",
    cost_nano_usd as "costNanoUsd"`;
}

/** The cost of each account, by parts of a period. Uses usage_account_months_pkey, usage_days_by_day and usage_hours_by_hour. */
function costs(sql: Database, parts: readonly UsagePart[]) {
  const ofPart = ({ period, from, to }: UsagePart) => {
    const table = period === "month" ? "usage_account_months" : `usage_${period}s`;
    return sql`
      select account_id, requests, cost_nano_usd from ${sql(table)}
      where ${sql(period)} >= ${from} and ${sql(period)} < ${to}`;
  };
  const nothing = sql`select account_id, requests, cost_nano_usd from usage_account_months where false`;
  return parts.map(ofPart).reduce((all, part) => sql`${all} union all ${part}`, nothing);
}

/** Periods whose sums are stored, longest first. */
const PERIODS: readonly UsageInterval[] = ["month", "day", "hour"];

/** Whole periods of UTC, from one on and before another. */
interface UsagePart {
  readonly period: UsageInterval;
  readonly from: Date;
  readonly to: Date;
}

/**
 * Splits a time span into the longest periods that fit: whole months, the days before and after them, and the hours before and
 * after those. A year then takes a few dozen sums of each account.
 */
function partsOf(from: Date, to: Date, periods = PERIODS): readonly UsagePart[] {
  const [period, ...shorter] = periods;
  if (period === undefined || from >= to) return [];
  const isStart = intervalStart(from, period, "UTC").getTime() === from.getTime();
  const first = isStart ? from : intervalStart(from, period, "UTC", 1);
  const last = intervalStart(to, period, "UTC");
  if (first >= last) return partsOf(from, to, shorter);
  return [...partsOf(from, first, shorter), { period, from: first, to: last }, ...partsOf(last, to, shorter)];
}
