import { setTimeout } from "node:timers/promises";
import { FetchExchange } from "./fetch-exchange.ts";
import { isApiPath, type Listener, type ListenerOptions, type Served } from "./listener.ts";
import { invalidTargetAnswer } from "./listener-refusal.ts";
import type { TlsPair } from "./tls-pair.ts";
import { type BodyReader, UnreadBodies } from "./unread-bodies.ts";

interface ServeOptions {
  readonly hostname: string;
  readonly port: number;
  /** Whether other processes may listen on the port, too. */
  readonly reusePort: boolean;
  readonly onListen: () => void;
  readonly cert?: string;
  readonly key?: string;
}

interface DenoServer {
  readonly addr: { readonly port: number };
  shutdown(): Promise<void>;
}

type Handler = (request: Request, info: RequestInfo) => Promise<Response>;

interface RequestInfo {
  readonly remoteAddr: { readonly hostname?: string };
  /** Settles when the answer has been sent, or its client has gone. The runtime makes it when it is asked for. */
  readonly completed: Promise<void>;
}

/** The parts of Deno's namespace that are used here. Deno's own types conflict with those of Node. */
interface DenoNamespace {
  serve(options: ServeOptions, handler: Handler): DenoServer;
}

/** A listening server. */
interface Opened {
  readonly port: number;
  /** Stops accepting requests. Resolves when the running ones have ended. A second call waits for the first. */
  shutdown(): Promise<void>;
}

/** How long a port may take to be free after its server was closed. */
const REOPEN_TIMEOUT_MS = 5_000;
const REOPEN_PAUSE_MS = 2;
/** The characters that end the host of a URL. */
const BEYOND_HOST = /[/\\?#]/;

/** Serves on `Deno.serve`. */
export async function serveOnDeno(served: Served, options: ListenerOptions): Promise<Listener> {
  const exchanges = new Set<FetchExchange>();
  const handler = handlerOf(served, exchanges, new UnreadBodies(options.maxUnreadBytes));
  let server = open(handler, options, options.port, options.tls);
  const former = new Set<Opened>();
  return {
    port: server.port,
    // Deno closes idle connections at shutdown by itself.
    retire: () => {},
    // Deno's server keeps its certificate, so another one takes over the port. For a moment no server listens on it.
    renew: async (pair) => {
      const replaced = server;
      former.add(replaced);
      const forget = () => former.delete(replaced);
      replaced.shutdown().then(forget, forget);
      server = await reopen(() => open(handler, options, replaced.port, pair));
    },
    close: async (cut) => {
      const ended = Promise.all([server, ...former].map((opened) => opened.shutdown()));
      const isCut = await Promise.race([ended.then(() => false), cut.then(() => true)]);
      if (!isCut) return;
      // Deno can't close connections during a shutdown: they end with the process.
      for (const exchange of exchanges) exchange.disconnect();
    },
  };
}

/** @param exchanges The exchanges that are being answered. The handler adds and removes them. */
function handlerOf(served: Served, exchanges: Set<FetchExchange>, unread: UnreadBodies): Handler {
  return (request, info) => {
    const url = urlOf(request);
    if (url === null) return Promise.resolve(invalidTargetAnswer(served.newRequestId()));
    const { requests } = served;
    if (requests === null || !isApiPath(requests, url.pathname, () => request.headers.get("accept"))) {
      return answerWeb(served, request, readerOf(request, info), unread);
    }
    const exchange = new FetchExchange(request, url, readerOf(request, info), unread);
    exchanges.add(exchange);
    void requests.handle(exchange).then(() => exchanges.delete(exchange));
    return exchange.response;
  };
}

function readerOf({ method }: Request, info: RequestInfo): BodyReader {
  return {
    method,
    peer: info.remoteAddr.hostname ?? "",
    get completed() {
      return info.completed;
    },
  };
}

/** Answers with a file or procedures. Their answers, too, are limited while their clients do not read them. */
async function answerWeb(
  { web }: Served,
  request: Request,
  reader: BodyReader,
  unread: UnreadBodies,
): Promise<Response> {
  const response = await web(request, reader.peer, (bytes) => unread.sharedBody(bytes, reader));
  // Other answers are files, which are limited, or streams.
  if (response.headers.get("content-type")?.startsWith("application/json") !== true) return response;
  if (response.headers.has("content-length") || response.body === null) return response;
  return unread.response(new Uint8Array(await response.arrayBuffer()), response, reader);
}

/**
 * The URL of a request; `null` if its target and host are none. Deno would write that error to standard error, with the whole target. It also joins
 * host and target as they are, so that a host with a path would lead to another resource than the one that proxies have seen.
 */
function urlOf({ url, headers }: Request): URL | null {
  if (BEYOND_HOST.test(headers.get("host") ?? "")) return null;
  try {
    return new URL(url);
  } catch {
    return null;
  }
}

function open(
  handler: Handler,
  { host, sharesPort }: ListenerOptions,
  port: number,
  tls: TlsPair | null,
): Opened {
  const secure = tls === null ? {} : { cert: tls.cert, key: tls.key };
  const server = denoNamespace().serve(
    { hostname: host, port, reusePort: sharesPort, onListen: () => {}, ...secure },
    handler,
  );
  let closed: Promise<void> | null = null;
  return {
    port: server.addr.port,
    shutdown: () => {
      closed ??= server.shutdown();
      return closed;
    },
  };
}

/** Opens a server as soon as its port is free. @throws the last error when it is not free in time. */
async function reopen(attempt: () => Opened): Promise<Opened> {
  const deadlineMs = performance.now() + REOPEN_TIMEOUT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await setTimeout(REOPEN_PAUSE_MS);
    }
  }
}

function denoNamespace(): DenoNamespace {
  return (globalThis as unknown as { Deno: DenoNamespace }).Deno;
}
