import { Failure } from "../errors/failure.ts";
import type { Operation, PathParameters, PublicOperation } from "../operations/operation.ts";
import { holdsSecret, withoutSecrets } from "../secrets/redact.ts";
import type { Exchange } from "./exchange.ts";
import { isUnserved, notFoundHint } from "./not-found-hints.ts";
import type { RequestContext } from "./request-context.ts";

const MAX_NAME_LENGTH = 256;

/**
 * Finds the operation of a request's method and path, with or without a trailing slash. An operation that answers GET answers
 * HEAD. If there is none, returns a public operation that answers with `not_found`, or with `method_not_allowed` and `allow`.
 */
export function findOperation(
  request: RequestContext,
  operations: readonly Operation[],
): { readonly operation: Operation; readonly parameters: PathParameters } {
  const { method, path: pathAsSent } = request.exchange;
  const path = withoutLastSlash(pathAsSent);
  const allowed: string[] = [];
  for (const operation of operations) {
    const parameters = matchPath(operation, path);
    if (parameters === null) continue;
    const methods = methodsOf(operation);
    if (methods.includes(method)) {
      request.operation = `${method} ${operation.path}`;
      return { operation, parameters };
    }
    allowed.push(...methods);
  }
  const isUnknown = allowed.length === 0 || isUnserved(method, path);
  const failure = isUnknown ? notFoundHint(path) : methodNotAllowed(allowed);
  const operation = notServed(request.exchange, failure);
  request.operation = operation.path;
  return { operation, parameters: NO_PARAMETERS };
}

/** The names of these operations in audit entries. */
export function operationNames(operations: readonly Operation[]): readonly string[] {
  return operations.flatMap((operation) =>
    methodsOf(operation).map((method) => `${method} ${operation.path}`),
  );
}

const GET_AND_HEAD = ["GET", "HEAD"];

function methodsOf({ method }: Operation): readonly string[] {
  return method === "GET" ? GET_AND_HEAD : [method];
}

const NO_PARAMETERS: PathParameters = {};

/** A parameter in braces matches a segment of the path, or also slashes where the operation says so. It is percent-decoded. */
function matchPath(
  { path: pattern, parameterSpansSlashes }: Pick<Operation, "path" | "parameterSpansSlashes">,
  path: string,
): PathParameters | null {
  if (pattern === path) return NO_PARAMETERS;
  const [start, end] = [pattern.indexOf("{"), pattern.indexOf("}")];
  if (start === -1) return null;
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

/**
 * A public operation that answers with the failure. Its path is the endpoint of the audit entry: the method and path as sent. If
 * a key is sent, the request is recorded in that key's log.
 */
function notServed({ method, path }: Pick<Exchange, "method" | "path">, failure: Failure): PublicOperation {
  return {
    kind: "public",
    method: "GET",
    path: nameOf(method, path),
    isServed: false,
    openapi: null,
    run: async () => {
      throw failure;
    },
  };
}

/** An arbitrary path as it may be logged: short, without secrets, and without characters that text in the database can't hold. */
function nameOf(method: string, path: string): string {
  if (holdsSecret(decoded(path))) return `${method} /…`;
  const name = withoutSecrets(`${method} ${path}`).replace(/[\p{Cc}\p{Cs}]/gu, "\u{fffd}");
  return name.slice(0, MAX_NAME_LENGTH);
}

/** Percent-decodes ASCII characters. */
function decoded(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
