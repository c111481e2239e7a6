import type { AuditEntry } from "../contract/entry.ts";
import { decodeEntry, encodeEntry } from "./entry-values.ts";

/** A line of the journal: a request that has ended, or one that has only begun, as it stands if its process dies. */
export type JournalLine =
  | { readonly kind: "ended"; readonly entry: AuditEntry }
  | { readonly kind: "begun"; readonly entry: AuditEntry };

/** A line that is no journal line, and why. */
export interface UnreadableLine {
  readonly kind: "unreadable";
  readonly problem: string;
}

/** What a line of a request that has only begun begins with. */
const BEGUN = "begun ";
const NEWLINE = 0x0a;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** A line with its newline. */
export function encodeLine({ kind, entry }: JournalLine): string {
  return `${kind === "begun" ? BEGUN : ""}${encodeEntry(entry)}\n`;
}

/** Reads a line, given without its newline. Says why it can't be read without quoting it: that goes to the log. */
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
  // Without these the database would pass the entry over and not refuse it.
  const isKnown = UUID.test(entry.id) && UUID.test(entry.accountId) && !Number.isNaN(entry.at.getTime());
  return isKnown ? { kind, entry } : unreadable("it names no request and account");
}

/**
 * The lines of a file, without their newlines, and what follows the last newline: empty, or torn by a crash. Empty lines hold
 * nothing and are passed over.
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
