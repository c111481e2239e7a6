import type { EntryId, ListedEntry } from "../contract/entry.ts";
import type { AsOf } from "./cursor.ts";
import type { EntryFilter } from "./filter.ts";
import type { LogScope } from "./filter-sql.ts";

/** Which entries are searched: those that match in a snapshot of an account's log, or in the log of all accounts. */
export interface LogSearch {
  readonly scope: LogScope;
  readonly filter: EntryFilter;
  readonly asOf: AsOf;
}

/** The matching entries in a part of the log. */
export interface FoundEntries {
  readonly entries: readonly ListedEntry[];
  /** The last entry that was searched, if fewer than the limit matched; `null` if the search has reached the end. */
  readonly searchedTo: EntryId | null;
}
