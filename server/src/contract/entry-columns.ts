import {
  AUDIT_FIELD_LIST,
  type AuditField,
  type AuditFieldKind,
  RECORDED_FIELDS,
  type RecordedField,
} from "../../../sdk/src/contract/audit-entry.ts";
import { type AuditEntry, type ListedEntry, requestIdOf, type ShownProperty, tokenCountOf } from "./entry.ts";

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

const FIELDS: ReadonlySet<string> = new Set(RECORDED_FIELDS.map(([name]) => name));

/** The properties of an entry that its account may see: those of the fields of the API. */
const SHOWN_PROPERTIES: readonly (keyof ListedEntry)[] = [
  ...ENTRY_COLUMNS.filter(({ field }) => FIELDS.has(field)).map(({ property }) => property),
  "keyName" as const,
].filter((property) => property !== "at");

/** The properties of an entry that its account may see. */
export function shownOf(entry: ListedEntry): Pick<ListedEntry, ShownProperty> {
  const shown = SHOWN_PROPERTIES.map((property) => [property, entry[property]]);
  // List and type are made from the same fields.
  return Object.fromEntries(shown) as Pick<ListedEntry, ShownProperty>;
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

const DERIVED: { readonly [Name in Exclude<AuditField, RecordedField>]: (entry: ListedEntry) => unknown } = {
  request_id: ({ id }) => requestIdOf(id),
  key_name: ({ keyName }) => keyName,
  token_count: tokenCountOf,
};

const PROPERTIES = new Map<string, keyof AuditEntry>(
  ENTRY_COLUMNS.map(({ column, property }) => [column, property]),
);

/** An entry as the API shows it. */
export function publicEntryOf(entry: ListedEntry): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    AUDIT_FIELD_LIST.map(([name, { column = name }]) => {
      const property = PROPERTIES.get(column);
      const value = property === undefined ? DERIVED[name as keyof typeof DERIVED](entry) : entry[property];
      // One request's cost is far below 2^53 nano-USD (9 million USD), which is what a JSON number holds.
      return [name, typeof value === "bigint" ? Number(value) : value];
    }),
  );
}
