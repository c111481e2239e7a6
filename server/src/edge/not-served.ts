import type { Failure } from "../errors/failure.ts";
import { holdsSecret, withoutSecrets } from "../secrets/redact.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";

const MAX_NAME_LENGTH = 256;

/**
 * In an endpoint's place where there is none: answers with the failure, and names in the entry what was asked for. It is for anyone,
 * but a key that is shown is looked at, so that its owner finds the request in their log.
 */
export function notServed({ method, path }: Pick<Exchange, "method" | "path">, failure: Failure): Endpoint {
  return {
    method: "GET",
    name: nameOf(method, path),
    openedBy: "anyone",
    isServed: false,
    match: () => null,
    answer: async () => {
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
