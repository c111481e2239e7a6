import type {
  ExportEnd,
  ExportedAuditEntry,
  ExportedBatch,
  ExportHeader,
  LeftOutEntry,
} from "../contract/audit.ts";
import { type Fields, isFields, parsedJson } from "../core/fields.ts";
import { hasRepeatedName } from "./repeated-names.ts";

const DIGEST = /^[0-9a-f]{64}$/;

/** A line of an export (NDJSON) by its kind. */
export type ExportLine = { readonly cursor: unknown } & (
  | { readonly kind: "entry"; readonly entry: ExportedAuditEntry }
  | { readonly kind: "header"; readonly header: ExportHeader["export"] }
  | { readonly kind: "batch"; readonly batch: ExportedBatch }
  | { readonly kind: "end"; readonly end: ExportEnd["end"] }
);

/** `snapshot~entry~first-last~` and the last line of the proof. */
const POSITION = /^\d*~([0-9a-f-]{36})~\d+-\d+(?:~(?:(batch|rest)(\d+)\.(\d+)|(end)))?$/;
const SECTIONS = ["", "batch", "rest", "end"];
const MAX_DIGITS = 18;

/**
 * The position of a line in an export with a proof, from its cursor, in a form that sorts as the lines do. Returns `null` if the cursor
 * is not that of such an export.
 */
export function positionOf(cursor: unknown): string | null {
  const match = typeof cursor === "string" ? POSITION.exec(cursor) : null;
  if (match === null) return null;
  const [, entry = "", section = "", batch = "", chunk = "", end = ""] = match;
  const numbers = [batch, chunk].map((digits) => digits.padStart(MAX_DIGITS, "0"));
  return [entry, SECTIONS.indexOf(section + end), ...numbers].join(" ");
}

/** Reads a line. Returns `null` if it is none of an export. */
export function readExportLine(text: string): ExportLine | null {
  const line = parsedJson(text);
  if (!isFields(line) || hasRepeatedName(text, line)) return null;
  const { id, chain, cursor } = line;
  if (isFields(line.proof)) return proofOf(line.proof, cursor);
  if (typeof id !== "string" || !isFields(chain) || !isRecorded(chain)) return null;
  return { kind: "entry", cursor, entry: line as unknown as ExportedAuditEntry };
}

function proofOf(proof: Fields, cursor: unknown): ExportLine | null {
  if (isFields(proof.export)) {
    const { from, to, filter } = proof.export;
    const isWhole = isTime(from) && isTime(to) && isFilter(filter);
    return isWhole
      ? { kind: "header", cursor, header: proof.export as unknown as ExportHeader["export"] }
      : null;
  }
  if (isFields(proof.end)) {
    const { first, last, previous } = proof.end;
    const isWhole = isNumber(first) && isNumber(last) && (previous === null || isDigest(previous));
    return isWhole ? { kind: "end", cursor, end: proof.end as unknown as ExportEnd["end"] } : null;
  }
  const { left_out, content } = proof;
  const isWhole =
    content === undefined ? Array.isArray(left_out) && left_out.every(isLeftOut) : isDigest(content);
  return isWhole && isRecorded(proof)
    ? { kind: "batch", cursor, batch: proof as unknown as ExportedBatch }
    : null;
}

function isFilter(value: unknown): boolean {
  return isFields(value) && Object.values(value).every((text) => typeof text === "string");
}

function isRecorded({ batch, entries, digest }: Fields): boolean {
  return isCount(batch) && isCount(entries) && isDigest(digest);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isLeftOut(value: unknown): value is LeftOutEntry {
  if (!isFields(value) || !Number.isSafeInteger(value.place)) return false;
  const { entry, digest } = value;
  return entry === undefined ? isDigest(digest) : isFields(entry) && typeof entry.id === "string";
}

function isDigest(value: unknown): boolean {
  return typeof value === "string" && DIGEST.test(value);
}

function isNumber(value: unknown): boolean {
  return value === null || Number.isSafeInteger(value);
}

function isTime(value: unknown): boolean {
  return value === null || (typeof value === "string" && !Number.isNaN(Date.parse(value)));
}
