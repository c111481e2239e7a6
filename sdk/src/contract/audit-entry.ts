import { AUDIT_FIELDS } from "./audit-fields.ts";

type Fields = typeof AUDIT_FIELDS;

/** The name of a field. */
export type AuditField = keyof Fields;

/** The name of a field that is recorded with the entry. */
export type RecordedField = {
  [Name in AuditField]: Fields[Name] extends { readonly isDerived: true } ? never : Name;
}[AuditField];

/** The type of a field's value, from the types that `Kinds` gives to the kinds. */
export type FieldValue<Name extends AuditField, Kinds extends Record<AuditFieldKind, unknown>> =
  | Kinds[Fields[Name]["kind"]]
  | (Fields[Name] extends { readonly nullable: true } ? null : never);

/** The kind of a field's values. */
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

/** The recorded fields, in the same order. */
export const RECORDED_FIELDS: readonly (readonly [RecordedField, AuditFieldDefinition])[] =
  AUDIT_FIELD_LIST.filter(
    (field): field is readonly [RecordedField, AuditFieldDefinition] => field[1].isDerived !== true,
  );

/** The fields that the digest of every entry covers, in this order, empty where they are `null`. */
export const COVERED_FIELDS: readonly RecordedField[] = RECORDED_FIELDS.map(([name]) => name).slice(
  0,
  RECORDED_FIELDS.findIndex(([name]) => name === "would_refuse") + 1,
);

/**
 * Fields that were added later. An entry's digest covers them where they are not `null`, so that the digests of earlier entries
 * stay as they are.
 */
export const COVERED_WHERE_SET: readonly RecordedField[] = [
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "reasoning_tokens",
  "audio_tokens",
  "image_tokens",
];
