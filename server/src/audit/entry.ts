import type { EndReason, UsageSource } from "../../../sdk/src/contract/audit-words.ts";
import type { AccountId } from "../accounts/account.ts";
import type { SpenderId } from "../credits/credit-store.ts";
import type { ErrorCode } from "../errors/failure.ts";
import type { ClaimId, KeyedAnswer } from "../idempotency/idempotency.ts";
import type { KeyUuid } from "../keys/key.ts";

export type { EndReason, UsageSource };

/** A UUIDv7: the request's, so that an entry and a request id name each other. */
export type EntryId = string & { readonly __id: "entry" };

/** The record of one request. Written once, never changed. */
export interface AuditEntry {
  readonly id: EntryId;
  readonly accountId: AccountId;
  readonly key: KeyUuid;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  readonly at: Date;
  /** Method and path pattern: `POST /v1/chat/completions`. */
  readonly endpoint: string;
  /** The catalog's id of the model, or what was asked for when the catalog has no such model. */
  readonly model: string | null;
  readonly upstream: string | null;
  /** HTTP status answered. */
  readonly status: number;
  readonly errorCode: ErrorCode | null;
  readonly endReason: EndReason;
  readonly usageSource: UsageSource;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly cachedTokens: number | null;
  readonly costNanoUsd: bigint;
  readonly latencyMs: number;
  readonly timeToFirstTokenMs: number | null;
  /** `null` when a trusted proxy sent an address that can't be parsed. */
  readonly sourceIp: string | null;
  /** What a rule that only reports would have refused the request with. */
  readonly wouldRefuse: ErrorCode | null;
  // What follows is known to the journal and to the transaction that charges the request, and not read back.
  /** Whose reserve the cost is charged to; absent when there is nothing to charge. */
  readonly spender?: SpenderId;
  /** What the upstream reported beyond what the model can do. Not part of the cost, and not collected. */
  readonly implausibleNanoUsd?: bigint;
  /** The answer to a request with an idempotency key: kept in the transaction that charges it. */
  readonly keyed?: KeyedAnswer;
}

/** An entry as it is read back, with what is known by then. */
export interface ListedEntry extends AuditEntry {
  readonly keyName: string;
}

/** The request id that clients see for an entry. */
export function requestIdOf(id: EntryId): string {
  return `req_${id.replaceAll("-", "")}`;
}

const REQUEST_ID = /^req_([0-9a-f]{8})([0-9a-f]{4})(7[0-9a-f]{3})([89ab][0-9a-f]{3})([0-9a-f]{12})$/;

/** The entry that a request id names, if it was recorded; `null` when the text is none. */
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

/** What {@link valuesOf} makes of an entry, at these places. */
export type EntryValues = readonly (string | number | null | KeyedValues)[];

type KeyedValues = readonly [
  claim: ClaimId,
  keyDigest: string,
  bodyDigest: string,
  isStream: boolean | null,
  model: string | null,
  text: string | null,
];

function keyedValuesOf({ claim, keyDigest, bodyDigest, answer }: KeyedAnswer): KeyedValues {
  const { isStream = null, model = null, text = null } = answer ?? {};
  return [claim, keyDigest, bodyDigest, isStream, model, text];
}

function keyedOf([claim, keyDigest, bodyDigest, isStream, model, text]: KeyedValues): KeyedAnswer {
  const isKept = isStream !== null && model !== null && text !== null;
  return { claim, keyDigest, bodyDigest, answer: isKept ? { isStream, model, text } : null };
}

/**
 * An entry without the names of its fields: half as long, and in half the time, as JSON of an object. Money travels as a
 * decimal string: JSON has no integers of that size; time as Unix milliseconds. The order is that of journals and of the database's batches: what is
 * added goes to the end.
 */
export function valuesOf(entry: AuditEntry): EntryValues {
  return [
    entry.id,
    entry.accountId,
    entry.key,
    entry.keyId,
    entry.at.getTime(),
    entry.endpoint,
    entry.model,
    entry.upstream,
    entry.status,
    entry.errorCode,
    entry.endReason,
    entry.usageSource,
    entry.promptTokens,
    entry.completionTokens,
    entry.cachedTokens,
    entry.costNanoUsd.toString(),
    entry.latencyMs,
    entry.timeToFirstTokenMs,
    entry.sourceIp,
    entry.wouldRefuse,
    entry.keyed === undefined ? null : keyedValuesOf(entry.keyed),
    entry.spender?.toString() ?? null,
    entry.implausibleNanoUsd?.toString() ?? null,
  ];
}

/** One line of the journal. */
export function encodeEntry(entry: AuditEntry): string {
  return JSON.stringify(valuesOf(entry));
}

/** Reads what {@link encodeEntry} wrote. @throws {Error} when the line was torn. */
export function decodeEntry(line: string): AuditEntry {
  // Our own writing, read back: a line is either whole or not JSON at all.
  const raw = JSON.parse(line) as WrittenValues | WrittenObject;
  if (!Array.isArray(raw)) return ofObject(raw as WrittenObject);
  const [
    id,
    accountId,
    key,
    keyId,
    at,
    endpoint,
    model,
    upstream,
    status,
    errorCode,
    endReason,
    usageSource,
    promptTokens,
    completionTokens,
    cachedTokens,
    costNanoUsd,
    latencyMs,
    timeToFirstTokenMs,
    sourceIp,
    wouldRefuse,
    keyed = null,
    spender = null,
    implausible = null,
  ] = raw as WrittenValues;
  return {
    id,
    accountId,
    key,
    keyId,
    at: new Date(at),
    endpoint,
    model,
    upstream,
    status,
    errorCode,
    endReason,
    usageSource,
    promptTokens,
    completionTokens,
    cachedTokens,
    costNanoUsd: BigInt(costNanoUsd),
    latencyMs,
    timeToFirstTokenMs,
    sourceIp,
    wouldRefuse,
    // Former versions wrote the claim's id alone.
    ...(keyed === null || typeof keyed === "string" ? {} : { keyed: keyedOf(keyed) }),
    ...(spender === null ? {} : { spender: BigInt(spender) as SpenderId }),
    ...(implausible === null ? {} : { implausibleNanoUsd: BigInt(implausible) }),
  };
}

type WrittenValues = readonly [
  id: AuditEntry["id"],
  accountId: AuditEntry["accountId"],
  key: AuditEntry["key"],
  keyId: string,
  at: number,
  endpoint: string,
  model: string | null,
  upstream: string | null,
  status: number,
  errorCode: AuditEntry["errorCode"],
  endReason: EndReason,
  usageSource: UsageSource,
  promptTokens: number | null,
  completionTokens: number | null,
  cachedTokens: number | null,
  costNanoUsd: string,
  latencyMs: number,
  timeToFirstTokenMs: number | null,
  sourceIp: string | null,
  wouldRefuse: AuditEntry["wouldRefuse"],
  keyed?: KeyedValues | ClaimId | null,
  spender?: string | null,
  implausible?: string | null,
];

/** What former versions wrote, whose journals may be replayed. The oldest had no `wouldRefuse`. */
type WrittenObject = Omit<AuditEntry, "at" | "costNanoUsd" | "wouldRefuse"> & {
  readonly at: string;
  readonly costNanoUsd: string;
  readonly wouldRefuse?: AuditEntry["wouldRefuse"];
};

function ofObject(raw: WrittenObject): AuditEntry {
  const { at, costNanoUsd, wouldRefuse = null } = raw;
  return { ...raw, at: new Date(at), costNanoUsd: BigInt(costNanoUsd), wouldRefuse };
}
