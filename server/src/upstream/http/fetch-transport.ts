import { type RequestSignal, toAbortSignal } from "../request-signal.ts";
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
      deadline.clear();
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
    deadline.clear();
    // Cancelling closes the connection of a body that was left early, which nothing waits for. A broken body can't be cancelled.
    reader.cancel().catch(() => {});
  }
}

/** An abort signal for `fetch` that also fires at a deadline. */
class Deadline {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal;
  #timer: ReturnType<typeof setTimeout> | undefined;
  expired = false;

  constructor(outer: RequestSignal) {
    this.signal = AbortSignal.any([toAbortSignal(outer), this.#controller.signal]);
  }

  set(milliseconds: number): void {
    this.clear();
    this.#timer = setTimeout(() => {
      this.expired = true;
      this.#controller.abort();
    }, milliseconds);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
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
