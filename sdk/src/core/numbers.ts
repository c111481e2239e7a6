import { OstiaryError } from "./errors.ts";

/** Checks an option. @throws {OstiaryError} it is not a number above 0. */
export function positive(name: string, value: number): number {
  if (!(value > 0)) throw new OstiaryError(`${name} must be greater than 0.`);
  return value;
}

/** Checks an option. @throws {OstiaryError} it is not a number, or is negative. */
export function notNegative(name: string, value: number): number {
  if (!(value >= 0)) throw new OstiaryError(`${name} must be 0 or greater.`);
  return value;
}
