import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { isIPv4 } from "node:net";
import {
  type AuditFieldKind,
  COVERED_FIELDS,
  COVERED_WHERE_SET,
  type RecordedField,
} from "../../../sdk/src/contract/audit-entry.ts";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import { parseAddress } from "../networks/networks.ts";
import { ENTRY_COLUMNS } from "./entry-columns.ts";

const PROPERTIES = new Map(ENTRY_COLUMNS.map(({ field, property }) => [field, property]));
/** The properties of fields that every digest covers. */
const COVERED = COVERED_FIELDS.map(propertyOf);
/** The properties of fields that a digest covers where they are not `null`, and what is written before their values. */
const COVERED_IF_SET = COVERED_WHERE_SET.map((field) => [propertyOf(field), `\n${field}:`] as const);

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
/** The database multiplies a time's milliseconds by a thousand in floating point, which is exact for some 2,000 years more. */
const END_OF_EXACT_TIMES_MS = Date.UTC(4_000, 0);

const NUMBERS = propertiesOf("integer", "count");
const TEXTS = propertiesOf("id", "text", "error_code", "end_reason", "usage_source", "address");

/** What the entries of one account in a batch add to the account's chain. */
export interface BatchContent {
  readonly accountId: AccountId;
  /** The number of the entries. */
  readonly entries: number;
  /** The newest entry's id. */
  readonly newest: EntryId;
  /** The SHA-256 digest of the entries' digests, in order of their ids: 64 hexadecimal digits. */
  readonly digest: string;
}

/**
 * What a batch adds to the chains of its accounts, provided that none of its entries was recorded before. The digests are those of
 * the database's function `entry_digest`: see "Verifying integrity" in `docs/reference/api.md`.
 *
 * @returns `null` if the database might store a value in another form than the entry has it in: then only the database knows the digests.
 */
export function batchContentsOf(entries: readonly AuditEntry[]): readonly BatchContent[] | null {
  const byAccount = new Map<AccountId, AuditEntry[]>();
  for (const entry of entries) {
    if (!isStoredAsItIs(entry)) return null;
    const ofAccount = byAccount.get(entry.accountId);
    if (ofAccount === undefined) byAccount.set(entry.accountId, [entry]);
    else ofAccount.push(entry);
  }
  return [...byAccount].map(([accountId, ofAccount]) => contentOf(accountId, ofAccount));
}

function contentOf(accountId: AccountId, entries: readonly AuditEntry[]): BatchContent {
  const sorted = entries.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  // A text with a character for each byte takes two thirds of the time of a buffer.
  let digests = "";
  let newest = "" as EntryId;
  for (const entry of sorted) {
    digests += hash("sha256", coveredTextOf(entry), "binary");
    newest = entry.id;
  }
  const digest = hash("sha256", Buffer.from(digests, "binary"), "hex");
  return { accountId, entries: entries.length, newest, digest };
}

function propertyOf(field: RecordedField): keyof AuditEntry {
  const property = PROPERTIES.get(field);
  if (property === undefined) throw new Error(`no column has the field ${field}`);
  return property;
}

/** What an entry's digest covers. */
function coveredTextOf(entry: AuditEntry): string {
  let text = "";
  for (const property of COVERED) {
    const value = entry[property] ?? "";
    text += `${value instanceof Date ? value.toISOString() : value}\n`;
  }
  text = text.slice(0, -1);
  for (const [property, name] of COVERED_IF_SET) {
    const value = entry[property] ?? null;
    if (value !== null) text += `${name}${value}`;
  }
  return text;
}

function propertiesOf(...kinds: readonly AuditFieldKind[]): readonly (keyof AuditEntry)[] {
  return ENTRY_COLUMNS.filter(({ kind }) => kinds.includes(kind)).map(({ property }) => property);
}

/**
 * Whether the database stores all values as the entry has them. A journal's line that somebody has corrected may have others, such as
 * a number with zeros before it.
 */
function isStoredAsItIs(entry: AuditEntry): boolean {
  const { id, accountId, at, sourceIp } = entry;
  const time = at.getTime();
  return (
    NUMBERS.every((property) => isNumberOrNull(entry[property])) &&
    TEXTS.every((property) => isTextOrNull(entry[property])) &&
    UUID.test(id) &&
    UUID.test(accountId) &&
    time >= 0 &&
    time < END_OF_EXACT_TIMES_MS &&
    isStoredAddress(sourceIp)
  );
}

function isNumberOrNull(value: unknown): boolean {
  return Number.isSafeInteger(value) || value === null || value === undefined;
}

function isTextOrNull(value: unknown): boolean {
  return typeof value === "string" || value === null || value === undefined;
}

/** PostgreSQL writes IPv6 addresses as this service does, but for those that begin with zeros: `::1:2` is `::0.1.0.2` there. */
function isStoredAddress(address: string | null): boolean {
  if (address === null || isIPv4(address)) return true;
  return !address.startsWith("::") && parseAddress(address)?.toString() === address;
}
