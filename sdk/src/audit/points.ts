import { OstiaryError } from "../core/errors.ts";

/** Checks points of a chain. @throws {OstiaryError} one has no number or digest, which JavaScript does not prevent. */
export function checkPoints<Name extends "batch" | "position">(
  points: readonly ({ readonly [_ in Name]: number } & { readonly digest: string })[],
  number: Name,
): void {
  for (const point of points as readonly (Partial<Record<string, unknown>> | null)[]) {
    if (!point?.[number] || !point.digest) throw new OstiaryError(`expected needs ${number} and digest.`);
  }
}
