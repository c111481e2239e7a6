import type { RequestHandler } from "../request/request-handler.ts";
import type { TlsPair } from "./tls-pair.ts";

/**
 * Makes the body of an answer from bytes that all answers with the same content share. `null`: the client leaves too many large answers unread and gets
 * no further one.
 */
export type BodyOfShared = (
  bytes: Uint8Array<ArrayBuffer>,
) => ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null;

/** The handlers that a listener serves. */
export interface Served {
  /** Answers everything under `/v1/` and `/dashboard/`; `null` on a port without these, such as that for metrics. */
  readonly requests: Pick<
    RequestHandler,
    "handle" | "handleAccepted" | "isOverloaded" | "refuseIfOverloaded" | "readableInTurn" | "lacksVersion"
  > | null;
  /** Answers everything else, as a web-standard handler. Never rejects. */
  readonly web: (request: Request, peer: string, bodyOfShared?: BodyOfShared) => Promise<Response>;
  /** Makes the ids of requests that the listener itself refuses. */
  readonly newRequestId: () => string;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** The maximum of open client connections. Deno cannot enforce it. */
  readonly maxConnections: number;
  /** The maximum of bytes of answers that clients have not read. On Deno, only those of large answers and streams can be counted. */
  readonly maxUnreadBytes: number;
  /** How many seconds a connection stays open for the client's next request. On Deno, until the client closes it. */
  readonly keepAliveS: number;
  /** The certificate for HTTPS; `null`: HTTP. */
  readonly tls: TlsPair | null;
  /** Whether other workers of the service listen on the port, too. On Node that needs nothing here. */
  readonly sharesPort: boolean;
}

/** A listening socket. */
export interface Listener {
  readonly port: number;
  /**
   * Keeps serving, but asks clients to close their connections with the next answer, so that few requests arrive while the
   * listener closes.
   */
  retire(): void;
  /** Uses another certificate for new connections. Only with {@link ListenerOptions.tls}. */
  renew(pair: TlsPair): Promise<void>;
  /** Stops accepting requests. Resolves when running ones have ended; when `cut` resolves, those that are left are cut off. */
  close(cut: Promise<unknown>): Promise<void>;
}

const BELOW_VERSION = /^\/+v1(?:\/|$)/i;

/**
 * Whether {@link RequestHandler} answers a path. It answers those of the API, those of the dashboard's requests by session, and those of the API
 * without `/v1`, which get a hint. Some of the last are also pages, which the `accept` header selects.
 */
export function isApiPath(
  requests: Pick<RequestHandler, "lacksVersion">,
  path: string,
  accept: () => string | null | undefined,
): boolean {
  if (BELOW_VERSION.test(path) || path.startsWith("/dashboard/")) return true;
  return requests.lacksVersion(path) && accept()?.includes("text/html") !== true;
}

/** The host for a URL: loopback for a wildcard address, brackets around IPv6. */
export function hostForUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
