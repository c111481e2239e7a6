import { createHash } from "node:crypto";
import type { ExportFormat } from "./audit-log.ts";
import { CSV_FIELDS } from "./entry-sql.ts";
import { type EntryFilter, searchOf } from "./filter.ts";
import type { LogScope } from "./filter-sql.ts";

/** The digest of what pages or an export have and in which form: see {@link selectionOf}. */
export type Selection = string & { readonly __id: "selection" };

/** The length of a {@link Selection}. */
export const SELECTION_DIGITS = 20;

/**
 * What pages or an export have and in which form, as a number: the account, the filter, the format, and the columns of CSV, to which an
 * upgrade may add. Cursors name it, so that neither pages nor a file can continue with another selection. It consists of decimal digits,
 * because the SDK's verifier expects no others at the beginning of a cursor.
 */
export function selectionOf(scope: LogScope, format: ExportFormat | "page", filter: EntryFilter): Selection {
  const columns = format === "csv" ? CSV_FIELDS : null;
  const selection = JSON.stringify([scope, format, columns, filter.from, filter.to, searchOf(filter)]);
  const digest = createHash("sha256").update(selection).digest();
  return digest.readBigUInt64BE().toString().padStart(SELECTION_DIGITS, "0") as Selection;
}
