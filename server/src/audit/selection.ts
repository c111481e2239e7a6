import { createHash } from "node:crypto";
import { CSV_FIELDS } from "./entry-sql.ts";
import { type EntryFilter, searchOf } from "./filter.ts";
import type { LogScope } from "./filter-sql.ts";

export type ExportFormat = "ndjson" | "csv";

/** Identifies the content and the format of pages or of an export: see {@link selectionOf}. */
export type Selection = string & { readonly __id: "selection" };

/** The length of a {@link Selection}. */
export const SELECTION_DIGITS = 20;

/**
 * Computes the number that identifies a selection: a digest of the account, the filter, the format, and the columns of CSV, to which an upgrade may
 * add. Cursors contain it, so that neither pages nor a file can continue with another selection. It consists of decimal digits, because the SDK's
 * verifier expects only digits at the beginning of a cursor.
 */
export function selectionOf(scope: LogScope, format: ExportFormat | "page", filter: EntryFilter): Selection {
  const columns = format === "csv" ? CSV_FIELDS : null;
  const selection = JSON.stringify([scope, format, columns, filter.from, filter.to, searchOf(filter)]);
  const digest = createHash("sha256").update(selection).digest();
  return digest.readBigUInt64BE().toString().padStart(SELECTION_DIGITS, "0") as Selection;
}
