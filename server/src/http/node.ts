import cluster from "node:cluster";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, Server as SecureServer } from "node:https";
import { setImmediate } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { Failure } from "../errors/failure.ts";
import { READER_TIMEOUT_MS } from "../request/exchange.ts";
import { Acceptors, BACKLOG } from "./acceptors.ts";
import { AnswerHeads } from "./answer-head.ts";
import { answerOn, ClientConnections, type ClientSocket } from "./client-connections.ts";
import { EarlyRefusals } from "./early-refusals.ts";
import { asksForUpgrade, onDroppedRequests } from "./ignored-upgrades.ts";
import { isApiPath, type Listener, type ListenerOptions, type Served } from "./listener.ts";
import { invalidTargetAnswer } from "./listener-refusal.ts";
import { closeAfterBody, type ListenerParts, NodeExchange, pathOf, valuesOf } from "./node-exchange.ts";
import { answerRefusals, endAfterAnswers, refuse } from "./node-refusals.ts";
import { handleInTurn } from "./pipelined-requests.ts";
import { RestingConnections } from "./resting-connections.ts";
import type { TlsPair } from "./tls-pair.ts";
import { UnreadAnswers } from "./unread-answers.ts";

/** The maximum number of headers of a request. Node limits their bytes as well. */
const MAX_HEADERS = 1_000;
/** How long the rest of a refused body is read and dropped, so that the client sees the answer. */
const LINGER_MS = 10_000;
/**
 * How long a connection stays open after an answer that ended during shutdown, if the head of the answer had promised to keep the connection open. A
 * proxy sends its next request on the connection that it used last, and would lose that request if the connection were closed at once. A connection
 * without a request so far stays open this long after the listener was closed, because its client may be about to send one.
 */
const KEPT_WHEN_STOPPING_MS = 500;
/** In a turn of the event loop that is no longer than this, hardly anything comes unnoticed. */
const SHORT_TURN_MS = 1;
/** How long a client may take to negotiate TLS. */
const TLS_OPTIONS = { handshakeTimeout: 10_000 };
const SERVER_OPTIONS = {
  noDelay: true,
  // From a connection's opening, or the first byte of its next request, to the end of the request's head.
  headersTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  // The receiver of a body enforces its minimum rate, so a large body may take long.
  requestTimeout: 0,
  // Node's own refusal has no body.
  requireHostHeader: false,
};

type Address = Pick<ListenerOptions, "host" | "port">;

/** Serves on `node:http`. Rejects with the system's error when the address can't be listened on. */
export async function serveOnNode(served: Served, options: ListenerOptions): Promise<Listener> {
  const listener = new NodeListener(served, options);
  await listener.listen(options);
  return listener;
}

/** A server on `node:http`, which {@link listen} begins, and its connections until they are closed. */
class NodeListener implements Listener {
  readonly #server: Server | SecureServer;
  readonly #connections: ClientConnections;
  readonly #acceptors: Acceptors;
  /** `null` on a port without the API. */
  readonly #early: EarlyRefusals | null;
  readonly #dispatch: Dispatch;
  /** Listens to the end of each response. All responses share it, because it finds the response in `this`. */
  readonly #onEnd: (this: ServerResponse) => void;
  /** Node's function for the connections without a request. {@link ClientConnections.closeAnswered} calls it. */
  readonly #closeIdle: () => void;
  #port = 0;
  #isRetiring = false;
  #isClosing = false;
  #keptTimer: NodeJS.Timeout | null = null;

  constructor(served: Served, { tls, maxConnections, maxUnreadBytes, keepAliveS }: ListenerOptions) {
    const { requests, newRequestId } = served;
    const resting = new RestingConnections(() => requests?.readableInTurn() ?? Number.POSITIVE_INFINITY);
    const parts = { resting, heads: new AnswerHeads(keepAliveS) };
    const early = requests === null ? null : new EarlyRefusals(requests, parts);
    this.#early = early;
    this.#dispatch = dispatcherOf(served, parts, () => early?.takeAccepted() === true);
    const listener = this;
    this.#onEnd = function () {
      listener.#endRequest(this);
    };
    const server = openServer(tls, (request, response) => this.#handle(request, response, false));
    this.#server = server;
    server.keepAliveTimeout = parts.heads.keepAliveMs;
    server.maxHeadersCount = MAX_HEADERS;
    // After this long without activity Node looks whether more of a pending answer was read since; if not, the next time counts.
    server.timeout = READER_TIMEOUT_MS;
    server.on("timeout", endUnread);
    this.#connections = new ClientConnections(server, maxConnections);
    new UnreadAnswers(server, maxUnreadBytes);
    this.#closeIdle = server.closeIdleConnections.bind(server);
    // `close` of the server calls it, too, before it closes the listener: connections that came meanwhile would be reset.
    server.closeIdleConnections = () => {
      if (this.#isClosing) this.#connections.closeAnswered(this.#closeIdle);
    };
    early?.watch(server);
    server.on("checkContinue", (request, response) => this.#handle(request, response, true));
    answerRefusals(server, newRequestId, (request) => isExchanged(served, request));
    this.#acceptors = new Acceptors(server, maxConnections);
  }

  get port(): number {
    return this.#port;
  }

  /** Begins to listen. Call it once. */
  async listen(address: Address): Promise<void> {
    const server = this.#server;
    await listening(server, address);
    // A connection that can't be accepted, because the system lacks descriptors or memory, does not affect the others.
    server.on("error", () => {});
    // Connections of a worker are accepted by the process that has started it.
    if (!cluster.isWorker) this.#acceptors.allow();
    const bound = server.address();
    if (bound === null || typeof bound === "string") throw new Error("the server does not listen on a port");
    this.#port = bound.port;
  }

  retire(): void {
    this.#isRetiring = true;
    this.#early?.stop();
  }

  async renew(pair: TlsPair): Promise<void> {
    if (this.#server instanceof SecureServer) this.#server.setSecureContext(contextOf(pair));
  }

  async close(cut: Promise<unknown>): Promise<void> {
    const server = this.#server;
    this.#early?.stop();
    void cut.then(() => server.closeAllConnections());
    await this.#takeArrived();
    // Closing hundreds of handles takes a while, in which connections come.
    await this.#acceptors.stop();
    await this.#takeArrived();
    const closed = new Promise((resolve) => server.close(resolve));
    this.#isClosing = true;
    server.closeIdleConnections();
    this.#closeKept();
    await Promise.all([this.#acceptors.ended(), closed]);
  }

  /**
   * Resolves at the end of a turn of the event loop in which no connection came, when all that had come before is accepted and read. The system resets
   * connections that are not accepted when a listener is closed, and those that are closed with unread bytes: their requests would be lost. What came
   * during a long turn, after the system was asked, is not known at its end.
   */
  async #takeArrived(): Promise<void> {
    // The rest of the present turn may not look for what has arrived.
    await setImmediate();
    const endMs = performance.now() + KEPT_WHEN_STOPPING_MS;
    let hasCome = true;
    const onConnection = () => {
      hasCome = true;
    };
    this.#server.on("connection", onConnection);
    let isLong = false;
    for (let nowMs = performance.now(); (hasCome || isLong) && nowMs < endMs; ) {
      hasCome = false;
      await setImmediate();
      const beganMs = nowMs;
      nowMs = performance.now();
      isLong = nowMs - beganMs > SHORT_TURN_MS;
    }
    this.#server.off("connection", onConnection);
  }

  #handle(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const { socket } = request;
    this.#connections.begin(socket);
    if (this.#isRetiring) response.shouldKeepAlive = false;
    // `on` listens to an event that occurs once, because `once` would create two more functions.
    response.on("close", this.#onEnd);
    const isUpgrade = asksForUpgrade(request);
    if (!isUpgrade && response.socket !== null) {
      this.#dispatch(request, response, awaitsContinue);
      return;
    }
    const dispatch = () => this.#dispatch(request, response, awaitsContinue);
    if (isUpgrade) endBeforeDropped(request, response);
    if (response.socket === null) handleInTurn(socket, response, dispatch);
    else void setImmediate().then(() => response.destroyed || dispatch());
  }

  #endRequest({ req: request, shouldKeepAlive }: ServerResponse): void {
    const isKept = this.#isRetiring && shouldKeepAlive;
    this.#connections.end(request.socket, isKept ? KEPT_WHEN_STOPPING_MS : 0);
    if (!request.complete) linger(request);
    if (!this.#isClosing) return;
    // A connection that becomes idle after the listener was closed is one that `close` did not find.
    if (isKept) this.#closeKept();
    else void setImmediate().then(() => this.#server.closeIdleConnections());
  }

  /** Closes the connections that were kept for a proxy's next request, or were opened for its first, when that has had time to come. */
  #closeKept(): void {
    if (this.#keptTimer !== null) return;
    this.#keptTimer = setTimeout(async () => {
      // After a long turn the timer is called before the requests that came meanwhile are read.
      await this.#takeArrived();
      this.#keptTimer = null;
      this.#connections.closeUnused();
      if (this.#connections.closeAnswered(this.#closeIdle) > 0) this.#closeKept();
    }, KEPT_WHEN_STOPPING_MS).unref();
  }
}

/**
 * Makes a request's answer the last one of its connection if Node drops what came behind the request. That is known after the present turn of the event
 * loop, or when the request's body has arrived.
 */
function endBeforeDropped(request: IncomingMessage, response: ServerResponse): void {
  onDroppedRequests(request, () => {
    if (!response.headersSent) response.shouldKeepAlive = false;
    endAfterAnswers(request.socket);
  });
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

/** Answers a request. `awaitsContinue`: the client sends the body after `100 Continue`. */
type Dispatch = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) => void;

/** Hands each request to the part that answers it. */
function dispatcherOf(served: Served, parts: ListenerParts, takeAccepted: () => boolean): Dispatch {
  const web = getRequestListener(
    (request, env) => {
      // The adapter parses no host that looks like one, such as `256.1.1.1` or `xn--a`, which no URL can have.
      if (!URL.canParse(request.url)) return invalidTargetAnswer(served.newRequestId());
      const incoming = "incoming" in env ? env.incoming : null;
      return served.web(request, incoming?.socket?.remoteAddress ?? "");
    },
    {
      overrideGlobalObjects: false,
      hostname: "localhost",
      // Called for a request that can't be read. `served.web` never rejects.
      errorHandler: () => invalidTargetAnswer(served.newRequestId()),
      // The adapter would soon close the connection of a request whose body was not read, and the system would reset it.
      autoCleanupIncoming: false,
    },
  );
  return (request, response, awaitsContinue) => {
    const isAccepted = takeAccepted();
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
    if (isFramedByOtherVersion(request)) response.shouldKeepAlive = false;
    const target = originForm(request.url ?? "/");
    request.url = target;
    if (served.requests !== null && isExchanged(served, request)) {
      const exchange = new NodeExchange(request, response, awaitsContinue, parts);
      void (isAccepted ? served.requests.handleAccepted(exchange) : served.requests.handle(exchange));
      return;
    }
    if (awaitsContinue) response.writeContinue();
    dropUnreadBody(request, response);
    void web(request, response);
  };
}

/**
 * Whether a request has `Transfer-Encoding`, which its version of HTTP does not know. A proxy in front may have found another end of the request, and may
 * take what follows for a part of it, so the connection must not serve a further request (RFC 9112, section 6.1).
 */
function isFramedByOtherVersion({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  return httpVersion !== "1.1" && valuesOf(rawHeaders, "transfer-encoding").length > 0;
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

/** Lets the client of a request see the answer, and use the connection again, when the answer did not need the whole body. */
function dropUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  response.on("prefinish", () => {
    if (!request.complete) closeAfterBody(request, true);
  });
  // What has read the body may have paused it.
  response.on("close", () => void request.removeAllListeners("data").resume());
}

/** Closes the connection of a request that was answered before its body arrived, unless the rest arrives soon. */
function linger(request: IncomingMessage): void {
  const { socket } = request;
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  const cancel = () => clearTimeout(timer);
  request.once("end", cancel).once("close", cancel);
}

function listening(server: Server | SecureServer, { host, port }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
