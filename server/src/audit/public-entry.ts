import {
  AUDIT_FIELD_LIST,
  type AuditField,
  RECORDED_FIELDS,
  type RecordedField,
} from "../../../sdk/src/contract/audit-entry.ts";
import {
  type AuditEntry,
  type ListedEntry,
  requestIdOf,
  type ShownProperty,
  tokenCountOf,
} from "../contract/entry.ts";
import { ENTRY_COLUMNS } from "../contract/entry-columns.ts";

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

/** How the fields that are not stored follow from an entry. */
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
