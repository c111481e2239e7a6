import { OstiaryError } from "./errors.ts";

/** Checks an option. @throws {OstiaryError} it is not a number above 0. */
export function positive(name: string, value: number): number {
  // A text such as "500", of an environment variable, would be joined to times rather than added.
  if (typeof value !== "number" || !(value > 0))
    throw new OstiaryError(`${name} must be a number greater than 0.`);
  return value;
}

/** Checks an option. @throws {OstiaryError} it is not a number, or is negative. */
export function notNegative(name: string, value: number): number {
  if (typeof value !== "number" || !(value >= 0))
    throw new OstiaryError(`${name} must be a number of 0 or greater.`);
  return value;
}

/** Checks a parameter. @throws {OstiaryError} it is a `Date` without a time, which a text that is not a date becomes. */
export function checkTime(name: string, value: unknown): void {
  if (value instanceof Date && Number.isNaN(value.getTime()))
    throw new OstiaryError(`${name} is not a valid date.`);
}

/** Checks options or parameters. @throws {OstiaryError} they are not an object, such as `null`: types check only callers in TypeScript. */
export function objectOf<Given extends object>(name: string, given: Given): Given {
  if (typeof given === "object" && given !== null) return given;
  throw new OstiaryError(`${name} must be an object.`);
}

/**
 * The names and values of an object, or of a collection such as `Headers` and `URLSearchParams`, without those that are not set, which
 * would be sent as the text `undefined` or `null`.
 *
 * @throws {OstiaryError} they are not an object: types check only callers in TypeScript.
 */
export function withoutUnset<Value>(
  name: string,
  values: Iterable<readonly [string, Value | null | undefined]> | object,
): [string, Value][] {
  objectOf(name, values);
  const entries: readonly (readonly unknown[])[] =
    Symbol.iterator in values ? [...(values as Iterable<[string, Value]>)] : Object.entries(values);
  return entries.filter((entry): entry is [string, Value] => entry[1] != null);
}

/** Checks an option. @throws {OstiaryError} it is not a function: types check only callers in TypeScript. */
export function functionOf(name: string, given: unknown): void {
  if (typeof given !== "function") throw new OstiaryError(`${name} must be a function.`);
}

/** Reads what a caller passed. @throws {OstiaryError} that failed, because it has values that JavaScript does not prevent. */
export function fromCaller<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof OstiaryError) throw cause;
    throw new OstiaryError(`Invalid option: ${cause}`, { cause });
  }
}
