import { doubledField, invalid, unknownField } from "./invalid-field.ts";

/**
 * Requires that a query has only these parameters, each at most once: a misspelt filter would match everything, and readers do not
 * agree on which of two values counts.
 *
 * @throws {Failure} `invalid_request` naming the parameter.
 */
export function requireKnownParameters(query: URLSearchParams, known: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of query.keys()) {
    if (!known.includes(name)) throw unknownField(name, "parameter", known);
    if (seen.has(name)) throw doubledField(name);
    seen.add(name);
  }
}

/** How many elements a page may have. @throws {Failure} `invalid_request` unless it is a number from 1 to `max`. */
export function readLimit(query: URLSearchParams, limits: { default: number; max: number }): number {
  const text = query.get("limit");
  if (text === null) return limits.default;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limits.max) return limit;
  throw invalid("limit", `must be a whole number from 1 to ${limits.max}`);
}

/** Reads one of several values. The first is the default. @throws {Failure} `invalid_request` for any other value. */
export function readChoice<Choice extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const text = query.get(name) ?? choices[0];
  const choice = choices.find((known) => known === text);
  if (choice === undefined) throw invalid(name, `must be ${choices.join(" or ")}`);
  return choice;
}
