import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type BodySink, type Exchange, READER_PATIENCE_MS, type ResponseHeaders } from "../edge/exchange.ts";
import { Failure } from "../errors/failure.ts";

/** How much of a body that is too large is still read, so that the client sees the answer and keeps its connection. */
const DRAIN_BYTES = 64 * 1024 * 1024;

/** An exchange on `node:http`. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly peer: string;
  isClientGone = false;
  #clientGone: () => void = () => {};
  readonly #question: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    const target = request.url ?? "/";
    const question = target.indexOf("?");
    this.method = request.method ?? "GET";
    this.path = question === -1 ? target : target.slice(0, question);
    this.#question = question === -1 ? "" : target.slice(question + 1);
    this.peer = request.socket.remoteAddress ?? "";
    this.#request = request;
    this.#response = response;
    response.on("close", () => {
      if (response.writableFinished) return;
      this.isClientGone = true;
      this.#clientGone();
    });
  }

  onClientGone(listener: () => void): void {
    this.#clientGone = listener;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#question);
  }

  header(name: string): readonly string[] {
    // Not `headers`: of several Authorization headers it keeps the first and hides the rest. Nor `headersDistinct`, which makes
    // arrays of all of them.
    const { rawHeaders } = this.#request;
    let values = NO_VALUES;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const candidate = rawHeaders[index] ?? "";
      if (candidate.length !== name.length || candidate.toLowerCase() !== name) continue;
      const value = rawHeaders[index + 1] ?? "";
      values = values.length === 0 ? [value] : [...values, value];
    }
    return values;
  }

  readBody(maxBytes: number): Promise<Uint8Array> {
    const declared = Number(this.header("content-length")[0] ?? 0);
    if (declared > maxBytes) return this.#tooLarge(maxBytes, declared <= DRAIN_BYTES);
    const request = this.#request;
    return new Promise((resolve, reject) => {
      // The listeners stay: to take them off takes longer than all else here. What they hold on to does not, as a stream may be
      // open for long after its request was read.
      let reading: Reading | null = { chunks: [], resolve, reject };
      let bytes = 0;
      const done = () => {
        if (bytes > maxBytes) reading?.resolve(this.#tooLarge(maxBytes, bytes <= DRAIN_BYTES));
        else reading?.resolve(whole(reading.chunks));
        reading = null;
      };
      const broken = (cause?: unknown) => {
        const message = "The request's body did not arrive whole. Send it again.";
        reading?.reject(new Failure("request_timeout", message, { cause }));
        reading = null;
      };
      // By events: to iterate over a request costs several times as much as the rest of this.
      request.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) reading?.chunks.push(chunk);
        else if (bytes > DRAIN_BYTES) done();
      });
      request.on("end", done);
      request.on("close", broken);
      request.on("error", broken);
      // What happened before somebody listened is not told again.
      if (request.destroyed) broken();
    });
  }

  async respond(status: number, headers: ResponseHeaders, body: string | Uint8Array): Promise<void> {
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    this.#response.writeHead(status, { ...headers, "content-length": bytes });
    // Text goes out with the head, in one piece.
    this.#response.end(this.method === "HEAD" ? undefined : body);
  }

  stream(status: number, headers: ResponseHeaders): BodySink {
    const response = this.#response;
    response.writeHead(status, headers);
    let isBegun = false;
    // By then what comes at once is there, and the head has gone out in one piece with it.
    process.nextTick(() => {
      if (!isBegun) response.flushHeaders();
    });
    return {
      write: async (chunk) => {
        isBegun = true;
        if (response.destroyed || writeChunk(response, chunk)) return;
        if (!(await drained(response))) response.destroy();
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

  /** Reads on where that is affordable; otherwise the connection can't be used again. */
  async #tooLarge(maxBytes: number, drain: boolean): Promise<never> {
    if (drain) {
      this.#request.resume();
      if (!this.#request.readableEnded) {
        await Promise.race([once(this.#request, "end"), once(this.#request, "close")]);
      }
    }
    throw new Failure("request_too_large", `The body exceeds ${maxBytes} bytes. Send less.`, {
      headers: drain ? {} : { connection: "close" },
    });
  }
}

const NO_VALUES: readonly string[] = [];

interface Reading {
  readonly chunks: Buffer[];
  readonly resolve: (body: Uint8Array | Promise<never>) => void;
  readonly reject: (failure: Failure) => void;
}

function whole(chunks: readonly Buffer[]): Uint8Array {
  const [first] = chunks;
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
}

/**
 * Text in one piece with its frame (RFC 9112, section 7.1), and with the head where that has not gone out: Node itself hands a
 * chunk to the socket in four pieces, which costs several times as much.
 */
function writeChunk(response: ServerResponse, chunk: string | Uint8Array): boolean {
  // An empty chunk would be the last; a client of HTTP/1.0 is sent none.
  if (typeof chunk !== "string" || chunk === "" || !response.chunkedEncoding) return response.write(chunk);
  response.chunkedEncoding = false;
  try {
    return response.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`);
  } finally {
    response.chunkedEncoding = true;
  }
}

/** Whether more may be written, in time. `close` comes instead of `drain` when the client has gone. */
function drained(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const decide = (isDrained: boolean) => {
      clearTimeout(timer);
      response.off("drain", done);
      response.off("close", done);
      resolve(isDrained);
    };
    const done = () => decide(true);
    const timer = setTimeout(decide, READER_PATIENCE_MS, false);
    response.on("drain", done);
    response.on("close", done);
  });
}
