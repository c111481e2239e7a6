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

/**
 * Passes each line that is not empty to `add`, with its number from 1. Returns the number of lines.
 *
 * @throws {OstiaryError} these are no lines, which JavaScript does not prevent.
 */
export async function eachLine(
  lines: AsyncIterable<string> | Iterable<string>,
  add: (text: string, line: number) => Promise<void>,
): Promise<number> {
  requireLines(lines);
  let line = 0;
  for await (const given of lines) {
    line++;
    const text = exportedLine(given, line);
    if (text.trim() !== "") await add(text, line);
  }
  return line;
}

function requireLines(lines: AsyncIterable<string> | Iterable<string>): void {
  // A text is iterable, by its characters.
  const { [Symbol.asyncIterator]: eachLater, [Symbol.iterator]: each } = objectOf(
    "lines",
    lines as Partial<AsyncIterable<string> & Iterable<string>>,
  );
  functionOf("the iterator of lines", eachLater ?? each);
}

/** A line by its number, from 1. Some editors and shells put a byte order mark in front of the first, which is not part of an export. */
export function exportedLine(text: string, number: number): string {
  return number === 1 && text.startsWith("\uFEFF") ? text.slice(1) : text;
}
