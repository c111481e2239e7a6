import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { declaredBytesOf, type IncomingBody } from "../admission/incoming-body.ts";
import type { Failure } from "../errors/failure.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";
import { type BodySink, type Exchange, READER_TIMEOUT_MS } from "../request/exchange.ts";
import { type AnswerHeads, forgetHead } from "./answer-head.ts";
import { countsForAccount } from "./client-connections.ts";
import type { RestingConnections } from "./resting-connections.ts";

/** A client keeps its connection if its refused body is no longer than this. The rest of any refused body is read and dropped. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;
const NO_VALUES: readonly string[] = [];
const FAILURE = Symbol("why a body can't be read");
const REFUSED = Symbol("the last request of a connection that was answered before its body had arrived");

type ClosedSocket = Socket & { [REFUSED]?: { readonly request: IncomingMessage; readonly isShort: boolean } };
type FailedRequest = IncomingMessage & { [FAILURE]?: Failure };

/**
 * Ends the body of a request that an exchange handles, because it is not valid HTTP. The exchange answers, so that the request's entry has the
 * answer that its client gets. Nothing further is read from the connection, which is closed after the answer.
 */
export function failBody(response: ServerResponse, failure: Failure): void {
  const request: FailedRequest = response.req;
  request[FAILURE] = failure;
  response.shouldKeepAlive = false;
  // Before the body is received the request has no listeners, and without one the error would be thrown.
  if (request.listenerCount("error") > 0) request.emit("error", failure);
}

/** What the exchanges of a listener share. */
export interface ListenerParts {
  readonly resting: RestingConnections;
  readonly heads: AnswerHeads;
}

/** An exchange on `node:http`. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly peer: string;
  isClientGone = false;
  /** Measured: 34 of 95 µs. Most of it is what Node does for each request before it is handed over. */
  readonly answerTimeFactor = 2.8;
  readonly #query: string;
  readonly #request: FailedRequest;
  readonly #response: ServerResponse;
  /** Whether the client waits for `100 Continue`, and has not got it. */
  #awaitsContinue: boolean;
  readonly #parts: ListenerParts;

  /** `awaitsContinue`: the client sends the body after `100 Continue`. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    awaitsContinue: boolean,
    parts: ListenerParts,
  ) {
    const target = request.url ?? "/";
    this.method = request.method ?? "GET";
    this.path = pathOf(target);
    this.#query = target.slice(this.path.length + 1);
    this.peer = request.socket.remoteAddress ?? "";
    this.#request = request;
    this.#response = response;
    this.#awaitsContinue = awaitsContinue;
    this.#parts = parts;
  }

  onClientGone(listener: () => void): void {
    const response = this.#response;
    response.on("close", () => {
      if (response.writableFinished) return;
      this.isClientGone = true;
      listener();
    });
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query);
  }

  header(name: string): readonly string[] {
    // Not `headers`: of several Authorization headers it keeps the first and hides the rest. Nor `headersDistinct`, which makes
    // arrays of all of them.
    return valuesOf(this.#request.rawHeaders, name);
  }

  receive(body: IncomingBody): void {
    const request = this.#request;
    if (body.isOfAccount) countsForAccount(request.socket);
    const abort = (cause?: unknown) => body.abort(cause);
    // It uses events, because iterating over a request costs several times as much as the rest of this function. The listeners stay registered,
    // because removing them takes longer than everything else here. Once a body is over, it ignores what they pass on.
    request.on("data", (piece: Buffer) => body.add(piece));
    request.on("end", () => body.end());
    request.on("close", abort);
    request.on("error", abort);
    if (this.#awaitsContinue) this.#response.writeContinue();
    this.#awaitsContinue = false;
    // Events from before the listeners were registered are not repeated.
    if (request.destroyed || request[FAILURE] !== undefined) abort(request[FAILURE]);
  }

  letOthersGoFirst(): null {
    this.#parts.resting.rest(this.#request.socket);
    return null;
  }

  respond(status: number, headers: readonly ResponseHeaders[], body: string | Uint8Array): void {
    const isKept = this.#isWorthDraining();
    if (
      isKept &&
      typeof body === "string" &&
      this.#parts.heads.sendWhole(this.#response, status, headers, body)
    )
      return;
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const connection = isKept ? {} : { connection: "close" };
    const isReadable = !this.#request.complete && this.#request[FAILURE] === undefined;
    if (isReadable) closeAfterBody(this.#request, isKept);
    this.#response.writeHead(status, Object.assign({}, ...headers, { "content-length": bytes }, connection));
    // A text is sent together with the head, in one piece.
    this.#response.end(this.method === "HEAD" ? undefined : body);
  }

  stream(status: number, headers: readonly ResponseHeaders[]): BodySink {
    const response = this.#response;
    const hasOwnHead = this.#parts.heads.beginStream(response, status, headers);
    if (!hasOwnHead) response.writeHead(status, Object.assign({}, ...headers));
    if (!response.chunkedEncoding && this.method !== "HEAD") resetUnlessFinished(response);
    /** Whether the head, or the end, has been handed to Node. */
    let isBegun = false;
    const begun = () => {
      isBegun = true;
      if (hasOwnHead) forgetHead(response);
    };
    // A first chunk that is ready is written before the next tick, in one piece with the head.
    process.nextTick(() => {
      if (isBegun) return;
      response.flushHeaders();
      begun();
    });
    return {
      write: (chunk) => {
        if (response.destroyed) return null;
        const full = writeChunk(response, chunk, isBegun);
        if (!isBegun) begun();
        return full === null
          ? null
          : drained(full).then((isDrained) => void (isDrained || response.destroy()));
      },
      end: async () => {
        isBegun = true;
        response.end();
      },
      abort: () => {
        response.destroy();
      },
    };
  }

  abandon(): void {
    this.#response.destroy();
  }

  /** Returns whether the rest of the body is short enough to keep the connection after the answer. */
  #isWorthDraining(): boolean {
    if (this.#request.complete) return true;
    // A client that was not told to continue may never send the body: its next request would be taken for it.
    if (this.#awaitsContinue) return false;
    return (declaredBytesOf(this.header("content-length")[0]) ?? 0) <= MAX_DRAINED_BYTES;
  }
}

/**
 * Lets the rest of a body arrive before Node closes the connection, as the client or the answer has said. The system resets a connection that is
 * closed before all was read, and the client loses the answer.
 *
 * @param isShort Whether the client may send the rest. Otherwise it sees at once that the connection ends.
 */
export function closeAfterBody(request: IncomingMessage, isShort: boolean): void {
  const socket: ClosedSocket = request.socket;
  const isFirst = socket[REFUSED] === undefined;
  socket[REFUSED] = { request, isShort };
  // One function for all requests of the connection: one around the other they would keep every request, and overflow the stack.
  if (!isFirst) return;
  const close = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const last = socket[REFUSED];
    if (last === undefined || last.request.complete) {
      close();
      return;
    }
    if (!last.isShort) socket.end();
    // What reads the body may have paused it.
    last.request.removeAllListeners("data").once("end", close).resume();
  };
}

/**
 * The end of the connection is the end of a stream without chunks, which a client of HTTP/1.0 gets. The connection is therefore reset when a stream
 * is cut off, so that the client does not mistake it for a complete one.
 */
function resetUnlessFinished(response: ServerResponse): void {
  const { socket } = response.req;
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    socket.destroy = destroy;
    // TLS has an end of its own.
    return response.writableFinished || socket instanceof TLSSocket
      ? destroy(error)
      : socket.resetAndDestroy();
  };
}

/** The path of a request's target, without the query. */
export function pathOf(target: string): string {
  const queryStart = target.indexOf("?");
  return queryStart === -1 ? target : target.slice(0, queryStart);
}

/** Every value of a header, in order. `name` in lower case; `headers`: names and values in turns, as they were sent. */
export function valuesOf(headers: readonly string[], name: string): readonly string[] {
  let values = NO_VALUES;
  for (let index = 0; index < headers.length; index += 2) {
    const candidate = headers[index] ?? "";
    if (candidate.length !== name.length || candidate.toLowerCase() !== name) continue;
    const value = headers[index + 1] ?? "";
    values = values.length === 0 ? [value] : [...values, value];
  }
  return values;
}

/**
 * Text in one piece with its frame (RFC 9112, section 7.1): Node itself hands a chunk to the socket in four pieces, which costs several times
 * as much. Behind the head it goes to the socket at once, which Node would do at the end of the turn.
 *
 * Returns what is to drain before more is written; `null`: nothing.
 */
function writeChunk(
  response: ServerResponse,
  chunk: string | Uint8Array,
  isBegun: boolean,
): ServerResponse | Socket | null {
  // An empty chunk would be the last; a client of HTTP/1.0 is sent none.
  if (typeof chunk !== "string" || chunk === "" || !response.chunkedEncoding)
    return response.write(chunk) ? null : response;
  const bytes = Buffer.byteLength(chunk);
  const text = `${bytes.toString(16)}\r\n${chunk}\r\n`;
  const { socket } = response;
  // A response loses its socket when its client has gone.
  if (isBegun && socket !== null)
    return socket.write(text, bytes === chunk.length ? "latin1" : "utf8") ? null : socket;
  response.chunkedEncoding = false;
  try {
    return response.write(text) ? null : response;
  } finally {
    response.chunkedEncoding = true;
  }
}

/** Resolves with whether more may be written before the timeout. If the client has gone, `close` is emitted instead of `drain`. */
function drained(full: ServerResponse | Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const decide = (isDrained: boolean) => {
      clearTimeout(timer);
      full.off("drain", done);
      full.off("close", done);
      resolve(isDrained);
    };
    const timer = setTimeout(decide, READER_TIMEOUT_MS, false);
    const done = () => decide(true);
    full.on("drain", done);
    full.on("close", done);
  });
}
