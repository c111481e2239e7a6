import {
  AUDIT_FIELD_LIST,
  type AuditField,
  type AuditFieldKind,
  COVERED_FIELDS,
  COVERED_WHERE_SET,
  type RecordedField,
} from "../../../sdk/src/contract/audit-entry.ts";
import { ENTRY_COLUMNS } from "../contract/entry-columns.ts";

/**
 * The parts of SQL statements that list an entry's fields. Entries are read from `audit_entries entries` left joined with `keys`, and
 * written from `value`, which is the result of `valuesOf`.
 */

/** The types of values that are not text when they are read from JSON. */
const CASTS: Partial<Record<AuditFieldKind, string>> = {
  id: "uuid",
  integer: "integer",
  count: "bigint",
  money: "bigint",
  address: "inet",
};

/** The columns that an insert sets, but for the number of the batch. */
export const INSERTED_COLUMNS = ENTRY_COLUMNS.map(({ column }) => column).join(", ");

/** Their values. */
export const INSERTED_VALUES = ENTRY_COLUMNS.map(({ column }) => givenValue(column)).join(", ");

/** The value of a column, from `value`. */
export function givenValue(name: string): string {
  const column = ENTRY_COLUMNS.find((one) => one.column === name);
  if (column === undefined) throw new Error(`entries have no column ${name}`);
  const text = `value->>${column.index}`;
  if (column.kind === "time") return `timestamptz 'epoch' + (${text})::bigint * interval '1 millisecond'`;
  const cast = CASTS[column.kind];
  return cast === undefined ? text : `(${text})::${cast}`;
}

/** What an insert into `audit_entries as entry` returns of each row. */
export const RETURNED_COLUMNS = columnsOf("entry");

/** The name of an entry's key; empty if the key was created after the backup that the database was restored from, and used before. */
const KEY_NAME = "coalesce(keys.name, '')";

/** The columns that are read, and the name of the key. */
export const SELECTED_COLUMNS = `${columnsOf("entries")}, ${KEY_NAME} as key_name`;

function columnsOf(table: string): string {
  return ENTRY_COLUMNS.map(({ column, kind }) =>
    kind === "address" ? `host(${table}.${column}) as ${column}` : `${table}.${column}`,
  ).join(", ");
}

/** How the database makes the fields that are not stored. */
const DERIVED: { readonly [Name in Exclude<AuditField, RecordedField>]: string } = {
  request_id: "'req_' || replace(entries.id::text, '-', '')",
  key_name: KEY_NAME,
  token_count: `case
    when entries.prompt_tokens is null and entries.completion_tokens is null then null
    else coalesce(entries.prompt_tokens, 0) + coalesce(entries.completion_tokens, 0)
  end`,
};

/** Each field as the API writes it. */
const PUBLIC_FIELDS = AUDIT_FIELD_LIST.map(([name, { kind, nullable = false, column = name, isDerived }]) => {
  const value = isDerived === true ? DERIVED[name as keyof typeof DERIVED] : publicValue(column, kind);
  return { name, kind, nullable, value };
});

function publicValue(column: string, kind: AuditFieldKind): string {
  if (kind === "time")
    return `to_char(entries.${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return kind === "address" ? `host(entries.${column})` : `entries.${column}`;
}

const JSON_FIELDS = PUBLIC_FIELDS.filter(({ name }) => name !== "id")
  .map(({ name, value }) => `${value} as "${name}"`)
  .join(", ");

/**
 * The fields of a line of JSON after the id, and the entry's position in the chain, from its `batch`. A line of an export that may lack
 * entries of its batches says so, because it can be verified only with a proof.
 */
export function jsonFields(isOfPart: boolean): string {
  const part = isOfPart ? ", 'part', true" : "";
  return `${JSON_FIELDS},
    json_build_object('batch', batch.batch, 'entries', batch.entries, 'digest', encode(batch.digest, 'hex')${part}) as chain`;
}

/** The fields that an entry's digest covers, as a line of JSON has them. */
const COVERED: ReadonlySet<AuditField> = new Set([...COVERED_FIELDS, ...COVERED_WHERE_SET]);
export const JSON_COVERED_FIELDS = PUBLIC_FIELDS.filter(({ name }) => COVERED.has(name))
  .map(({ name, value }) => `${value} as "${name}"`)
  .join(", ");

/** The fields of a line of CSV. Text is quoted, and `null` is empty. */
export const CSV_VALUES = PUBLIC_FIELDS.map(({ kind, nullable, value }) => {
  if (kind === "text" || kind === "error_code") return `csv_field(${value})`;
  return nullable ? `coalesce(${value}::text, '')` : value;
}).join(", ");

/** The names of a CSV file's columns. */
export const CSV_FIELDS: readonly string[] = [...AUDIT_FIELD_LIST.map(([name]) => name), "cursor"];
