import { Failure } from "../errors/failure.ts";

/** A page of a list. */
interface Page<Item> {
  readonly items: readonly Item[];
  /** The last item, after which the next page begins; `null` on the last page. */
  readonly last: Item | null;
}

/** Reads a page of at most `limit` items. `read` is asked for one more, which shows whether the list continues. */
export async function readPage<Item>(
  limit: number,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  return { items, last: found.length > limit ? (items.at(-1) ?? null) : null };
}

/** A cursor of a number and an id, as {@link readCursorText} reads it. */
export function cursorTextOf(number: bigint | number, id: string): string {
  return `${number}~${id}`;
}

/**
 * Reads a cursor as its number and its id.
 *
 * @param pattern has a group for each.
 * @throws {Failure} `invalid_request` if the text does not match.
 */
export function readCursorText(
  text: string,
  pattern: RegExp,
): { readonly number: string; readonly id: string } {
  const [, number, id] = pattern.exec(text) ?? [];
  if (number !== undefined && id !== undefined) return { number, id };
  throw invalidCursor();
}

/** The refusal of a text that is no cursor. */
export function invalidCursor(): Failure {
  return new Failure(
    "invalid_request",
    "The cursor is not valid. Pass the cursor of an earlier answer unchanged.",
    { param: "cursor" },
  );
}
