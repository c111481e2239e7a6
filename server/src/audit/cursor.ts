import type { EntryId } from "../contract/entry.ts";
import { Failure } from "../errors/failure.ts";

/**
 * What was recorded at some moment: the number of the account's last batch by then. Later entries are not part of what is
 * read by it.
 */
export type AsOf = bigint & { readonly __id: "as-of" };

/** Where reading goes on: after an entry, in what was recorded when it began. */
export interface Cursor {
  readonly asOf: AsOf;
  readonly entry: EntryId;
}

// A batch's number, and a UUIDv7.
const CURSOR = /^(\d{1,18})~([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})$/;

export function cursorText({ asOf, entry }: Cursor): string {
  return `${asOf}~${entry}`;
}

/** @throws {Failure} `invalid_request` when it is none of ours. */
export function readCursor(text: string): Cursor {
  const [, asOf, entry] = CURSOR.exec(text) ?? [];
  if (asOf !== undefined && entry !== undefined)
    return { asOf: BigInt(asOf) as AsOf, entry: entry as EntryId };
  throw new Failure(
    "invalid_request",
    "The cursor is not valid. Pass the cursor of an earlier answer unchanged.",
    { param: "cursor" },
  );
}
