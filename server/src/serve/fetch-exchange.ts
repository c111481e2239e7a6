import { type BodySink, type Exchange, READER_PATIENCE_MS, type ResponseHeaders } from "../edge/exchange.ts";
import { inTime } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";

/** An exchange on web-standard `Request` and `Response`: Deno, Bun. */
export class FetchExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly peer: string;
  isClientGone = false;
  #clientGone: () => void = () => {};
  /** Resolves when the answer's head is known. */
  readonly response: Promise<Response>;
  readonly #request: Request;
  readonly #resolve: (response: Response) => void;

  constructor(request: Request, peer: string) {
    const url = new URL(request.url);
    this.method = request.method;
    this.path = url.pathname;
    this.query = url.searchParams;
    this.peer = peer;
    this.#request = request;
    let resolve: (response: Response) => void = () => {};
    this.response = new Promise((settle) => {
      resolve = settle;
    });
    this.#resolve = resolve;
    // Deno aborts the request's signal after successful answers too. By then nobody listens to ours any more.
    request.signal.addEventListener("abort", () => this.#gone(), { once: true });
  }

  onClientGone(listener: () => void): void {
    this.#clientGone = listener;
  }

  header(name: string): readonly string[] {
    // `Headers` joins repeated ones with a comma, which no valid Authorization holds.
    const value = this.#request.headers.get(name);
    return value === null ? [] : [value];
  }

  async readBody(maxBytes: number): Promise<Uint8Array> {
    const declared = Number(this.#request.headers.get("content-length") ?? 0);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of this.#request.body ?? []) {
        bytes += chunk.length;
        if (bytes > maxBytes || declared > maxBytes) break;
        chunks.push(chunk);
      }
    } catch (cause) {
      throw new Failure("request_timeout", "The request's body did not arrive whole. Send it again.", {
        cause,
      });
    }
    if (bytes > maxBytes || declared > maxBytes) {
      throw new Failure("request_too_large", `The body exceeds ${maxBytes} bytes. Send less.`);
    }
    const body = new Uint8Array(bytes);
    let offset = 0;
    for (const chunk of chunks) {
      body.set(chunk, offset);
      offset += chunk.length;
    }
    return body;
  }

  async respond(status: number, headers: ResponseHeaders, body: string | Uint8Array): Promise<void> {
    const content = typeof body === "string" ? body : new Uint8Array(body);
    this.#resolve(new Response(content, { status, headers }));
  }

  stream(status: number, headers: ResponseHeaders): BodySink {
    const passage = new TransformStream<Uint8Array, Uint8Array>();
    const writer = passage.writable.getWriter();
    // The reading side's cancellation is how a client's leaving shows on a stream.
    writer.closed.catch(() => this.#gone());
    this.#resolve(new Response(passage.readable, { status, headers }));
    return {
      write: async (chunk) => {
        if (!(await isReady(writer))) await writer.abort(new Error("nobody reads")).catch(() => {});
        // After the client has gone writes are dropped: `closed` above has told.
        await writer.write(typeof chunk === "string" ? encoder.encode(chunk) : chunk).catch(() => {});
      },
      end: async () => {
        await writer.close().catch(() => {});
      },
      abort: () => {
        void writer.abort(new Error("the answer was broken off")).catch(() => {});
      },
    };
  }

  #gone(): void {
    if (this.isClientGone) return;
    this.isClientGone = true;
    this.#clientGone();
  }
}

const encoder = new TextEncoder();

/** Whether the client takes more, in time. One that has gone takes all, and it is dropped. */
async function isReady(writer: WritableStreamDefaultWriter<Uint8Array>): Promise<boolean> {
  const ready = writer.ready.then(
    () => true,
    () => true,
  );
  return (await inTime(READER_PATIENCE_MS, ready)) !== null;
}
