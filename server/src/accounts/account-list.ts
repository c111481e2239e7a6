import type { Account, AccountId, AccountState, Plan } from "../contract/account.ts";
import { isUuid } from "../contract/ids.ts";
import { isKeyId } from "../contract/key.ts";
import type { Database } from "../database/database.ts";
import { escapedForLike } from "../database/like-pattern.ts";
import { cursorTextOf, readCursorText, readPage } from "../database/page.ts";
import { type AccountRow, accountColumns, accountOf } from "./account-row.ts";
import type { User } from "./user.ts";

/** An account as operators see it in a list. */
export interface ListedAccount extends Account {
  /** The users who can sign in to the account. */
  readonly users: readonly User[];
  /** The number of active keys. */
  readonly activeKeys: number;
  /** The balance in nano-USD, including what nodes have reserved. */
  readonly balanceNanoUsd: bigint;
  /** The requests of the last 30 UTC days, today included. */
  readonly recentRequests: number;
  /** The cost of these requests in nano-USD. */
  readonly recentCostNanoUsd: bigint;
  /** The beginning of the UTC hour of the latest request; `null`: there was none. */
  readonly lastRequestHour: Date | null;
}

/** What a list of accounts can be sorted by: the time of creation, the balance, or the cost or requests of the last 30 days. */
export const ACCOUNT_ORDERS = ["created", "balance", "cost", "requests"] as const;
type AccountOrder = (typeof ACCOUNT_ORDERS)[number];
/** The orders by a figure, which may change between two pages. */
type FigureOrder = Exclude<AccountOrder, "created">;

/** Filters accounts. `null` matches every value. */
interface AccountFilter {
  /** The beginning of a name or of a user's address, in any case, an id, or the last four characters of a key; empty: all. */
  readonly search: string;
  readonly state: AccountState | null;
  readonly plan: Plan | null;
}

/** Which accounts to list, and in which order. */
export interface AccountListing extends AccountFilter {
  readonly order: AccountOrder;
  /** Whether the oldest, or the accounts with the lowest figures, are first. */
  readonly ascending: boolean;
  /** `null` for the first page. */
  readonly cursor: string | null;
  readonly limit: number;
}

export interface AccountPage {
  /** The accounts of the page, in the requested order. */
  readonly accounts: readonly ListedAccount[];
  /** The number of accounts that match, on all pages; `null` on pages after the first. */
  readonly total: number | null;
  /** The `cursor` of the next page; `null` on the last page. */
  readonly nextCursor: string | null;
}

/** The days of UTC, today included, whose usage is summed up for operators. */
const RECENT_DAYS = 30;

type ListedRow = AccountRow &
  Omit<ListedAccount, keyof Account | "recentRequests" | "recentCostNanoUsd"> & {
    readonly recent: { readonly requests: number; readonly costNanoUsd: string };
  };

/**
 * A page of accounts. Accounts with the same figure are in the order of their creation. Each page begins after the figure and the id of the
 * last account before it, so an account is left out or repeated only if its own figure changes in between.
 *
 * @throws {Failure} `invalid_request` when the cursor is not one of this order.
 */
export async function listAccounts(sql: Database, now: Date, listing: AccountListing): Promise<AccountPage> {
  const { order, cursor, limit } = listing;
  const recentFrom = recentFromAt(now);
  const page = await readPage(limit, async (max) => {
    const rows = await sql<ListedRow[]>`
      with listed as (
        ${order === "created" ? listedByAge(sql, listing, max) : listedByFigure(sql, { ...listing, order, recentFrom }, max)}
      )
      select ${listedColumns(sql, recentFrom)}
      from listed join accounts on accounts.id = listed.id
      order by ${order === "created" ? sql`` : sql`listed.figure ${directionOf(sql, listing)},`}
        accounts.id ${directionOf(sql, listing)}`;
    return rows.map(listedOf);
  });
  const { items: accounts, last } = page;
  const countAll = async () => (last === null ? accounts.length : countAccounts(sql, listing));
  const total = cursor === null ? await countAll() : null;
  return { accounts, total, nextCursor: last === null ? null : cursorAfter(last, order) };
}

/** @returns `null` if there is no such account. */
export async function findListedAccount(
  sql: Database,
  now: Date,
  id: AccountId,
): Promise<ListedAccount | null> {
  const [row] = await sql<ListedRow[]>`
    select ${listedColumns(sql, recentFromAt(now))} from accounts where id = ${id}`;
  return row === undefined ? null : listedOf(row);
}

function listedByAge(sql: Database, listing: AccountListing, max: number) {
  const { cursor } = listing;
  const after = cursor === null ? null : readCursorText(cursor, AGE_CURSOR).id;
  return sql`
    select accounts.id from accounts
    where true
      ${matching(sql, listing)}
      ${after === null ? sql`` : sql`and accounts.id ${comparisonOf(sql, listing)} ${after}`}
    order by accounts.id ${directionOf(sql, listing)}
    limit ${max}`;
}

function listedByFigure(
  sql: Database,
  listing: AccountListing & { readonly order: FigureOrder; readonly recentFrom: Date },
  max: number,
) {
  const { cursor, order, recentFrom } = listing;
  const after = cursor === null ? null : readCursorText(cursor, FIGURE_CURSOR);
  const { figure, source } = order === "balance" ? balances(sql) : recentUsage(sql, order, recentFrom);
  return sql`
    select id, figure
    from (
      select accounts.id, ${figure} as figure
      from accounts ${source}
      where true ${matching(sql, listing)}
    ) figures
    where true
      ${
        after === null
          ? sql``
          : sql`and (figure, id) ${comparisonOf(sql, listing)} (${after.number}::numeric, ${after.id}::uuid)`
      }
    order by figure ${directionOf(sql, listing)}, id ${directionOf(sql, listing)}
    limit ${max}`;
}

/** The balance of every account, as `balance_nano_usd` calculates that of one. */
function balances(sql: Database) {
  return {
    figure: sql`accounts.free_nano_usd + coalesce(reserved.nano_usd, 0)`,
    source: sql`
      left join (
        select account_id, sum(granted_nano_usd - charged_nano_usd)::bigint as nano_usd
        from credit_reserves group by account_id
      ) reserved on reserved.account_id = accounts.id`,
  };
}

/** Uses usage_days_by_day: the rows of 30 days, however many accounts there are. */
function recentUsage(sql: Database, order: "cost" | "requests", recentFrom: Date) {
  const sum = order === "cost" ? sql`sum(cost_nano_usd)` : sql`sum(requests)`;
  return {
    figure: sql`coalesce(recent.figure, 0)`,
    source: sql`
      left join (
        select account_id, ${sum}::bigint as figure from usage_days where day >= ${recentFrom} group by account_id
      ) recent on recent.account_id = accounts.id`,
  };
}

async function countAccounts(sql: Database, filter: AccountFilter): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from accounts where true ${matching(sql, filter)}`;
  return row?.count ?? 0;
}

const UUID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}";
/** The id of the last account. The group before it is empty. */
const AGE_CURSOR = new RegExp(`^()(${UUID})$`);
/** The figure and the id of the last account. */
const FIGURE_CURSOR = new RegExp(`^(-?\\d{1,19})~(${UUID})$`);

function cursorAfter(last: ListedAccount, order: AccountOrder): string {
  switch (order) {
    case "created":
      return last.id;
    case "balance":
      return cursorTextOf(last.balanceNanoUsd, last.id);
    case "cost":
      return cursorTextOf(last.recentCostNanoUsd, last.id);
    case "requests":
      return cursorTextOf(last.recentRequests, last.id);
  }
}

function directionOf(sql: Database, { ascending }: Pick<AccountListing, "ascending">) {
  return ascending ? sql`asc` : sql`desc`;
}

/** How what follows a cursor compares with it. */
function comparisonOf(sql: Database, { ascending }: Pick<AccountListing, "ascending">) {
  return ascending ? sql`>` : sql`<`;
}

function matching(sql: Database, { search, state, plan }: AccountFilter) {
  const text = search.trim();
  const prefix = `${escapedForLike(text.toLowerCase())}%`;
  const byKey = isKeyId(text) ? sql`union select account_id from keys where key_id = ${text}` : sql``;
  // Uses accounts_by_name, users_by_email_prefix and keys_by_key_id.
  const found = isUuid(text)
    ? sql`accounts.id = ${text}`
    : sql`accounts.id in (
            select id from accounts where lower(name) like ${prefix}
            union
            select account_id from users where email like ${prefix} and account_id is not null
            ${byKey}
          )`;
  // State and plan alone walk all accounts: half a million of them take 0.15 s.
  return sql`
    ${text === "" ? sql`` : sql`and ${found}`}
    ${state === null ? sql`` : sql`and accounts.state = ${state}`}
    ${plan === null ? sql`` : sql`and accounts.plan = ${plan}`}`;
}

function recentFromAt(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1 - RECENT_DAYS));
}

function listedColumns(sql: Database, recentFrom: Date) {
  // Uses users_by_account, keys_active_name_unique, usage_days_pkey and usage_hours_pkey. Both sums are one walk of the days.
  return sql`
    ${accountColumns(sql)},
    (select coalesce(json_agg(json_build_object('id', users.id, 'email', users.email) order by users.id), '[]')
     from users where users.account_id = accounts.id) as users,
    (select count(*)::int from keys where keys.account_id = accounts.id and keys.state = 'active') as "activeKeys",
    balance_nano_usd(accounts) as "balanceNanoUsd",
    (select json_build_object('requests', coalesce(sum(requests), 0), 'costNanoUsd', coalesce(sum(cost_nano_usd), 0)::text)
     from usage_days where usage_days.account_id = accounts.id and day >= ${recentFrom}) as recent,
    (select max(hour) from usage_hours where usage_hours.account_id = accounts.id) as "lastRequestHour"`;
}

function listedOf(row: ListedRow): ListedAccount {
  const { users, activeKeys, balanceNanoUsd, recent, lastRequestHour } = row;
  const usage = {
    recentRequests: recent.requests,
    recentCostNanoUsd: BigInt(recent.costNanoUsd),
    lastRequestHour,
  };
  return { ...accountOf(row), users, activeKeys, balanceNanoUsd, ...usage };
}
