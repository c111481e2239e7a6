import type { IncomingBody } from "../admission/incoming-body.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";

/**
 * One request and its answer, as the request lifecycle sees them: implemented on `node:http` and on web-standard
 * `Request`/`Response`. Exactly one of `respond` and `stream` is called, once.
 */
export interface Exchange extends RefusableExchange {
  readonly query: URLSearchParams;
  /** Whether the client has disconnected before the answer was complete. Known once {@link onClientGone} was called. */
  readonly isClientGone: boolean;
  /** Sets the only listener for the disconnection. It is not an AbortSignal, because creating one for each request is expensive. */
  onClientGone(listener: () => void): void;
  /** Passes the received bytes to `body` until it ends or the connection breaks. Called at most once. The body is not read otherwise. */
  receive(body: IncomingBody): void;
  respond(status: number, headers: readonly ResponseHeaders[], body: string | Uint8Array): void;
  /** Sends the head now; the body follows through the sink. */
  stream(status: number, headers: readonly ResponseHeaders[]): BodySink;
}

/** The part of an exchange that is enough to refuse a request before anything is done for it. */
export interface RefusableExchange {
  readonly method: string;
  /** Without the query, as sent (percent-encoding kept). */
  readonly path: string;
  /** Every value of a header, in order; none when absent. `name` in lower case. */
  header(name: string): readonly string[];
  /** Address of the socket's other end. */
  readonly peer: string;
  /**
   * Lets other connections go first: this connection's next request is not read before its turn. Returns a promise to await before this request
   * is answered, or `null` if it may be answered now.
   */
  letOthersGoFirst(): Promise<void> | null;
  /**
   * The total time of a request that is answered at once, including the runtime's work before and after, divided by the time until {@link respond}
   * returns.
   */
  readonly answerTimeFactor: number;
  /** The headers are in several objects, because merging them would take as long as writing them. No name is in two of them. */
  respond(status: number, headers: readonly ResponseHeaders[], body: string): void;
  /** Closes the connection without an answer, when none can be sent. */
  abandon(): void;
}

/** What tells which kind of client has sent a request, and with which credential. */
export type RequestHead = Pick<RefusableExchange, "path" | "header">;

/** A client that reads nothing for this long counts as disconnected: what is held for it is released. */
export const READER_TIMEOUT_MS = 60_000;

/** A streamed response body. After the client has disconnected, writes are ignored. */
export interface BodySink {
  /** Returns a promise that resolves when the client can take more (back-pressure), or `null` if it can take more now. */
  write(chunk: string | Uint8Array): Promise<void> | null;
  end(): Promise<void>;
  /** Closes the connection early, so that the client does not mistake the answer for a complete one. */
  abort(): void;
}
