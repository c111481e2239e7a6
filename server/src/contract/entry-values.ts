import type { AuditEntry } from "./entry.ts";
import { CHARGE_INDEXES, ENTRY_COLUMNS, type EntryColumn } from "./entry-columns.ts";
import type { SpenderId } from "./ids.ts";
import type { ClaimId, IdempotencyRecord } from "./kept-answer.ts";

type IdempotencyValues = readonly [
  claim: ClaimId,
  idempotencyKeyDigest: string,
  bodyDigest: string,
  isStream: boolean | null,
  model: string | null,
  text: string | null,
];

function idempotencyValuesOf(record: IdempotencyRecord): IdempotencyValues {
  const { isStream = null, model = null, text = null } = record.answer ?? {};
  return [record.claim, record.idempotencyKeyDigest, record.bodyDigest, isStream, model, text];
}

function idempotencyOf(values: IdempotencyValues): IdempotencyRecord {
  const [claim, idempotencyKeyDigest, bodyDigest, isStream, model, text] = values;
  const isKept = isStream !== null && model !== null && text !== null;
  return { claim, idempotencyKeyDigest, bodyDigest, answer: isKept ? { isStream, model, text } : null };
}

/** The property at each index: those of the columns, and those that only the journal and the charge use. */
const PROPERTIES: readonly (keyof AuditEntry)[] = propertiesByIndex();

function propertiesByIndex(): (keyof AuditEntry)[] {
  const ofColumns = ENTRY_COLUMNS.map(({ property, index }) => [index, property] as const);
  const ofCharge = [
    [CHARGE_INDEXES.idempotency, "idempotency"],
    [CHARGE_INDEXES.spender, "spender"],
    [CHARGE_INDEXES.implausible, "implausibleNanoUsd"],
  ] as const;
  return [...ofColumns, ...ofCharge]
    .toSorted(([one], [other]) => one - other)
    .map(([, property]) => property);
}

/**
 * An entry as an array of values: as JSON it takes half the bytes and half the time of an object. Each value is at the index of
 * its column. Money is a decimal string, because JSON numbers are too small for it; time is in Unix milliseconds.
 */
export function valuesOf(entry: AuditEntry): readonly unknown[] {
  return PROPERTIES.map((property) => written(entry[property]));
}

function written(value: AuditEntry[keyof AuditEntry]): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value ?? null;
  return value instanceof Date ? value.getTime() : idempotencyValuesOf(value);
}

/** One line of the journal. */
export function encodeEntry(entry: AuditEntry): string {
  return JSON.stringify(valuesOf(entry));
}

/**
 * Reads what {@link encodeEntry} wrote in this version or an earlier one: the oldest wrote objects, and later ones fewer fields.
 *
 * @throws {Error} if the line is incomplete.
 */
export function decodeEntry(line: string): AuditEntry {
  const raw = JSON.parse(line) as Readonly<Record<string | number, unknown>>;
  const isList = Array.isArray(raw);
  const entry: Record<string, unknown> = {};
  for (const column of ENTRY_COLUMNS) {
    entry[column.property] = read(raw[isList ? column.index : column.property], column);
  }
  // The service wrote the line itself, so it is either complete or no JSON.
  return Object.assign(entry, isList ? chargeOf(raw) : {}) as unknown as AuditEntry;
}

function read(value: unknown, { kind, nullable }: EntryColumn): unknown {
  if (nullable && (value === undefined || value === null)) return null;
  if (kind === "time") return new Date(value as number | string);
  return kind === "money" ? BigInt(value as string) : value;
}

function chargeOf(
  values: readonly unknown[],
): Pick<AuditEntry, "idempotency" | "spender" | "implausibleNanoUsd"> {
  const idempotency = values[CHARGE_INDEXES.idempotency] as IdempotencyValues | ClaimId | null | undefined;
  const spender = values[CHARGE_INDEXES.spender] as string | null | undefined;
  const implausible = values[CHARGE_INDEXES.implausible] as string | null | undefined;
  return {
    // Earlier versions wrote only the claim's id.
    ...(Array.isArray(idempotency) ? { idempotency: idempotencyOf(idempotency as IdempotencyValues) } : {}),
    ...(typeof spender === "string" ? { spender: BigInt(spender) as SpenderId } : {}),
    ...(typeof implausible === "string" ? { implausibleNanoUsd: BigInt(implausible) } : {}),
  };
}
