import type { AccountId } from "../contract/account.ts";
import type { EntryId } from "../contract/entry.ts";
import type { AsOf } from "./cursor.ts";
import type { EntryFilter } from "./filter.ts";
import type { Removed } from "./removed-entries.ts";
import type { ExportFormat } from "./selection.ts";

/** What an export writes, and how its cursors begin. */
export interface ExportPlan {
  readonly accountId: AccountId;
  readonly format: ExportFormat;
  readonly filter: EntryFilter;
  readonly asOf: AsOf;
  readonly cursorStart: string;
}

/** The lines of a part of an export. */
export interface ExportedLines {
  /** Each ends with a newline. */
  readonly text: string;
  readonly count: number;
  readonly last: EntryId | null;
  /** The last entry that was searched, if fewer lines than the limit were written; `null` if the export has reached the end. */
  readonly searchedTo: EntryId | null;
  /** What had been deleted when the lines were read. */
  readonly removed: Removed;
}
