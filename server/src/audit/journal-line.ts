import type { AuditEntry } from "../contract/entry.ts";
import { decodeEntry, encodeEntry } from "./entry-values.ts";

/** A line of the journal: the entry of a request that has ended, or the entry that a begun request leaves if its process dies. */
export type JournalLine =
  | { readonly kind: "ended"; readonly entry: AuditEntry }
  | { readonly kind: "begun"; readonly entry: AuditEntry };

/** A line that can't be decoded, with the reason. */
export interface UnreadableLine {
  readonly kind: "unreadable";
  readonly problem: string;
}

/** The prefix of the line of a request that has only begun. */
const BEGUN = "begun ";
const NEWLINE = 0x0a;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Encodes a line, with its newline. */
export function encodeLine({ kind, entry }: JournalLine): string {
  return `${kind === "begun" ? BEGUN : ""}${encodeEntry(entry)}\n`;
}

/** Decodes a line without its newline. The problem does not quote the line, because it is logged. */
export function decodeLine(bytes: Uint8Array): JournalLine | UnreadableLine {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return unreadable("it is not UTF-8");
  }
  const kind = text.startsWith(BEGUN) ? "begun" : "ended";
  const json = kind === "begun" ? text.slice(BEGUN.length) : text;
  let entry: AuditEntry;
  try {
    entry = decodeEntry(json);
  } catch (error) {
    return unreadable(error instanceof SyntaxError ? "it is not JSON" : "it is not an audit entry");
  }
  // Without these the database would skip the entry instead of refusing it.
  const isKnown = UUID.test(entry.id) && UUID.test(entry.accountId) && !Number.isNaN(entry.at.getTime());
  return isKnown ? { kind, entry } : unreadable("it names no request and account");
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

function unreadable(problem: string): UnreadableLine {
  return { kind: "unreadable", problem };
}
