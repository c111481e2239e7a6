import type { AccountId } from "../contract/account.ts";
import { firstEntryIdAt } from "../contract/entry.ts";
import type { Database, SqlFragment } from "../database/database.ts";
import { escapedForLike } from "../database/like-pattern.ts";
import type { AsOf } from "./cursor.ts";
import { type EntryFilter, isPattern } from "./filter.ts";

/** Whether the filter has to be checked entry by entry. A period alone is a range of ids. */
export function isSearch({ from: _, to: __, ...search }: EntryFilter): boolean {
  return Object.values(search).some((part) => part !== null);
}

/** Whether a filter may leave out entries of a batch. */
export function isPart(filter: EntryFilter): boolean {
  return filter.from !== null || filter.to !== null || isSearch(filter);
}

/** Whose entries are read; `null`: those of all accounts. */
export type LogScope = AccountId | null;

/**
 * The entries in the filter's period. Uses audit_entries_by_account; in the log of all accounts audit_entries_by_key, or the primary
 * key if the filter names no key by its id.
 */
export function inPeriod(sql: Database, scope: LogScope, { from, to, key }: EntryFilter) {
  const ofKey = key !== null && "id" in key ? sql`entries.key = ${key.id}` : sql`true`;
  return sql`
    ${scope === null ? ofKey : sql`entries.account_id = ${scope}`}
    ${from === null ? sql`` : sql`and entries.id >= ${firstEntryIdAt(from)}`}
    ${to === null ? sql`` : sql`and entries.id < ${firstEntryIdAt(to)}`}`;
}

/** The entries up to the account's newest. This bound keeps the planner from scanning other accounts' entries. */
export function fromNewest(sql: Database, scope: LogScope) {
  if (scope === null) return sql`true`;
  return sql`entries.id <= (select newest from audit_chains where account_id = ${scope})`;
}

/** The entries that a filter matches, in a snapshot of the account. The log of all accounts has no snapshots. */
export function matching(sql: Database, scope: LogScope, filter: EntryFilter, asOf: AsOf) {
  const { key, model, upstream, status, errorCode, source } = filter;
  return sql`
    ${inPeriod(sql, scope, filter)}
    ${scope === null ? sql`` : sql`and entries.batch <= ${asOf}`}
    ${key === null ? sql`` : "id" in key ? sql`and entries.key = ${key.id}` : sql`and entries.key_id = ${key.keyId}`}
    ${model === null ? sql`` : sql`and ${textMatches(sql, sql`entries.model`, model)}`}
    ${upstream === null ? sql`` : sql`and ${textMatches(sql, sql`entries.upstream`, upstream)}`}
    ${status === null ? sql`` : sql`and ${statusMatches(sql, status)}`}
    ${errorCode === null ? sql`` : sql`and ${textMatches(sql, sql`entries.error_code`, errorCode)}`}
    ${source === null ? sql`` : sql`and entries.source_ip <<= ${source}::text::inet`}`;
}

/** Whether a request failed. An answer that had begun may have failed with status 200. */
export function hasFailed(sql: Database) {
  return sql`has_failed(entries.status, entries.error_code)`;
}

function statusMatches(sql: Database, status: NonNullable<EntryFilter["status"]>) {
  return status === "error" ? hasFailed(sql) : sql`entries.status between ${status.from} and ${status.to}`;
}

function textMatches(sql: Database, column: SqlFragment, wanted: string) {
  if (!isPattern(wanted)) return sql`${column} = ${wanted}`;
  const pattern = escapedForLike(wanted).replaceAll("*", "%");
  return sql`${column} ilike ${pattern}`;
}
