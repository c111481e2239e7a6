import { Failure } from "../errors/failure.ts";
import { nothingAt } from "./elsewhere.ts";
import type { Endpoint, PathParameters } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { notServed } from "./not-served.ts";

/** What a request is for. */
export interface Routed {
  readonly endpoint: Endpoint;
  /** As audit entries name it. */
  readonly name: string;
  readonly parameters: PathParameters;
}

/**
 * The endpoint of a request's method and path, with or without a slash at its end; one that answers GET answers HEAD. Where there is
 * none, an endpoint that answers with `not_found`, or `method_not_allowed` with `allow`.
 */
export function findEndpoint(
  endpoints: readonly Endpoint[],
  exchange: Pick<Exchange, "method" | "path">,
): Routed {
  const { method } = exchange;
  const path = withoutLastSlash(exchange.path);
  const allowed: string[] = [];
  for (const endpoint of endpoints) {
    const parameters = endpoint.match(path);
    if (parameters === null) continue;
    if (endpoint.method === method) return { endpoint, name: endpoint.name, parameters };
    if (endpoint.method === "GET" && method === "HEAD") {
      return { endpoint, name: headNameOf(endpoint), parameters };
    }
    allowed.push(...(endpoint.method === "GET" ? ["GET", "HEAD"] : [endpoint.method]));
  }
  const failure = allowed.length === 0 ? nothingAt(path) : notAllowed(allowed);
  const endpoint = notServed(exchange, failure);
  return { endpoint, name: endpoint.name, parameters: NO_PARAMETERS };
}

/** What audit entries name a request by, for each endpoint. */
export function namesOf(endpoints: readonly Endpoint[]): readonly string[] {
  return endpoints.flatMap((endpoint) =>
    endpoint.method === "GET" ? [endpoint.name, headNameOf(endpoint)] : [endpoint.name],
  );
}

/** Matches one path to the letter. */
export function exactPath(path: string): (candidate: string) => PathParameters | null {
  return (candidate) => (candidate === path ? NO_PARAMETERS : null);
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

const NO_PARAMETERS: PathParameters = {};

function withoutLastSlash(path: string): string {
  return path.endsWith("/") && path.length > 1 ? path.slice(0, -1) : path;
}

function headNameOf({ name }: Endpoint): string {
  return name.replace("GET", "HEAD");
}

function notAllowed(methods: readonly string[]): Failure {
  return new Failure("method_not_allowed", `Use ${methods.join(" or ")} here.`, {
    headers: { allow: methods.join(", ") },
  });
}
