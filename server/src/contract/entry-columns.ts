import { type AuditFieldKind, RECORDED_FIELDS } from "../../../sdk/src/contract/audit-entry.ts";
import type { AuditEntry } from "./entry.ts";

/** A column of entries in the database, with the property of {@link AuditEntry} that it holds. */
export interface EntryColumn {
  readonly property: keyof AuditEntry;
  readonly column: string;
  /** The field that it is in the API, or the column's name. */
  readonly field: string;
  readonly kind: AuditFieldKind;
  readonly nullable: boolean;
  /** The index of its value in {@link valuesOf}. */
  readonly index: number;
}

/** The indexes of values that only the journal and the charge use. */
export const CHARGE_INDEXES = { idempotency: 20, spender: 21, implausible: 22 } as const;

/** All columns, in the order of their indexes. Fields that were added later come after those of the charge. */
export const ENTRY_COLUMNS: readonly EntryColumn[] = columnsOf([
  ["id", { kind: "id" }],
  ["account_id", { kind: "id" }],
  ["key", { kind: "id" }],
  ["key_id", { kind: "text" }],
  ...RECORDED_FIELDS.filter(([name]) => name !== "id" && name !== "key_id"),
]);

function columnsOf(
  fields: readonly (readonly [string, (typeof RECORDED_FIELDS)[number][1]])[],
): EntryColumn[] {
  return fields.map(([name, { kind, nullable = false, column = name }], index) => ({
    // The type of entries has the same names, made in the same way.
    property: column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as keyof AuditEntry,
    column,
    field: name,
    kind,
    nullable,
    index: index < CHARGE_INDEXES.idempotency ? index : index + Object.keys(CHARGE_INDEXES).length,
  }));
}

/** A row with the columns, and possibly others. */
export type EntryRow = Readonly<Record<string, unknown>>;

/** An entry as it was read from the database. */
export function storedEntryOf(row: EntryRow): AuditEntry {
  const entry: Record<string, unknown> = {};
  for (const { property, column, kind } of ENTRY_COLUMNS) {
    const value = row[column];
    entry[property] = kind === "count" && typeof value === "bigint" ? Number(value) : value;
  }
  // Columns and type are made from the same fields.
  return entry as unknown as AuditEntry;
}
