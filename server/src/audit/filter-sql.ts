import type { AccountId } from "../contract/account.ts";
import { firstEntryIdAt } from "../contract/entry.ts";
import type { Database, SqlFragment } from "../database/database.ts";
import type { AsOf } from "./cursor.ts";
import { type EntryFilter, isPattern } from "./filter.ts";

/** Whether the filter has to be checked entry by entry. A period alone is a range of ids. */
export function isSearch({ key, model, status, errorCode, source }: EntryFilter): boolean {
  return [key, model, status, errorCode, source].some((part) => part !== null);
}

/** Whether a filter may leave out entries of a batch. */
export function isPart(filter: EntryFilter): boolean {
  return filter.from !== null || filter.to !== null || isSearch(filter);
}

/** The account's entries in the filter's period. */
export function inPeriod(sql: Database, accountId: AccountId, { from, to }: EntryFilter) {
  return sql`
    entries.account_id = ${accountId}
    ${from === null ? sql`` : sql`and entries.id >= ${firstEntryIdAt(from)}`}
    ${to === null ? sql`` : sql`and entries.id < ${firstEntryIdAt(to)}`}`;
}

/** The account's entries that a filter matches, in a snapshot. */
export function matching(sql: Database, accountId: AccountId, filter: EntryFilter, asOf: AsOf) {
  const { key, model, status, errorCode, source } = filter;
  return sql`
    ${inPeriod(sql, accountId, filter)}
    and entries.batch <= ${asOf}
    ${key === null ? sql`` : "id" in key ? sql`and entries.key = ${key.id}` : sql`and entries.key_id = ${key.keyId}`}
    ${model === null ? sql`` : sql`and ${textMatches(sql, sql`entries.model`, model)}`}
    ${status === null ? sql`` : sql`and ${statusMatches(sql, status)}`}
    ${errorCode === null ? sql`` : sql`and ${textMatches(sql, sql`entries.error_code`, errorCode)}`}
    ${source === null ? sql`` : sql`and entries.source_ip <<= ${source}::text::inet`}`;
}

/** Whether a request failed. An answer that had begun may have failed with status 200. */
export function hasFailed(sql: Database) {
  return sql`(entries.status >= 400 or entries.error_code is not null)`;
}

function statusMatches(sql: Database, status: NonNullable<EntryFilter["status"]>) {
  return status === "error" ? hasFailed(sql) : sql`entries.status between ${status.from} and ${status.to}`;
}

function textMatches(sql: Database, column: SqlFragment, wanted: string) {
  if (!isPattern(wanted)) return sql`${column} = ${wanted}`;
  const pattern = wanted.replaceAll(/[\\%_]/g, "\\$&").replaceAll("*", "%");
  return sql`${column} ilike ${pattern}`;
}
