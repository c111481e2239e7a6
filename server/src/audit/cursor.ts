import type { EntryId } from "../contract/entry.ts";
import { cursorTextOf, readCursorText } from "../database/page.ts";

/**
 * A snapshot of an account's log: the number of its last batch at some moment. Reads as of it leave out later entries.
 */
export type AsOf = bigint & { readonly __id: "as-of" };

/** Where reading continues: after an entry, in the snapshot of the first page. */
export interface Cursor {
  readonly asOf: AsOf;
  readonly entry: EntryId;
}

// A batch's number, and a UUIDv7.
const CURSOR = /^(\d{1,18})~([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})$/;

export function cursorText({ asOf, entry }: Cursor): string {
  return cursorTextOf(asOf, entry);
}

/** @throws {Failure} `invalid_request` if the text is not a cursor. */
export function readCursor(text: string): Cursor {
  const { number, id } = readCursorText(text, CURSOR);
  return { asOf: BigInt(number) as AsOf, entry: id as EntryId };
}
