import { AUDIT_FIELDS } from "./audit-fields.ts";

type Fields = typeof AUDIT_FIELDS;

/** The name of a field. */
export type AuditField = keyof Fields;

/** The name of a field that is recorded with the entry. */
export type RecordedField = {
  [Name in AuditField]: Fields[Name] extends { readonly isDerived: true } ? never : Name;
}[AuditField];

/** A field's value, of the types that `Kinds` has for the kinds. */
export type FieldValue<Name extends AuditField, Kinds extends Record<AuditFieldKind, unknown>> =
  | Kinds[Fields[Name]["kind"]]
  | (Fields[Name] extends { readonly nullable: true } ? null : never);

/** Of which kind a field's values are. */
export type AuditFieldKind = Fields[AuditField]["kind"];

/** A field of any name. */
export interface AuditFieldDefinition {
  readonly kind: AuditFieldKind;
  readonly nullable?: boolean;
  readonly column?: string;
  readonly isDerived?: boolean;
}

/** All fields with their names, in the order of JSON and of CSV's columns. */
export const AUDIT_FIELD_LIST: readonly (readonly [AuditField, AuditFieldDefinition])[] = Object.entries(
  AUDIT_FIELDS,
) as [AuditField, AuditFieldDefinition][];

/** Those that are recorded, in the same order. */
export const RECORDED_FIELDS: readonly (readonly [RecordedField, AuditFieldDefinition])[] =
  AUDIT_FIELD_LIST.filter(
    (field): field is readonly [RecordedField, AuditFieldDefinition] => field[1].isDerived !== true,
  );

/**
 * What an entry's digest covers, in this order: the fields that are recorded, without those that were added after the last of these.
 * The digests of what was recorded before would not match any more.
 */
export const COVERED_FIELDS: readonly RecordedField[] = RECORDED_FIELDS.map(([name]) => name).slice(
  0,
  RECORDED_FIELDS.findIndex(([name]) => name === "would_refuse") + 1,
);
