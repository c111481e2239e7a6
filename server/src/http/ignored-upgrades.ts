import type { IncomingMessage } from "node:http";
import type { ClientSocket } from "./client-connections.ts";

/** The index of the parser's callback for a piece that it has read from the connection. */
const ON_EXECUTE = 5;

/** What Node's HTTP server keeps of the parser that reads a connection is not public. */
interface Parser {
  /** The piece that was read, during {@link ON_EXECUTE}. */
  getCurrentBuffer?(): Uint8Array | undefined;
  [callback: number]: unknown;
}

/** Called with the number of bytes of a piece that were parsed, or with the error that has ended the parsing. */
type OnExecute = (parsed: number | Error, ...others: readonly unknown[]) => unknown;

/** Whether a request asks for another protocol, which the service ignores (RFC 9110, section 7.8). */
export function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(headers.connection ?? "");
}

/**
 * Calls `lost` if Node drops what a client has sent behind a request that {@link asksForUpgrade}, as it does with all that came in the same piece: a
 * request in it would never be answered, and its rest in the next piece would be taken for another request. Call it when the request's head was
 * parsed.
 */
export function onDroppedRequests(request: IncomingMessage, lost: () => void): void {
  const { parser } = request.socket as ClientSocket & { readonly parser?: Parser | null };
  const own = parser?.[ON_EXECUTE];
  // With other parsers than expected, it isn't known what is dropped.
  if (parser == null || typeof own !== "function" || !own.name.endsWith("onParserExecute")) {
    lost();
    return;
  }
  const onExecute = own as OnExecute;
  parser[ON_EXECUTE] = (parsed: number | Error, ...others: readonly unknown[]) => {
    if (request.complete || request.destroyed) {
      parser[ON_EXECUTE] = onExecute;
      if (typeof parsed === "number" && parsed < (parser.getCurrentBuffer?.()?.length ?? 0)) lost();
    }
    return onExecute(parsed, ...others);
  };
}
