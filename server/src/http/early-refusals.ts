import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import { declaredBytesOf } from "../admission/incoming-body.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import type { RefusableExchange } from "../request/exchange.ts";
import type { RequestHandler } from "../request/request-handler.ts";
import { answerOn, type ClientSocket } from "./client-connections.ts";
import { type ListenerParts, pathOf, valuesOf } from "./node-exchange.ts";
import type { ReadSocket } from "./paused-reading.ts";

/** What Node's HTTP server keeps of a connection and of the parser that reads it is not public. */
type ServerSocket = ClientSocket &
  ReadSocket & { readonly parser?: Parser | null; [REFUSALS]?: EarlyRefusals };

interface Parser {
  readonly socket?: ServerSocket | null;
  incoming: unknown;
  resume(): void;
  [callback: number]: unknown;
}

/** Called with a request's head: its version, headers (names and values in turns), method and target, and about its connection. */
type OnHead = (
  this: Parser,
  major: number,
  minor: number,
  headers: readonly string[] | undefined,
  method: number,
  target: string,
  status: undefined,
  statusMessage: undefined,
  isUpgrade: boolean,
  isKeptAlive: boolean,
) => number;

const REFUSALS = Symbol("early refusals");
/** The index of the parser's callback for a head. */
const ON_HEAD = 2;
/** The parser's number of the method. */
const POST = 3;
/** What the callback returns for the body to be read. */
const READ_BODY = 0;
/** The body of an early refusal is dropped as it comes. For a longer one the connection is closed if it takes too long. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Node's own callback, which all of its parsers share, including those of other servers and clients of this process. */
let nodesOnHead: OnHead | null = null;

/**
 * Under overload, refuses requests as soon as their head is parsed: before Node makes the objects of a request and its answer, which take half of a
 * refusal. It refuses only ordinary requests: POST with a body of known length, on a connection that stays open and has no answer under way. Node
 * handles all others, and all requests if its parsers are not as expected.
 */
export class EarlyRefusals {
  readonly #requests: Pick<RequestHandler, "isOverloaded" | "refuseIfOverloaded">;
  readonly #parts: ListenerParts;
  #isAccepted = false;
  #isStopped = false;

  constructor(requests: Pick<RequestHandler, "isOverloaded" | "refuseIfOverloaded">, parts: ListenerParts) {
    this.#requests = requests;
    this.#parts = parts;
  }

  /** Refuses requests of the server's connections. Call it after the server has its own listeners. */
  watch(server: Server | SecureServer): void {
    // A connection that negotiates TLS is another socket, without a parser, until that is done.
    server.on("connection", (socket: ServerSocket) => this.#watchSocket(socket));
    server.on("secureConnection", (socket: ServerSocket) => this.#watchSocket(socket));
  }

  /** Stops refusing, because each further answer has to close its connection. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Whether the request that Node hands over at this moment was counted and accepted. Call it once for each request. */
  takeAccepted(): boolean {
    const isAccepted = this.#isAccepted;
    this.#isAccepted = false;
    return isAccepted;
  }

  #watchSocket(socket: ServerSocket): void {
    const { parser } = socket;
    if (parser == null) return;
    const own = parser[ON_HEAD];
    if (typeof own !== "function") return;
    if (own !== onHead) {
      if (own.name !== "parserOnHeadersComplete") return;
      nodesOnHead = own as OnHead;
      parser[ON_HEAD] = onHead;
    }
    socket[REFUSALS] = this;
  }

  /** Refuses a request if there are too many. Returns whether it was refused. */
  refuse(socket: ServerSocket, target: string, headers: readonly string[]): boolean {
    if (this.#isStopped || !this.#requests.isOverloaded) return false;
    if (!target.startsWith("/v1/") || !isSimple(socket, headers)) return false;
    const exchange = new EarlyExchange(socket, target, headers, this.#parts);
    const isRefused = this.#requests.refuseIfOverloaded(exchange);
    this.#isAccepted = !isRefused;
    return isRefused;
  }
}

const onHead: OnHead = function (major, minor, headers, method, target, status, message, isUpgrade, isKept) {
  const { socket } = this;
  const refusals = socket?.[REFUSALS];
  // `headers` is undefined if there are so many that Node's parser passes them on in parts.
  const isEligible = headers !== undefined && method === POST && minor === 1 && isKept && !isUpgrade;
  if (socket != null && refusals !== undefined && isEligible && refusals.refuse(socket, target, headers)) {
    // This was the connection's previous request. Without a request Node drops the body.
    this.incoming = null;
    return READ_BODY;
  }
  return (nodesOnHead as OnHead).call(
    this,
    major,
    minor,
    headers,
    method,
    target,
    status,
    message,
    isUpgrade,
    isKept,
  );
};

function isSimple(socket: ServerSocket, headers: readonly string[]): boolean {
  if (answerOn(socket) !== null || socket.writableLength > 0) return false;
  const [length, ...others] = valuesOf(headers, "content-length");
  const bytes = declaredBytesOf(length);
  if (bytes === null || others.length > 0 || bytes > MAX_BODY_BYTES) return false;
  return valuesOf(headers, "host").length === 1 && valuesOf(headers, "expect").length === 0;
}

/** A request whose head was read, and not its body. */
class EarlyExchange implements RefusableExchange {
  readonly method = "POST";
  readonly path: string;
  /** Measured: 12 of 29 µs. */
  readonly answerTimeFactor = 2.4;
  readonly #socket: ServerSocket;
  readonly #headers: readonly string[];
  readonly #parts: ListenerParts;

  constructor(socket: ServerSocket, target: string, headers: readonly string[], parts: ListenerParts) {
    this.path = pathOf(target);
    this.#socket = socket;
    this.#headers = headers;
    this.#parts = parts;
  }

  get peer(): string {
    return this.#socket.remoteAddress ?? "";
  }

  header(name: string): readonly string[] {
    return valuesOf(this.#headers, name);
  }

  letOthersGoFirst(): null {
    this.#parts.resting.rest(this.#socket);
    return null;
  }

  respond(status: number, headers: readonly ResponseHeaders[], body: string): void {
    const { heads } = this.#parts;
    const socket = this.#socket;
    socket.write(heads.wholeAnswer(status, headers, body), "latin1");
    // The connection stays open as long as the answer says. Node does this after the answers that it sends.
    if ((socket.timeout ?? 0) < heads.keepAliveMs) socket.setTimeout(heads.keepAliveMs);
  }

  abandon(): void {
    this.#socket.destroy();
  }
}
