import { functionOf, objectOf } from "../core/checks.ts";
import { OstiaryError } from "../core/errors.ts";

/** If none of the first 100 lines can be read, the file is not an export. */
export const MAX_UNREADABLE_START = 100;

/** Checks points of a chain. @throws {OstiaryError} one has no number or digest, which JavaScript does not prevent. */
export function checkPoints<Name extends "batch" | "position">(
  points: readonly ({ readonly [_ in Name]: number } & { readonly digest: string })[],
  number: Name,
): void {
  for (const point of points as readonly (Partial<Record<string, unknown>> | null)[]) {
    if (typeof point?.[number] !== "number" || typeof point.digest !== "string")
      throw new OstiaryError(`expected needs ${number} and digest.`);
  }
}

/** @throws {OstiaryError} these are no lines, which JavaScript does not prevent. */
export function requireLines(lines: AsyncIterable<string> | Iterable<string>): void {
  // A text is iterable, by its characters.
  const { [Symbol.asyncIterator]: eachLater, [Symbol.iterator]: each } = objectOf(
    "lines",
    lines as Partial<AsyncIterable<string> & Iterable<string>>,
  );
  functionOf("the iterator of lines", eachLater ?? each);
}
