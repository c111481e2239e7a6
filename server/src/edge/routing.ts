import { Failure } from "../errors/failure.ts";
import { nothingAt } from "./elsewhere.ts";
import type { Endpoint, PathParameters } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";

/** @throws {Failure} `not_found`; `method_not_allowed` with `allow`. */
export function findEndpoint(
  endpoints: readonly Endpoint[],
  exchange: Pick<Exchange, "method" | "path">,
): { readonly endpoint: Endpoint; readonly parameters: PathParameters } {
  const allowed: string[] = [];
  for (const endpoint of endpoints) {
    const parameters = endpoint.match(exchange.path);
    if (parameters === null) continue;
    if (endpoint.method === exchange.method) return { endpoint, parameters };
    allowed.push(endpoint.method);
  }
  if (allowed.length === 0) {
    throw nothingAt(exchange.path);
  }
  throw new Failure("method_not_allowed", `Use ${allowed.join(" or ")} here.`, {
    headers: { allow: allowed.join(", ") },
  });
}

/** Matches one path to the letter. */
export function exactPath(path: string): (candidate: string) => PathParameters | null {
  return (candidate) => (candidate === path ? {} : null);
}

/** Matches a prefix followed by a parameter that may hold slashes; percent-encoding is undone. */
export function pathWithRest(prefix: string, name: string): (candidate: string) => PathParameters | null {
  return (candidate) => {
    if (!candidate.startsWith(prefix) || candidate.length === prefix.length) return null;
    try {
      return { [name]: decodeURIComponent(candidate.slice(prefix.length)) };
    } catch {
      // Broken percent-encoding names nothing that is there.
      return null;
    }
  };
}
