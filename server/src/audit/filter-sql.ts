import type { AccountId } from "../contract/account.ts";
import { firstEntryIdAt } from "../contract/entry.ts";
import type { Database } from "../database/database.ts";
import type { AsOf } from "./cursor.ts";
import type { EntryFilter } from "./filter.ts";

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
    ${model === null ? sql`` : sql`and entries.model = ${model}`}
    ${status === null ? sql`` : sql`and entries.status between ${status.from} and ${status.to}`}
    ${errorCode === null ? sql`` : sql`and entries.error_code = ${errorCode}`}
    ${source === null ? sql`` : sql`and entries.source_ip <<= ${source}::text::inet`}`;
}
