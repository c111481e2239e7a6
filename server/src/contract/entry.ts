import type { FieldValue, RecordedField } from "../../../sdk/src/contract/audit-entry.ts";
import type { EndReason, UsageSource } from "../../../sdk/src/contract/audit-enums.ts";
import type { AUDIT_FIELDS } from "../../../sdk/src/contract/audit-fields.ts";
import type { ErrorCode } from "../errors/failure.ts";
import type { AccountId } from "./account.ts";
import type { SpenderId } from "./ids.ts";
import type { IdempotencyRecord } from "./kept-answer.ts";
import type { KeyUuid } from "./key.ts";

export type { EndReason, UsageSource };

/** A UUIDv7: the request's, so that an entry and a request id name each other. */
export type EntryId = string & { readonly __id: "entry" };

/** The types of values in the server. */
interface Kinds {
  readonly id: EntryId;
  readonly text: string;
  readonly time: Date;
  readonly integer: number;
  readonly count: number;
  readonly money: bigint;
  readonly address: string;
  readonly error_code: ErrorCode;
  readonly end_reason: EndReason;
  readonly usage_source: UsageSource;
}

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;
type ColumnOf<Name extends RecordedField> = (typeof AUDIT_FIELDS)[Name] extends {
  readonly column: infer Column extends string;
}
  ? Column
  : Name;

/** What is recorded of a request and shown to its account: see {@link AUDIT_FIELDS}. */
type RecordedValues = {
  readonly [Name in RecordedField as CamelCase<ColumnOf<Name>>]: FieldValue<Name, Kinds>;
};

/** The record of one request. Written once, never changed. */
export interface AuditEntry extends RecordedValues {
  readonly accountId: AccountId;
  readonly key: KeyUuid;
  // What follows is known to the journal and to the transaction that charges the request, and not read back.
  /** Whose reserve the cost is charged to; absent when there is nothing to charge. */
  readonly spender?: SpenderId | undefined;
  /** What the upstream reported beyond what the model can do. Not part of the cost, and not collected. */
  readonly implausibleNanoUsd?: bigint | undefined;
  /** The idempotency key and answer of the request, which the transaction that charges it keeps; absent if there is nothing to keep. */
  readonly idempotency?: IdempotencyRecord | undefined;
}

/** The tokens of an entry without a known usage. */
export const NO_TOKENS = {
  promptTokens: null,
  completionTokens: null,
  cachedTokens: null,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  reasoningTokens: null,
  audioTokens: null,
  imageTokens: null,
} satisfies Partial<AuditEntry>;

/** An entry as it is read back, with what is known by then. */
export interface ListedEntry extends AuditEntry {
  readonly keyName: string;
}

/** A property of an entry that its account may see as it is. All others are only for the service, unless a field is made of them. */
export type ShownProperty = Exclude<keyof RecordedValues, "at"> | "keyName";

/** The request id that clients see for an entry. */
export function requestIdOf(id: EntryId): string {
  // Not `replaceAll`, which takes several times as long.
  return `req_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`;
}

const REQUEST_ID = /^req_([0-9a-f]{8})([0-9a-f]{4})(7[0-9a-f]{3})([89ab][0-9a-f]{3})([0-9a-f]{12})$/;

/** The entry that a request id names, if it was recorded; `null` when the text is not a request id. */
export function entryIdOf(requestId: string): EntryId | null {
  const parts = REQUEST_ID.exec(requestId);
  return parts === null ? null : (parts.slice(1).join("-") as EntryId);
}

/**
 * The lowest id of a time: a UUIDv7 begins with 48 bits of milliseconds (RFC 9562, section 5.7), so a range of ids is a
 * range of time.
 */
export function firstEntryIdAt(time: Date): EntryId {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000` as EntryId;
}

/** When a request came in: the time that is in its id, so that sorting and filtering by either are the same. */
export function timeOfEntry(id: EntryId): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** Prompt and completion tokens together, or `null` when neither is known. */
export function tokenCountOf(entry: AuditEntry): number | null {
  if (entry.promptTokens === null && entry.completionTokens === null) return null;
  return (entry.promptTokens ?? 0) + (entry.completionTokens ?? 0);
}
