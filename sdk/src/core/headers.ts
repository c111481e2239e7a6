import { fromCaller, withoutUnset } from "./checks.ts";
import { OstiaryError } from "./errors.ts";

/** The header by which the service recognizes a repeated request. */
export const IDEMPOTENCY_KEY = "idempotency-key";

/** Headers in any form that `fetch` takes. Those that are `undefined` or `null` are left out. */
export type HeadersLike =
  | Headers
  | Iterable<readonly [name: string, value: string | null | undefined]>
  | Readonly<Record<string, string | null | undefined>>;

/**
 * Converts names to lower case, and leaves out headers that are not set.
 *
 * @throws {OstiaryError} a name or value cannot be sent. The message omits it, because it may be secret.
 */
export function checkedHeaders(headers: HeadersLike): Readonly<Record<string, string>> {
  const given = fromCaller(() => withoutUnset<string>("headers", headers));
  try {
    return Object.fromEntries(new Headers(given));
  } catch {
    throw new OstiaryError("A header's name or value contains characters that are not allowed in headers.");
  }
}

/** The headers whose values are logged. All others may contain secrets. */
const LOGGED_HEADERS = new Set(["accept", "content-type", IDEMPOTENCY_KEY, "user-agent"]);

/** The headers of a request, for a log. */
export function withoutSecrets(headers: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, LOGGED_HEADERS.has(name) ? value : "…"]),
  );
}
