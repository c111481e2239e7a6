import { crc32 } from "node:zlib";
import type { AuditEntry } from "../contract/entry.ts";
import { ENTRY_COLUMNS } from "../contract/entry-columns.ts";
import { decodeEntry, encodeEntry } from "../contract/entry-values.ts";
import { isCanonicalUuid } from "../contract/ids.ts";

/** A line of the journal: the entry of a request that has ended, or the entry that a begun request leaves if its process dies. */
export interface JournalLine {
  readonly kind: "ended" | "begun";
  readonly entry: AuditEntry;
}

/** A line that can't be decoded, with the reason. */
export interface UnreadableLine {
  readonly kind: "unreadable";
  readonly problem: string;
}

/** The prefix of the line of a request that has only begun. */
const BEGUN = "begun ";
/**
 * Ends a line: a tab, which the JSON of an entry never contains, and the CRC-32 of the text before it. Without it a flipped bit could
 * turn an entry into another one, with other costs. Lines of earlier versions, and those that an operator has corrected, have none.
 */
const CHECKSUM = /\t([0-9a-f]{8})$/;
const TAB = 0x09;
/** The length of the checksum with its tab. */
const CHECKSUM_BYTES = 9;
const NEWLINE = 0x0a;

/** Encodes a line, with its newline. */
export function encodeLine({ kind, entry }: JournalLine): string {
  const text = `${kind === "begun" ? BEGUN : ""}${encodeEntry(entry)}`;
  return `${text}\t${checksumOf(text)}\n`;
}

/** Decodes a line without its newline. The problem does not quote the line, because it is logged. */
export function decodeLine(bytes: Uint8Array): JournalLine | UnreadableLine {
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return unreadable("it is not UTF-8");
  }
  const text = whole.replace(CHECKSUM, "");
  if (text !== whole && !whole.endsWith(checksumOf(text))) return unreadable("its checksum does not match");
  return decodeText(text);
}

/** Decodes a line that an operator has corrected. Its checksum, if it still has one, is that of the text before the correction. */
export function decodeCorrectedLine(line: string): JournalLine | UnreadableLine {
  return decodeText(line.toWellFormed().replace(CHECKSUM, ""));
}

/** Decodes a line without its checksum. */
function decodeText(text: string): JournalLine | UnreadableLine {
  const kind = text.startsWith(BEGUN) ? "begun" : "ended";
  const json = kind === "begun" ? text.slice(BEGUN.length) : text;
  let entry: AuditEntry;
  try {
    entry = decodeEntry(json);
  } catch (error) {
    return unreadable(error instanceof SyntaxError ? "it is not JSON" : "it is not an audit entry");
  }
  // Without these the database would skip the entry instead of refusing it.
  const isKnown =
    isCanonicalUuid(entry.id) && isCanonicalUuid(entry.accountId) && !Number.isNaN(entry.at.getTime());
  if (!isKnown) return unreadable("it names no request and account");
  // An operator's correction may have one. Recorded, it would lower sums of usage, and no charge would go with it.
  return hasNegative(entry) ? unreadable("it has a negative number") : { kind, entry };
}

function hasNegative(entry: AuditEntry): boolean {
  const isNegative = (value: unknown) =>
    (typeof value === "number" || typeof value === "bigint") && value < 0;
  return (
    ENTRY_COLUMNS.some(({ property }) => isNegative(entry[property])) || isNegative(entry.implausibleNanoUsd)
  );
}

/**
 * The lines of a file, without their newlines, and the rest after the last newline: empty, or a line that a crash has cut off.
 * Empty lines are skipped.
 */
export function splitLines(bytes: Uint8Array): {
  readonly lines: readonly { readonly number: number; readonly bytes: Uint8Array }[];
  readonly rest: Uint8Array;
} {
  const lines: { number: number; bytes: Uint8Array }[] = [];
  let start = 0;
  for (let number = 1; ; number++) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end === -1) return { lines, rest: bytes.subarray(start) };
    if (end > start) lines.push({ number, bytes: bytes.subarray(start, end) });
    start = end + 1;
  }
}

/** A line without its checksum, as it is stored when it is rejected: operators may edit it. */
export function withoutChecksum(line: Uint8Array): Uint8Array {
  const at = line.length - CHECKSUM_BYTES;
  return line[at] === TAB ? line.subarray(0, at) : line;
}

/** The hexadecimal digits of each byte. A number beyond 31 bits takes V8 a microsecond to write in another base than 10. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function checksumOf(text: string): string {
  const sum = crc32(text);
  return `${HEX[sum >>> 24]}${HEX[(sum >>> 16) & 255]}${HEX[(sum >>> 8) & 255]}${HEX[sum & 255]}`;
}

function unreadable(problem: string): UnreadableLine {
  return { kind: "unreadable", problem };
}
