import { isIPv4 } from "node:net";
import type { AuditFieldKind } from "../../../sdk/src/contract/audit-entry.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { ENTRY_COLUMNS } from "../contract/entry-columns.ts";
import { isCanonicalUuid } from "../contract/ids.ts";
import { parseAddress } from "../networks/networks.ts";

/** The values of an entry as the database writes them in the log: one for each of {@link ENTRY_COLUMNS}. */
export type StoredTexts = readonly (string | null)[];

/** The database multiplies a time's milliseconds by a thousand in floating point, which is exact for some 2,000 years more. */
const END_OF_EXACT_TIMES_MS = Date.UTC(4_000, 0);

type Writer = (value: unknown) => string | null;

/** How the values of each kind are written; `null`: the database might store this one in another form. */
const WRITERS: { readonly [Kind in AuditFieldKind]: Writer } = {
  id: (value) => (typeof value === "string" && isCanonicalUuid(value) ? value : null),
  text: textOf,
  error_code: textOf,
  end_reason: textOf,
  usage_source: textOf,
  time: (value) => (value instanceof Date && isExactTime(value.getTime()) ? value.toISOString() : null),
  integer: numberOf,
  count: numberOf,
  money: (value) => (typeof value === "bigint" ? value.toString() : null),
  address: (value) => (typeof value === "string" && isStoredAddress(value) ? value : null),
};

const COLUMNS = ENTRY_COLUMNS.map(({ property, kind }) => ({ property, write: WRITERS[kind] }));
/** Whether a column's texts may contain anything. Those of ids, numbers, times and addresses contain nothing {@link SPECIAL}. */
const IS_FREE = ENTRY_COLUMNS.map(({ kind }) => WRITERS[kind] === textOf);

/** What must not be in a line of `copy` as it is: it ends values and lines, or begins an escape. */
const SPECIAL = /[\\\t\n\r]/;
const ALL_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/**
 * @returns `null` if the database might store a value in another form than the entry has it in. A line of the journal that an operator
 * has corrected may have such values, for example a number with leading zeros.
 */
export function storedTextsOf(entry: AuditEntry): StoredTexts | null {
  const texts: (string | null)[] = [];
  for (const { property, write } of COLUMNS) {
    const value = entry[property] ?? null;
    const text = value === null ? null : write(value);
    if (text === null && value !== null) return null;
    texts.push(text);
  }
  return texts;
}

/** A line of the text format of PostgreSQL's `copy` (documentation of PostgreSQL 15, "COPY", "File Formats"), without its end. */
export function lineOf(texts: StoredTexts): string {
  return texts.map(fieldOf).join("\t");
}

function fieldOf(text: string | null, index: number): string {
  if (text === null) return "\\N";
  return IS_FREE[index] === true && SPECIAL.test(text) ? text.replace(ALL_SPECIAL, escaped) : text;
}

function escaped(character: string): string {
  return ESCAPES[character] ?? character;
}

/** A text with half of a surrogate pair has no UTF-8. */
function textOf(value: unknown): string | null {
  return typeof value === "string" && value.isWellFormed() ? value : null;
}

function numberOf(value: unknown): string | null {
  return Number.isSafeInteger(value) ? `${value}` : null;
}

function isExactTime(time: number): boolean {
  return time >= 0 && time < END_OF_EXACT_TIMES_MS;
}

/** PostgreSQL writes IPv6 addresses as this service does, but for those that begin with zeros: `::1:2` is `::0.1.0.2` there. */
function isStoredAddress(address: string): boolean {
  if (isIPv4(address)) return true;
  return !address.startsWith("::") && parseAddress(address)?.toString() === address;
}
