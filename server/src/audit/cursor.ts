import type { EntryId } from "../contract/entry.ts";
import { invalidCursor } from "../database/page.ts";
import { Failure } from "../errors/failure.ts";
import type { EntryFilter } from "./filter.ts";
import { SELECTION_DIGITS, type Selection } from "./selection.ts";

/**
 * A snapshot of an account's log: the number of its last batch at some moment. Reads as of it leave out later entries.
 */
export type AsOf = bigint & { readonly __id: "as-of" };

/** Where reading continues: after an entry, in the snapshot of the first page. */
interface Cursor {
  readonly asOf: AsOf;
  readonly entry: EntryId;
}

/** A batch's number. */
const BATCH = "\\d{1,18}";
/** A UUIDv7. */
const ID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}";
/** Cursors of earlier versions do not name the selection. */
const SELECTION = `(\\d{${SELECTION_DIGITS}})?`;
const CURSOR = new RegExp(`^(${BATCH})${SELECTION}~(${ID})$`);

/** The cursor of pages with a selection. */
export function cursorText({ asOf, entry }: Cursor, selection: Selection): string {
  return `${asOf}${selection}~${entry}`;
}

/** @throws {Failure} `invalid_request` if the text is not a cursor of pages with the selection. */
export function readCursor(text: string, selection: Selection): Cursor {
  const [, asOf, begunSelection, entry] = CURSOR.exec(text) ?? [];
  if (asOf === undefined || entry === undefined) throw invalidCursor();
  if (begunSelection !== undefined && begunSelection !== selection) {
    throw refused(
      "The cursor is that of pages with another filter or period, or of another account. Pass those of the first page, or omit the cursor to begin again.",
    );
  }
  return { asOf: BigInt(asOf) as AsOf, entry: entry as EntryId };
}

/** Where an export continues. */
export interface ExportPosition {
  /** The snapshot of the first request; `null`: that of the request that continues. */
  readonly asOf: AsOf | null;
  /** The lines of entries up to this one are written. */
  readonly entry: EntryId;
  /** `null` for an export without a proof. */
  readonly proof: ProofPosition | null;
}

/** Which lines of a proof are written. */
export interface ProofPosition {
  /** The lowest and the highest batch of the entries so far; 0 before the first entry. */
  readonly first: bigint;
  readonly last: bigint;
  /** The last line of the proof since the entry; `null` if there is none. */
  readonly written: WrittenProof | "end" | null;
}

export interface WrittenProof {
  /** `batch`: the entry is the newest of the batch. `rest`: the batch's newest entry is not in the period. */
  readonly section: "batch" | "rest";
  readonly batch: bigint;
  readonly chunk: number;
}

const EXPORT_CURSOR = new RegExp(
  `^(\\d{0,18})${SELECTION}~(${ID})(?:~(${BATCH})-(${BATCH})(?:~(?:(batch|rest)(${BATCH})\\.(\\d{1,9})|(end)))?)?$`,
);

/**
 * Whether the period of an export ends before `closedUntilMs`, in milliseconds since 1970: no further entry will be dated in it. The cursors of such an
 * export contain no snapshot, so that two exports are equal to the byte whatever else was recorded between them.
 */
export function isClosed({ to }: EntryFilter, closedUntilMs: number): boolean {
  return to !== null && to.getTime() <= closedUntilMs;
}

/** The beginning of a cursor, before the entry's id. */
export function exportCursorStart(asOf: AsOf | null, selection: Selection): string {
  return `${asOf ?? ""}${selection}~`;
}

/** The end of a cursor, after the entry's id, in an export with a proof. */
export function proofCursorEnd({ first, last, written }: ProofPosition): string {
  const range = `~${first}-${last}`;
  if (written === null) return range;
  return written === "end" ? `${range}~end` : `${range}~${written.section}${written.batch}.${written.chunk}`;
}

/** @throws {Failure} `invalid_request` if the text is not the cursor of such an export. */
export function readExportCursor(text: string, isProved: boolean, selection: Selection): ExportPosition {
  const [, asOf, begunSelection, entry, first, last, section, batch, chunk, end] =
    EXPORT_CURSOR.exec(text) ?? [];
  if (asOf === undefined || entry === undefined) throw invalidCursor();
  if (isProved !== (first !== undefined)) {
    throw refused(
      isProved
        ? "The cursor is that of an export without a proof. Omit proof, or begin again without a cursor."
        : "The cursor is that of an export with a proof. Add proof=true, or begin again without a cursor.",
    );
  }
  if (begunSelection !== undefined && begunSelection !== selection) {
    throw refused(
      "The cursor is that of an export with another period, filter, format or set of columns, or of another account. Pass the parameters that the export began with, or begin again without a cursor.",
    );
  }
  const proofLine: WrittenProof | null =
    batch === undefined
      ? null
      : { section: section === "rest" ? "rest" : "batch", batch: BigInt(batch), chunk: Number(chunk) };
  const written = end === undefined ? proofLine : "end";
  return {
    asOf: asOf === "" ? null : (BigInt(asOf) as AsOf),
    entry: entry as EntryId,
    proof:
      first === undefined || last === undefined
        ? null
        : { first: BigInt(first), last: BigInt(last), written },
  };
}

function refused(message: string): Failure {
  return new Failure("invalid_request", message, { param: "cursor" });
}
