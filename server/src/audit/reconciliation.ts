import { DAY_MS, HOUR_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId } from "../contract/account.ts";
import { firstEntryIdAt } from "../contract/entry.ts";
import type { KeyUuid } from "../contract/key.ts";
import type { Credits } from "../credits/credits.ts";
import type { Balance } from "../credits/ledger.ts";
import { AWAY_MS } from "../credits/spenders.ts";
import type { Database, SqlFragment } from "../database/database.ts";
import { readNewestDeletedMs } from "./removed-entries.ts";

/** An account whose balance is not the sum of its ledger, or is negative. */
interface BalanceMismatch extends Balance {
  /** The id of the account. */
  readonly accountId: AccountId;
  /** The sum of the account's ledger, in nano-USD. */
  readonly ledgerNanoUsd: bigint;
}

/** A sum of usage that differs from its entries. */
interface UsageMismatch {
  /** The id of the account; `null`: the whole service. */
  readonly accountId: AccountId | null;
  /** What differs: an `hour` from its entries, a `day` from its hours, or a `month` from its days. */
  readonly interval: "hour" | "day" | "month";
  /** When the interval begins, in UTC. */
  readonly start: Date;
  /** The id of the key; `null`: all keys. */
  readonly key: KeyUuid | null;
  /** The model; `null`: all models. */
  readonly model: string | null;
}

export type ReconciliationReport = Awaited<ReturnType<typeof reconcile>>;

const MAX_MISMATCHES = 100;

/** Compares balances with ledgers and usage with audit entries. Each comparison is one statement and so sees one snapshot. */
export class Reconciler {
  readonly #database: Database;
  readonly #credits: Pick<Credits, "outstanding">;
  readonly #now: () => Date;
  readonly #openedAt: Date;
  #last: ReconciliationReport | null = null;

  constructor(database: Database, credits: Pick<Credits, "outstanding">, now: () => Date) {
    this.#database = database;
    this.#credits = credits;
    this.#now = now;
    this.#openedAt = now();
  }

  /** The report of the last check; `null` before the first. */
  get last(): ReconciliationReport | null {
    return this.#last;
  }

  /** When the last check was made; before the first, when this was opened, so that a first check that never succeeds is noticed, too. */
  get checkedAt(): Date {
    return this.#last?.checkedAt ?? this.#openedAt;
  }

  /** Compares with the whole ledger. @param hours the past hours of usage to compare with the entries, as far as none of these were deleted. */
  async check(hours: number): Promise<ReconciliationReport> {
    return this.#check(hours, findMismatches, await readFirstWholeHour(this.#database));
  }

  /**
   * As {@link check}, but reads only the ledger's charges of the days that contain these hours: there may be tens of millions from before,
   * which are compared by their sums of each day.
   */
  checkRecent(hours: number): Promise<ReconciliationReport> {
    return this.#check(hours, findRecentMismatches);
  }

  async #check(
    hours: number,
    find: typeof findRecentMismatches,
    firstHourMs = 0,
  ): Promise<ReconciliationReport> {
    const checkedAt = this.#now();
    const askedMs = Math.floor(checkedAt.getTime() / HOUR_MS - hours) * HOUR_MS;
    const since = new Date(Math.max(askedMs, firstHourMs));
    this.#last = await reconcile({
      database: this.#database,
      credits: this.#credits,
      find,
      since,
      checkedAt,
    });
    return this.#last;
  }
}

interface ReconcileParts {
  readonly database: Database;
  readonly credits: Pick<Credits, "outstanding">;
  readonly find: typeof findRecentMismatches;
  readonly since: Date;
  readonly checkedAt: Date;
}

async function reconcile({ database, credits, find, since, checkedAt }: ReconcileParts) {
  return {
    /**
     * Accounts whose balance is negative or not the sum of their ledger, or whose costs by day are not the sum of its charges, up to 100.
     * There should be none.
     */
    mismatches: await find(database, since),
    /** Sums of usage that differ from what they sum up, up to 100. There should be none. */
    usageMismatches: await findUsageMismatches(database, since),
    /** The start of the period in which usage was compared and uncollected amounts were added up. */
    since,
    /** The credit that all nodes have reserved. */
    reserved: await readReserved(database),
    /** Amounts that accounts did not pay since then, by reason. */
    uncollected: await readUncollected(database, since),
    /** The holds of requests on this node. */
    held: credits.outstanding(),
    /** When the comparison was made. */
    checkedAt,
  };
}

/**
 * The first hour of which no entry of any account was deleted at the end of its retention, in milliseconds since 1970. Usage of earlier hours can't
 * be compared with the entries.
 */
async function readFirstWholeHour(database: Database): Promise<number> {
  const newestMs = await readNewestDeletedMs(database);
  return newestMs === null ? 0 : (Math.floor(newestMs / HOUR_MS) + 1) * HOUR_MS;
}

/** Accounts whose balance is negative or not the sum of their ledger, or whose days' costs are not the sum of its charges. */
function findMismatches(database: Database): Promise<readonly BalanceMismatch[]> {
  return mismatchesOf(database, {
    wrongDays: wrongDays(database, database`true`, database`true`),
    joins: database`
      left join (
        select account_id, sum(amount_nano_usd) from credit_ledger group by 1
      ) ledger on ledger.account_id = accounts.id`,
    sum: database`coalesce(ledger.sum, 0)`,
  });
}

/**
 * As {@link findMismatches}, but takes the charges of a day from its sum, which triggers keep, and compares with the ledger only the sums of
 * the days since then.
 */
function findRecentMismatches(database: Database, since: Date): Promise<readonly BalanceMismatch[]> {
  const from = new Date(Math.floor(since.getTime() / DAY_MS) * DAY_MS);
  // Uses credit_ledger_grants, credit_ledger_pkey (an id begins with a time that is never before the row's), and all of the other tables.
  return mismatchesOf(database, {
    wrongDays: wrongDays(
      database,
      database`id >= ${firstEntryIdAt(from)} and at >= ${from}`,
      database`day >= ${from}`,
    ),
    joins: database`
      left join (
        select account_id, sum(amount_nano_usd) from credit_ledger where kind in ('grant', 'adjustment') group by 1
      ) grants on grants.account_id = accounts.id
      left join (
        select account_id, sum(charged_nano_usd + uncollected_nano_usd) from credit_days group by 1
      ) days on days.account_id = accounts.id`,
    sum: database`coalesce(grants.sum, 0) + coalesce(days.sum, 0)`,
  });
}

/** What balances are compared with. */
interface LedgerSums {
  /** As {@link wrongDays} writes it. */
  readonly wrongDays: SqlFragment;
  /** Joins of `accounts` with what the sum is of. */
  readonly joins: SqlFragment;
  /** The sum of an account's ledger. */
  readonly sum: SqlFragment;
}

async function mismatchesOf(
  database: Database,
  { wrongDays, joins, sum }: LedgerSums,
): Promise<readonly BalanceMismatch[]> {
  return database<BalanceMismatch[]>`
    with ${wrongDays}
    select accounts.id as "accountId", (free_nano_usd + coalesce(reserves.sum, 0))::bigint as "balanceNanoUsd",
           (${sum})::bigint as "ledgerNanoUsd", coalesce(reserves.sum, 0)::bigint as "reservedNanoUsd"
    from accounts
    ${joins}
    left join (
      select account_id, sum(granted_nano_usd - charged_nano_usd), min(granted_nano_usd - charged_nano_usd)
      from credit_reserves group by 1
    ) reserves on reserves.account_id = accounts.id
    where free_nano_usd + coalesce(reserves.sum, 0) <> ${sum}
       or free_nano_usd < 0 or reserves.min < 0 or accounts.id in (select account_id from wrong_days)
    limit ${MAX_MISMATCHES}`;
}

/**
 * `wrong_days`: accounts of which some day's costs, or the part of them that was not collected, are not the sum of the ledger.
 *
 * @param charged which rows of the ledger, and `stored` which days are compared.
 */
function wrongDays(database: Database, charged: SqlFragment, stored: SqlFragment): SqlFragment {
  return database`
    found_days as (
      select account_id, date_trunc('day', at, 'UTC') as day,
             coalesce(sum(amount_nano_usd) filter (where kind = 'charge'), 0) as charged,
             coalesce(sum(amount_nano_usd) filter (where kind = 'uncollected'), 0) as uncollected
      from credit_ledger
      where ${charged} and kind in ('charge', 'uncollected')
      group by 1, 2
    ),
    wrong_days as (
      select account_id
      from (select * from credit_days where ${stored}) stored
      full join found_days found using (account_id, day)
      where coalesce(charged_nano_usd, 0) <> coalesce(charged, 0) or coalesce(uncollected_nano_usd, 0) <> coalesce(uncollected, 0)
    )`;
}

/** Sums of usage since then that are not the sums of what they add up. */
export async function findUsageMismatches(
  database: Database,
  since: Date,
): Promise<readonly UsageMismatch[]> {
  // Entries by the primary keys of the partitions: a range of ids is a range of time. Hours and days of all accounts by
  // usage_hours_by_hour and usage_days_by_day.
  const sums = database`
    sum(requests) as requests, sum(errors) as errors, sum(prompt_tokens) as prompt_tokens,
    sum(completion_tokens) as completion_tokens, sum(cached_tokens) as cached_tokens, sum(cost_nano_usd) as cost_nano_usd`;
  const differs = database`
    (stored.requests, stored.prompt_tokens, stored.completion_tokens, stored.cached_tokens, stored.cost_nano_usd)
    is distinct from
    (found.requests, found.prompt_tokens, found.completion_tokens, found.cached_tokens, found.cost_nano_usd)`;
  // During an upgrade nodes of the version before 0020_failed_requests.sql count only answers with an error's status, and no broken-off streams.
  const errorsDiffer = database`stored.errors not between found.error_answers and found.errors`;
  return database<UsageMismatch[]>`
    with entry_hours as (
      select account_id, date_trunc('hour', at, 'UTC') as hour, key,
             usage_model(model, error_code, upstream) as model,
             count(*) as requests, count(*) filter (where has_failed(status, error_code)) as errors,
             count(*) filter (where status >= 400) as error_answers,
             coalesce(sum(prompt_tokens), 0) as prompt_tokens,
             coalesce(sum(completion_tokens), 0) as completion_tokens,
             coalesce(sum(cached_tokens), 0) as cached_tokens, sum(cost_nano_usd) as cost_nano_usd
      from audit_entries where id >= ${firstEntryIdAt(since)} group by 1, 2, 3, 4
    ),
    wrong_hours as (
      select account_id, 'hour' as interval, hour as start, key, model
      from (select * from usage_hours where hour >= ${since}) stored
      full join entry_hours found using (account_id, hour, key, model)
      where ${differs} or ${errorsDiffer}
    ),
    hour_days as (
      select account_id, date_trunc('day', hour, 'UTC') as day, key, model, ${sums}
      from usage_hours where hour >= date_trunc('day', ${since}::timestamptz, 'UTC') group by 1, 2, 3, 4
    ),
    wrong_days as (
      select account_id, 'day' as interval, day as start, key, model
      from (select * from usage_days where day >= date_trunc('day', ${since}::timestamptz, 'UTC')) stored
      full join hour_days found using (account_id, day, key, model)
      where ${differs} or stored.errors <> found.errors
    ),
    wrong_service_hours as (
      select null::uuid as account_id, 'hour' as interval, hour as start, null::uuid as key, model
      from (
        select hour, model, ${sums}
        from usage_service_hours where hour >= ${since} group by 1, 2
      ) stored
      full join (
        select hour, model, ${sums}, sum(error_answers) as error_answers
        from entry_hours group by 1, 2
      ) found using (hour, model)
      where ${differs} or ${errorsDiffer}
    ),
    wrong_months as (
      select account_id, 'month' as interval, month as start, null::uuid as key, null::text as model
      from (
        select * from usage_account_months where month >= date_trunc('month', ${since}::timestamptz, 'UTC')
      ) stored
      full join (
        select account_id, date_trunc('month', day, 'UTC') as month, sum(requests) as requests,
               sum(cost_nano_usd) as cost_nano_usd
        from usage_days where day >= date_trunc('month', ${since}::timestamptz, 'UTC') group by 1, 2
      ) found using (account_id, month)
      where (stored.requests, stored.cost_nano_usd) is distinct from (found.requests, found.cost_nano_usd)
    )
    select account_id as "accountId", interval, start, key, model from (
      select * from wrong_hours union all select * from wrong_days
      union all select * from wrong_service_hours union all select * from wrong_months
    ) wrong
    limit ${MAX_MISMATCHES}`;
}

/** The credit that all nodes have reserved. `stuckNanoUsd`: the part of it of nodes that have not been seen for a minute. */
async function readReserved(database: Database) {
  const [reserved] = await database<
    {
      /** The number of reserves with credit: one for each node and account. */
      reservations: number;
      /** The reserved credit in nano-USD. */
      nanoUsd: bigint;
      /** The part of it that nodes hold which have not been seen for a minute. */
      stuckNanoUsd: bigint;
    }[]
  >`
    select count(*)::int as reservations, coalesce(sum(granted_nano_usd - charged_nano_usd), 0)::bigint as "nanoUsd",
           coalesce(sum(granted_nano_usd - charged_nano_usd) filter (
             where seen_at < now() - ${AWAY_MS} * interval '1 millisecond'
           ), 0)::bigint as "stuckNanoUsd"
    from credit_reserves join credit_spenders on credit_spenders.id = credit_reserves.spender
    where granted_nano_usd > charged_nano_usd`;
  return reserved ?? { reservations: 0, nanoUsd: 0n, stuckNanoUsd: 0n };
}

/** What accounts did not pay, by reason: that of an {@link Uncollected}, or one that an operator wrote. */
async function readUncollected(database: Database, since: Date) {
  // Walks the ledger's few uncollected rows by the index credit_ledger_uncollected.
  const rows = await database<
    {
      /** Why the amounts were not paid: see the `reason` of a ledger's transaction. */
      reason: string;
      /** The number of accounts. */
      accounts: number;
      /** The sum of the amounts in nano-USD. */
      nanoUsd: bigint;
    }[]
  >`
    select reason, count(distinct account_id)::int as accounts, sum(amount_nano_usd)::bigint as "nanoUsd"
    from credit_ledger where kind = 'uncollected' and at >= ${since} group by reason order by reason`;
  return [...rows];
}
