import { Failure } from "../errors/failure.ts";
import { withoutSecrets } from "../secrets/redact.ts";

const MAX_NAME_LENGTH = 64;

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

/** `invalid_request` for the name of a parameter or field that an operation does not take. */
export function unknownField(name: string, kind: "parameter" | "field", known: readonly string[]): Failure {
  const others = known.length === 0 ? "This operation takes none." : `There are ${known.join(", ")}.`;
  return new Failure("invalid_request", `There is no ${kind} of this name. ${others}`, {
    param: withoutSecrets(name).slice(0, MAX_NAME_LENGTH),
  });
}

/** `invalid_request` for a name that occurs twice. */
export function doubledField(name: string): Failure {
  const param = withoutSecrets(name).slice(0, MAX_NAME_LENGTH);
  return new Failure("invalid_request", `${param}: must come once`, { param });
}
