import type { AccountId } from "../contract/account.ts";
import type { KeyUuid } from "../contract/key.ts";
import { type Database, LONG_READ_TIMEOUT_MS } from "../database/database.ts";
import type { ServiceUsageQuestion, ServiceUsageRow, UsageQuestion, UsageRow, UsageTotals } from "./usage.ts";

interface Row extends TotalsRow {
  start: Date;
  model: string | null;
  key: KeyUuid | null;
  key_id: string | null;
  key_name: string | null;
  is_rest: boolean;
}

interface ServiceRow extends TotalsRow {
  start: Date;
  model: string | null;
  account_id: AccountId | null;
  account_name: string | null;
  is_rest: boolean;
}

interface TotalsRow {
  requests: bigint;
  errors: bigint;
  prompt_tokens: bigint;
  completion_tokens: bigint;
  cached_tokens: bigint;
  cost_nano_usd: bigint;
}

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
    { from, to, interval, groupBy }: UsageQuestion,
    maxGroups: number,
  ): Promise<readonly UsageRow[]> {
    const sql = this.#database;
    const group = { none: sql`''`, model: sql`model`, key: sql`key::text` }[groupBy];
    // Uses the primary keys, by account and time.
    const source =
      interval === "hour"
        ? sql`select hour as at, * from usage_hours`
        : sql`select day as at, * from usage_days`;
    const rows = await sql<Row[]>`
      with narrow as (
        -- By the rows' own intervals first: truncating every row would cost more than adding it up.
        select at, ${group} as "group", ${sums(sql)}
        from (${source}) source
        where account_id = ${accountId}
          and at >= ${from} and at < ${to}
        group by 1, 2
      ),
      usage as materialized (
        select date_trunc(${interval}, at, 'UTC') as start, "group", ${sums(sql)} from narrow group by 1, 2
      ),
      ranked as (
        select "group" from usage group by 1
        order by sum(cost_nano_usd) desc, sum(requests) desc, "group"
        limit ${maxGroups}
      ),
      named as (
        select start, ranked."group", ranked."group" is null as is_rest, ${sums(sql)}
        from usage left join ranked on ranked."group" = usage."group"
        group by 1, 2
      )
      select named.*,
             ${groupBy === "model" ? sql`named."group"` : sql`null`} as model,
             keys.id as key, keys.key_id, keys.name as key_name
      from named
      left join keys on ${groupBy === "key" ? sql`keys.id = named."group"::uuid` : sql`false`}
      order by start, is_rest, named."group"`;
    return rows.map((row) => ({
      start: row.start,
      model: row.model,
      key: row.key === null ? null : { id: row.key, keyId: row.key_id ?? "", name: row.key_name ?? "" },
      isOther: row.is_rest,
      ...totalsOf(row),
    }));
  }

  async readServiceUsage(
    question: ServiceUsageQuestion,
    maxGroups: number,
  ): Promise<readonly ServiceUsageRow[]> {
    const rows = await (question.groupBy === "account"
      ? this.#readByAccount(question, maxGroups)
      : this.#readByModel(question, maxGroups));
    return rows.map((row) => ({
      start: row.start,
      model: row.model,
      account: row.account_id === null ? null : { id: row.account_id, name: row.account_name ?? "" },
      isOther: row.is_rest,
      ...totalsOf(row),
    }));
  }

  async #readByModel(
    { from, to, interval, groupBy }: ServiceUsageQuestion,
    maxGroups: number,
  ): Promise<readonly ServiceRow[]> {
    const sql = this.#database;
    // Uses usage_service_hours_pkey, by time: how many accounts there are makes no difference.
    return sql<ServiceRow[]>`
      with usage as materialized (
        select date_trunc(${interval}, hour, 'UTC') as start,
               ${groupBy === "model" ? sql`model` : sql`null::text`} as model, ${sums(sql)}
        from usage_service_hours
        where hour >= ${from} and hour < ${to}
        group by 1, 2
      ),
      ranked as (
        select model from usage group by model
        order by sum(cost_nano_usd) desc, sum(requests) desc, model
        limit ${maxGroups}
      )
      select start, ranked.model, null as account_id, null as account_name,
             usage.model is not null and ranked.model is null as is_rest, ${sums(sql)}
      from usage
      left join ranked on ranked.model = usage.model
      group by 1, 2, 5
      order by start, is_rest, ranked.model`;
  }

  async #readByAccount(
    { from, to, interval }: ServiceUsageQuestion,
    maxGroups: number,
  ): Promise<readonly ServiceRow[]> {
    const sql = this.#database;
    const source =
      interval === "hour"
        ? sql`select hour as at, * from usage_hours`
        : sql`select day as at, * from usage_days`;
    // The top accounts' rows are read by the primary keys. The usage of all other accounts is the service's
    // (usage_service_hours_pkey) minus theirs, so that no other account's rows are read.
    return sql<ServiceRow[]>`
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
        select date_trunc(${interval}, at, 'UTC') as start, account_id, ${sums(sql)} from narrow group by 1, 2
      ),
      hours as (
        select hour, ${sums(sql)} from usage_service_hours where hour >= ${from} and hour < ${to} group by 1
      ),
      rest as (
        select start, ${sums(sql)}
        from (
          select date_trunc(${interval}, hour, 'UTC') as start, requests, errors, prompt_tokens, completion_tokens,
                 cached_tokens, cost_nano_usd
          from hours
          union all
          select start, -requests, -errors, -prompt_tokens, -completion_tokens, -cached_tokens, -cost_nano_usd from own
        ) differences
        group by 1
        having sum(requests) > 0
      )
      select own.*, accounts.name as account_name, false as is_rest, null as model
      from own left join accounts on accounts.id = own.account_id
      union all
      select start, null, requests, errors, prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, null, true,
             null
      from rest
      order by start, is_rest, account_id`;
  }
}

/** The sums of the usage columns. */
function sums(sql: Database) {
  return sql`
    sum(requests)::bigint as requests, sum(errors)::bigint as errors, sum(prompt_tokens)::bigint as prompt_tokens,
    sum(completion_tokens)::bigint as completion_tokens, sum(cached_tokens)::bigint as cached_tokens,
    sum(cost_nano_usd)::bigint as cost_nano_usd`;
}

/** The cost of each account, by parts of a period. Uses usage_account_months_pkey, usage_days_by_day and usage_hours_by_hour. */
function costs(sql: Database, parts: readonly UsagePart[]) {
  const ofPart = ({ period, from, to }: UsagePart) => {
    switch (period) {
      case "month":
        return sql`
          select account_id, requests, cost_nano_usd from usage_account_months
          where month >= ${from} and month < ${to}`;
      case "day":
        return sql`select account_id, requests, cost_nano_usd from usage_days where day >= ${from} and day < ${to}`;
      case "hour":
        return sql`
          select account_id, requests, cost_nano_usd from usage_hours where hour >= ${from} and hour < ${to}`;
    }
  };
  const nothing = sql`select account_id, requests, cost_nano_usd from usage_account_months where false`;
  return parts.map(ofPart).reduce((all, part) => sql`${all} union all ${part}`, nothing);
}

function totalsOf(row: TotalsRow): UsageTotals {
  return {
    requests: Number(row.requests),
    errors: Number(row.errors),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    cachedTokens: Number(row.cached_tokens),
    costNanoUsd: row.cost_nano_usd,
  };
}

/** Periods whose sums are stored, longest first. */
const PERIODS = ["month", "day", "hour"] as const;
type Period = (typeof PERIODS)[number];

/** Whole periods, from one on and before another. */
interface UsagePart {
  readonly period: Period;
  readonly from: Date;
  readonly to: Date;
}

/**
 * Splits a time span into the longest periods that fit: whole months, the days before and after them, and the hours before and
 * after those. A year then takes a few dozen sums of each account.
 */
function partsOf(from: Date, to: Date, periods: readonly Period[] = PERIODS): readonly UsagePart[] {
  const [period, ...shorter] = periods;
  if (period === undefined || from >= to) return [];
  const first = ceiling(from, period);
  const last = floor(to, period);
  if (first >= last) return partsOf(from, to, shorter);
  return [...partsOf(from, first, shorter), { period, from: first, to: last }, ...partsOf(last, to, shorter)];
}

/** The beginning of the period that contains a time, in UTC. */
export function floor(time: Date, period: Period): Date {
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  switch (period) {
    case "month":
      return new Date(Date.UTC(year, month));
    case "day":
      return new Date(Date.UTC(year, month, time.getUTCDate()));
    case "hour":
      return new Date(Date.UTC(year, month, time.getUTCDate(), time.getUTCHours()));
  }
}

/** The time, if a period begins then; otherwise the end of the period that contains it. */
export function ceiling(time: Date, period: Period): Date {
  const beginning = floor(time, period);
  return beginning.getTime() === time.getTime() ? time : next(beginning, period);
}

function next(beginning: Date, period: Period): Date {
  const [year, month, day] = [beginning.getUTCFullYear(), beginning.getUTCMonth(), beginning.getUTCDate()];
  switch (period) {
    case "month":
      return new Date(Date.UTC(year, month + 1));
    case "day":
      return new Date(Date.UTC(year, month, day + 1));
    case "hour":
      return new Date(Date.UTC(year, month, day, beginning.getUTCHours() + 1));
  }
}
