import cluster from "node:cluster";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, Server as SecureServer } from "node:https";
import { getRequestListener } from "@hono/node-server";
import { Failure } from "../errors/failure.ts";
import { READER_TIMEOUT_MS } from "../request/exchange.ts";
import { Acceptors, BACKLOG } from "./acceptors.ts";
import { KEEP_ALIVE_MS } from "./answer-head.ts";
import { answerOn, ClientConnections, type ClientSocket } from "./client-connections.ts";
import { EarlyRefusals } from "./early-refusals.ts";
import { isApiPath, type Listener, type ListenerOptions, type Served } from "./listener.ts";
import { NodeExchange, pathOf, valuesOf } from "./node-exchange.ts";
import { answerRefusals, refuse } from "./node-refusals.ts";
import { handleInTurn } from "./pipelined-requests.ts";
import { invalidTargetAnswer } from "./refusal.ts";
import { RestingConnections } from "./resting-connections.ts";
import type { TlsPair } from "./tls-pair.ts";
import { UnreadAnswers } from "./unread-answers.ts";

/** The maximum number of headers of a request. Node limits their bytes as well. */
const MAX_HEADERS = 1_000;
/** How long the rest of a refused body is read and dropped, so that the client sees the answer. */
const LINGER_MS = 10_000;
/**
 * How long a connection stays open after an answer that ended while the server was being stopped, and whose head had promised to keep it
 * open. A proxy sends its next request on the connection that it used last: closed at once, that request would be lost.
 */
const KEPT_WHEN_STOPPING_MS = 500;
/** How long a client may take to negotiate TLS. */
const TLS_OPTIONS = { handshakeTimeout: 10_000 };
const SERVER_OPTIONS = {
  noDelay: true,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // From a connection's opening, or the first byte of its next request, to the end of the request's head.
  headersTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  // The receiver of a body enforces its minimum rate, so a large body may take long.
  requestTimeout: 0,
  // Node's own refusal has no body.
  requireHostHeader: false,
};

/** Serves on `node:http`. Rejects with the system's error when the address can't be listened on. */
export async function serveOnNode(served: Served, options: ListenerOptions): Promise<Listener> {
  const resting = new RestingConnections(() => served.requests?.readableInTurn() ?? Number.POSITIVE_INFINITY);
  const early = served.requests === null ? null : new EarlyRefusals(served.requests, resting);
  const route = routerOf(served, resting, () => early?.takeAdmitted() === true);
  let retiring = false;
  let closing = false;
  // All responses share this function, because it finds the response in `this`.
  function answered(this: ServerResponse): void {
    const isKept = retiring && this.shouldKeepAlive;
    connections.end(this.req.socket, isKept ? KEPT_WHEN_STOPPING_MS : 0);
    if (!this.req.complete) linger(this.req);
    // A connection that becomes idle after the listener was closed is one that `close` did not find.
    if (closing && isKept) closeKept();
    else if (closing) setImmediate(() => server.closeIdleConnections());
  }
  let keptTimer: NodeJS.Timeout | null = null;
  const closeKept = () => {
    if (keptTimer !== null) return;
    keptTimer = setTimeout(() => {
      keptTimer = null;
      if (connections.closeAnswered(closeIdle) > 0) closeKept();
    }, KEPT_WHEN_STOPPING_MS).unref();
  };
  const handle = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) => {
    const { socket } = request;
    connections.begin(socket);
    if (retiring) response.shouldKeepAlive = false;
    // Here and below, `on` listens to events that occur once, because `once` would create two more functions.
    response.on("close", answered);
    if (response.socket !== null) route(request, response, awaitsContinue);
    else handleInTurn(socket, response, () => route(request, response, awaitsContinue));
  };
  const server = openServer(options.tls, (request, response) => handle(request, response, false));
  server.maxHeadersCount = MAX_HEADERS;
  // After this long without activity Node looks whether more of a pending answer was read since; if not, the next time counts.
  server.timeout = READER_TIMEOUT_MS;
  server.on("timeout", endUnread);
  const connections = new ClientConnections(server, options.maxConnections);
  new UnreadAnswers(server, options.maxUnreadBytes);
  const closeIdle = server.closeIdleConnections.bind(server);
  // `close` of the server calls it, too.
  server.closeIdleConnections = () => void connections.closeAnswered(closeIdle);
  early?.watch(server);
  server.on("checkContinue", (request, response) => handle(request, response, true));
  answerRefusals(server, served.newRequestId, (request) => isExchanged(served, request));
  const acceptors = new Acceptors(server, options.maxConnections);
  await listening(server, options);
  // A connection that can't be accepted, because the system lacks descriptors or memory, does not affect the others.
  server.on("error", () => {});
  // Connections of a worker are accepted by the process that has started it.
  if (!cluster.isWorker) acceptors.allow();
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new Error("the server does not listen on a port");
  return {
    port: address.port,
    retire: () => {
      retiring = true;
      early?.stop();
    },
    renew: async (pair) => {
      if (server instanceof SecureServer) server.setSecureContext(contextOf(pair));
    },
    close: (cut) => {
      closing = true;
      early?.stop();
      const closed = close(server, acceptors, cut);
      closeKept();
      connections.closeUnused();
      return closed;
    },
  };
}

/** HTTP/1.1, with TLS too: HTTP/2 would need an exchange of its own, as this one writes HTTP/1.1's frames by itself. */
function openServer(tls: TlsPair | null, handle: RequestListener): Server | SecureServer {
  if (tls === null) return createServer(SERVER_OPTIONS, handle);
  return createSecureServer({ ...SERVER_OPTIONS, ...TLS_OPTIONS, ...contextOf(tls) }, handle);
}

function contextOf({ cert, key }: TlsPair) {
  return { cert, key, minVersion: "TLSv1.2" } as const;
}

/**
 * Closes a connection on which nothing was sent or received for a time, if its client does not read an answer, or has sent no request. A request that
 * is not answered yet has other time limits.
 */
function endUnread(socket: ClientSocket): void {
  if (answerOn(socket) === null || socket.writableLength > 0) socket.destroy();
}

/** Hands each request to the part that answers it. */
function routerOf(served: Served, resting: RestingConnections, takeAdmitted: () => boolean) {
  const web = getRequestListener(
    (request, env) => {
      const incoming = "incoming" in env ? env.incoming : null;
      return served.web(request, incoming?.socket?.remoteAddress ?? "");
    },
    {
      overrideGlobalObjects: false,
      hostname: "localhost",
      // Called for a request that can't be read. `served.web` never rejects.
      errorHandler: () => invalidTargetAnswer(served.newRequestId()),
    },
  );
  return (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    const isAdmitted = takeAdmitted();
    // Node drops the headers beyond its maximum, such as an address that a proxy has added at the end.
    if (request.rawHeaders.length >= 2 * MAX_HEADERS) {
      const message = `The request has ${MAX_HEADERS} headers or more. Send fewer.`;
      refuse(response, new Failure("headers_too_large", message), served.newRequestId());
      return;
    }
    const hosts = valuesOf(request.rawHeaders, "host").length;
    // RFC 9112, section 3.2.
    if (hosts > 1 || (hosts === 0 && request.httpVersion === "1.1")) {
      const message =
        hosts > 1
          ? "The request has more than one `Host` header. Send it once."
          : "The request has no `Host` header, which HTTP/1.1 requires. Add it.";
      refuse(response, new Failure("invalid_request", message), served.newRequestId());
      return;
    }
    const target = originForm(request.url ?? "/");
    request.url = target;
    if (served.requests !== null && isExchanged(served, request)) {
      const exchange = new NodeExchange(request, response, awaitsContinue, resting);
      void (isAdmitted ? served.requests.handleAdmitted(exchange) : served.requests.handle(exchange));
      return;
    }
    if (awaitsContinue) response.writeContinue();
    void web(request, response);
  };
}

/** Whether {@link Served.requests} answer a request, and not {@link Served.web}. */
function isExchanged({ requests }: Served, { url = "/", headers }: IncomingMessage): boolean {
  return requests !== null && isApiPath(requests, pathOf(url), () => headers.accept);
}

/** The target of a request that went through a proxy has the scheme and host too (RFC 9112, section 3.2.2). */
function originForm(target: string): string {
  if (target.startsWith("/")) return target;
  const origin = /^https?:\/\/[^/?#]*/i.exec(target)?.[0];
  if (origin === undefined) return target;
  const rest = target.slice(origin.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** Closes the connection of a request that was answered before its body arrived, unless the rest arrives soon. */
function linger(request: IncomingMessage): void {
  const { socket } = request;
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  const cancel = () => clearTimeout(timer);
  request.once("end", cancel).once("close", cancel);
}

function listening(server: Server | SecureServer, { host, port }: ListenerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function close(
  server: Server | SecureServer,
  acceptors: Acceptors,
  cut: Promise<unknown>,
): Promise<void> {
  void cut.then(() => server.closeAllConnections());
  const accepted = acceptors.close();
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  await Promise.all([accepted, closed]);
}
