import { lacksVersion } from "../request/not-found-hints.ts";
import type { RequestHandler } from "../request/request-handler.ts";

/** What is served, told to a runtime's listener. */
export interface Served {
  /** Everything under `/v1/` and `/dashboard/`. */
  readonly requests: RequestHandler;
  /** Everything else, as a web-standard handler. */
  readonly web: (request: Request, peer: string) => Promise<Response>;
  /** For what is answered before it gets to either. */
  readonly newRequestId: () => string;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** How many connections clients may have open at once. On Deno, which can't tell, it is not heeded. */
  readonly maxConnections: number;
}

/** A socket that is being served. */
export interface Listener {
  readonly port: number;
  /**
   * Goes on to serve, and asks clients to close their connections with their next answer: then few are left on which a request
   * could arrive while the listener closes.
   */
  retire(): void;
  /** Takes no more requests; resolves when those under way have ended, or when time is up and they were cut. */
  close(drainMs: number): Promise<void>;
}

/**
 * True for paths that {@link RequestHandler} answers: the API, what the dashboard's pages ask of it by a session, and paths of the API
 * that lack the `/v1`, to say so. One of these is also a page: `accept` is the request's header.
 */
export function isApiPath(path: string, accept: () => string | null | undefined): boolean {
  if (path.startsWith("/v1/") || path === "/v1" || path.startsWith("/dashboard/")) return true;
  return lacksVersion(path) && accept()?.includes("text/html") !== true;
}

/** Listening on every address is reached by the loopback one; IPv6 addresses stand in brackets. */
export function hostForUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
