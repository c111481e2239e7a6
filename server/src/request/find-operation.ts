import { recordedEndpoint } from "../contract/recorded-text.ts";
import { Failure } from "../errors/failure.ts";
import type { AuthMode, Operation, PathParameters } from "../operations/operation.ts";
import type { Exchange } from "./exchange.ts";
import { hasVersion, hintFor, isUnserved, notFoundHint, withVersion } from "./not-found-hints.ts";
import type { RequestContext } from "./request-context.ts";

const GET_AND_HEAD = ["GET", "HEAD"];
const NO_PARAMETERS: PathParameters = {};

/** The operations that are served, by path. */
export class OperationTable {
  /** The methods and paths of the operations, as audit entries name them. */
  readonly endpoints: readonly string[];
  /** The operations whose path has no parameter, by path. */
  readonly #byPath = new Map<string, readonly Operation[]>();
  readonly #withParameter: readonly Operation[];
  /** The first segments of paths below `/v1`. */
  readonly #sections: ReadonlySet<string>;

  constructor(operations: readonly Operation[]) {
    this.endpoints = operations.flatMap((operation) =>
      methodsOf(operation).map((method) => `${method} ${operation.path}`),
    );
    this.#withParameter = operations.filter(hasParameter);
    for (const operation of operations) {
      if (hasParameter(operation)) continue;
      this.#byPath.set(operation.path, [...(this.#byPath.get(operation.path) ?? []), operation]);
    }
    this.#sections = new Set(operations.flatMap(({ path }) => sectionOf(path) ?? []));
  }

  /** The operations at a path, whatever their methods, with or without a trailing slash. */
  *at(pathAsSent: string): Generator<Found, undefined> {
    const path = withoutLastSlash(pathAsSent);
    for (const operation of this.#byPath.get(path) ?? []) yield { operation, parameters: NO_PARAMETERS };
    for (const operation of this.#withParameter) {
      const parameters = matchPath(operation, path);
      if (parameters !== null) yield { operation, parameters };
    }
  }

  /**
   * Whether a path is one of the API, or of a provider's, without `/v1` as its first segment. Some of these paths are also pages of the
   * dashboard.
   */
  lacksVersion(path: string): boolean {
    const right = withVersion(path);
    return hasVersion(path) || this.#sections.has(sectionOf(right) ?? "") || hintFor(right) !== null;
  }

  /** Whether a request is one of the management API. */
  isManagement({ method, path }: Pick<Exchange, "method" | "path">): boolean {
    for (const { operation } of this.at(path)) {
      if (methodsOf(operation).includes(method)) return operation.kind === "management";
    }
    return false;
  }
}

interface Found {
  readonly operation: Operation;
  readonly parameters: PathParameters;
}

/** What stands in for the operation of a request whose method and path no operation serves. */
export interface Unserved {
  readonly kind: "unserved";
  readonly failure: Failure;
  /** What the operations of the path authenticate with, so that a refused credential is reported before the method; `null`: it is not checked. */
  readonly auth: AuthMode | null;
}

/**
 * Finds the operation of a request's method and path, and notes the endpoint in the context. An operation that answers GET answers HEAD. If
 * there is none, the failure is `not_found`, or `method_not_allowed` with the header `allow`.
 */
export function findOperation(
  request: RequestContext,
  operations: OperationTable,
): Found | { readonly operation: Unserved; readonly parameters: PathParameters } {
  const { method, path } = request.exchange;
  const others: Operation[] = [];
  for (const found of operations.at(path)) {
    if (methodsOf(found.operation).includes(method)) {
      request.endpoint = `${method} ${found.operation.path}`;
      return found;
    }
    others.push(found.operation);
  }
  const served = withoutLastSlash(path);
  const servedAt = (other: string) => operations.at(other).next().value?.operation.path ?? null;
  const isUnknown = others.length === 0 || isUnserved(method, served);
  const failure = isUnknown ? notFoundHint(served, servedAt) : methodNotAllowed(others.flatMap(methodsOf));
  // OPTIONS asks for the methods, and browsers send it without a credential.
  const auth = isUnknown || method === "OPTIONS" ? null : credentialOf(others);
  request.endpoint = recordedEndpoint(method, path);
  return { operation: { kind: "unserved", failure, auth }, parameters: NO_PARAMETERS };
}

/** The credential that one of these operations takes; `null` if they are public, or take a session, which is that of a page. */
function credentialOf(operations: readonly Operation[]): AuthMode | null {
  const modes = operations.map((operation) => (operation.kind === "public" ? null : operation.auth));
  return (["key-or-management-token", "key"] as const).find((mode) => modes.includes(mode)) ?? null;
}

function sectionOf(path: string): string | null {
  return /^\/v1\/([^/]+)/.exec(path)?.[1] ?? null;
}

function hasParameter({ path }: Operation): boolean {
  return path.includes("{");
}

function methodsOf({ method }: Operation): readonly string[] {
  return method === "GET" ? GET_AND_HEAD : [method];
}

/**
 * Matches a path with an operation's, and returns the percent-decoded parameter. It is one segment of the path, or more if the operation allows
 * slashes in it.
 */
function matchPath(
  { path: pattern, parameterSpansSlashes }: Pick<Operation, "path" | "parameterSpansSlashes">,
  path: string,
): PathParameters | null {
  const [start, end] = [pattern.indexOf("{"), pattern.indexOf("}")];
  const suffix = pattern.slice(end + 1);
  if (!path.startsWith(pattern.slice(0, start)) || !path.endsWith(suffix)) return null;
  const value = path.slice(start, path.length - suffix.length);
  if (value === "" || (parameterSpansSlashes !== true && value.includes("/"))) return null;
  try {
    return { [pattern.slice(start + 1, end)]: decodeURIComponent(value) };
  } catch {
    // A path with invalid percent-encoding matches nothing.
    return null;
  }
}

function withoutLastSlash(path: string): string {
  return path.endsWith("/") && path.length > 1 ? path.slice(0, -1) : path;
}

function methodNotAllowed(methods: readonly string[]): Failure {
  return new Failure("method_not_allowed", `Use ${methods.join(" or ")} here.`, {
    headers: { allow: methods.join(", ") },
  });
}
