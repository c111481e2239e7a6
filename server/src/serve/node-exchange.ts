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
  readonly query: URLSearchParams;
  readonly peer: string;
  readonly clientGone: AbortSignal;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    const target = request.url ?? "/";
    const question = target.indexOf("?");
    this.method = request.method ?? "GET";
    this.path = question === -1 ? target : target.slice(0, question);
    this.query = new URLSearchParams(question === -1 ? "" : target.slice(question + 1));
    this.peer = request.socket.remoteAddress ?? "";
    this.#request = request;
    this.#response = response;
    const gone = new AbortController();
    this.clientGone = gone.signal;
    response.once("close", () => {
      if (!response.writableFinished) gone.abort();
    });
  }

  header(name: string): readonly string[] {
    // Not `headers`: of several Authorization headers it keeps the first and hides the rest.
    return this.#request.headersDistinct[name] ?? [];
  }

  async readBody(maxBytes: number): Promise<Uint8Array> {
    const declared = Number(this.#request.headers["content-length"] ?? 0);
    if (declared > maxBytes) throw await this.#tooLarge(maxBytes, declared <= DRAIN_BYTES);
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of this.#request) {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else if (bytes > DRAIN_BYTES) throw await this.#tooLarge(maxBytes, false);
      }
    } catch (error) {
      if (error instanceof Failure) throw error;
      throw new Failure("request_timeout", "The request's body did not arrive whole. Send it again.", {
        cause: error,
      });
    }
    if (bytes > maxBytes) throw await this.#tooLarge(maxBytes, true);
    return Buffer.concat(chunks);
  }

  async respond(status: number, headers: ResponseHeaders, body: string | Uint8Array): Promise<void> {
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    this.#response.writeHead(status, { ...headers, "content-length": bytes.length });
    this.#response.end(this.method === "HEAD" ? undefined : bytes);
  }

  stream(status: number, headers: ResponseHeaders): BodySink {
    const response = this.#response;
    response.writeHead(status, headers);
    response.flushHeaders();
    return {
      write: async (chunk) => {
        if (response.destroyed || response.write(chunk)) return;
        if (!(await drained(response))) response.destroy();
      },
      end: async () => {
        response.end();
      },
      abort: () => {
        response.destroy();
      },
    };
  }

  /** Reads on where that is affordable; otherwise the connection can't be used again. */
  async #tooLarge(maxBytes: number, drain: boolean): Promise<Failure> {
    if (drain) {
      this.#request.resume();
      if (!this.#request.readableEnded) {
        await Promise.race([once(this.#request, "end"), once(this.#request, "close")]);
      }
    }
    return new Failure("request_too_large", `The body exceeds ${maxBytes} bytes. Send less.`, {
      headers: drain ? {} : { connection: "close" },
    });
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
