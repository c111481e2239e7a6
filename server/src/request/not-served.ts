import type { Failure } from "../errors/failure.ts";
import type { PublicOperation } from "../operations/operation.ts";
import { holdsSecret, withoutSecrets } from "../secrets/redact.ts";
import type { Exchange } from "./exchange.ts";

const MAX_NAME_LENGTH = 256;

/**
 * The operation of a request for something that is not served: it answers with the failure. Its path is what the entry says of the
 * request: the method and path as sent. It is public, but its key, if one is sent, has the request in its log.
 */
export function notServed(
  { method, path }: Pick<Exchange, "method" | "path">,
  failure: Failure,
): PublicOperation {
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

/** What a client made up, as it may stand in a log: short, without a secret, and without characters that text can't hold. */
function nameOf(method: string, path: string): string {
  if (holdsSecret(decoded(path))) return `${method} /…`;
  const name = withoutSecrets(`${method} ${path}`).replace(/[\p{Cc}\p{Cs}]/gu, "\u{fffd}");
  return name.slice(0, MAX_NAME_LENGTH);
}

/** Percent-encoding undone, as far as it is any. */
function decoded(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
