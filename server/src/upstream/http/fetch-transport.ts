import type { RequestSignal } from "../request-signal.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../transport.ts";

/** Upstreams over HTTP on runtimes with a fast `fetch`: Deno and Bun. */
export class FetchTransport implements Transport {
  async send(request: TransportRequest): Promise<TransportResponse> {
    const deadline = new Deadline(request.signal);
    // `fetch` does not report when it has connected, so one deadline covers both.
    deadline.set(request.timeouts.connectMs + request.timeouts.firstByteMs);
    try {
      const response = await fetch(request.url, {
        method: request.method,
        headers: request.headers,
        body: request.body === null ? null : new Uint8Array(request.body),
        signal: deadline.signal,
        redirect: "manual",
      });
      deadline.clear();
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: readBody(response, deadline, request),
      };
    } catch (error) {
      deadline.end();
      throw toTransportError(error, deadline, request.signal, "connect");
    }
  }

  async close(): Promise<void> {}
}

async function* readBody(
  response: Response,
  deadline: Deadline,
  request: TransportRequest,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      deadline.set(request.timeouts.idleMs);
      const { done, value } = await reader.read();
      deadline.clear();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw toTransportError(error, deadline, request.signal, "cut");
  } finally {
    deadline.end();
    // Cancelling closes the connection of a body that was left early, which nothing waits for. A broken body can't be cancelled.
    reader.cancel().catch(() => {});
  }
}

/** The reason of every abort: without one, `abort` makes an exception with a stack trace, which costs more than the abort itself. */
const ABORTED = new Error("aborted");

/** An abort signal for `fetch` that fires when the request is aborted, and at a deadline. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: RequestSignal;
  #timer: ReturnType<typeof setTimeout> | undefined;
  expired = false;

  constructor(outer: RequestSignal) {
    this.#outer = outer;
    if (outer.aborted) this.#abort();
    else outer.addEventListener("abort", this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  set(milliseconds: number): void {
    this.clear();
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#abort();
    }, milliseconds);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  /** What has ended is not aborted any more. */
  end(): void {
    this.clear();
    this.#outer.removeEventListener("abort", this.#abort);
  }

  readonly #abort = () => this.#controller.abort(ABORTED);
}

function toTransportError(
  error: unknown,
  deadline: Deadline,
  outer: RequestSignal,
  otherwise: "connect" | "cut",
): TransportError {
  if (outer.aborted) return new TransportError("aborted", "the request was aborted", error);
  if (deadline.expired) return new TransportError("timeout", "the upstream took too long", error);
  const what =
    otherwise === "connect" ? "the upstream could not be reached" : "the upstream's connection broke";
  return new TransportError(otherwise, what, error);
}
