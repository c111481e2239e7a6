import type { TransportTimeouts } from "../catalog/catalog.ts";
import type { RequestSignal } from "./request-signal.ts";

/**
 * How a request reaches an upstream. Implemented on undici's dispatcher (Node), on `fetch` (Deno, Bun) and by
 * the in-process sandbox; the gateway does not know which.
 */
export interface Transport {
  /**
   * Sends one request and resolves when the upstream's status and headers are in.
   *
   * @throws {TransportError} when no answer came.
   */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Ends idle connections. Requests under way are left to finish. */
  close(): Promise<void>;
}

export interface TransportRequest {
  readonly method: "GET" | "POST";
  /** Absolute URL. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** Aborting it drops the request at once, the body of the answer included. */
  readonly signal: RequestSignal;
  readonly timeouts: TransportTimeouts;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
}

/** Throws a {@link TransportError} while iterating when the answer is cut. Leaving it early drops the connection. */
export interface ResponseBody extends AsyncIterable<Uint8Array> {
  /**
   * All of it where it has come to its end already, as small answers have: nothing has to be waited for then. `null` where it has
   * not. To be called before anything is read, and only where a transport knows.
   */
  takeWhole?(): Uint8Array | null;
}

/** Why an upstream gave no (whole) answer. `aborted` is our own doing, through the signal. */
export type TransportFault = "connect" | "timeout" | "cut" | "aborted";

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly fault: TransportFault;

  constructor(fault: TransportFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}
