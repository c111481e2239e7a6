import type { IncomingBody } from "../admission/incoming-body.ts";
import type { ResponseHeaders } from "../operations/operation.ts";

export type { IncomingBody, ResponseHeaders };

/**
 * One request and its answer, as the request lifecycle sees them: implemented on `node:http` and on web-standard
 * `Request`/`Response`. Exactly one of `respond` and `stream` is called, once.
 */
export interface Exchange {
  readonly method: string;
  /** Without the query, as sent (percent-encoding kept). */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Every value of a header, in order; none when absent. `name` in lower case. */
  header(name: string): readonly string[];
  /** Address of the socket's other end. */
  readonly peer: string;
  /** Whether the client is gone before the answer was complete. */
  readonly isClientGone: boolean;
  /** Calls the listener, the only one there is, when that happens. Not an AbortSignal: one for each request is dear. */
  onClientGone(listener: () => void): void;
  /** Feeds the body what comes of it, until it ends or breaks off. Called once at most; without it the body is not read. */
  receive(body: IncomingBody): void;
  respond(status: number, headers: ResponseHeaders, body: string | Uint8Array): Promise<void>;
  /** Sends the head now; the body follows through the sink. */
  stream(status: number, headers: ResponseHeaders): BodySink;
}

/** A client that reads nothing for this long counts as disconnected: what is held for it is released. */
export const READER_TIMEOUT_MS = 60_000;

/** Where a streamed body goes. After the client has gone, writes are dropped silently. */
export interface BodySink {
  /** Resolves when the client may be sent more: awaiting it is the back-pressure. */
  write(chunk: string | Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Breaks the answer off, so that its client can't take it for whole. */
  abort(): void;
}
