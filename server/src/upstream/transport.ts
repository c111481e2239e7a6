import type { TransportTimeouts } from "../catalog/catalog.ts";
import type { RequestSignal } from "../errors/request-signal.ts";
import type { AnswerMemory } from "./answer-memory.ts";

/** How a request reaches an upstream: over HTTP by undici's dispatcher, or in process by the sandbox. The gateway does not know which. */
export interface Transport {
  /**
   * Sends one request and resolves when the upstream's status and headers are in.
   *
   * @throws {TransportError} when no answer came.
   */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Closes all connections. Requests that are not complete fail. */
  close(): Promise<void>;
}

/** The headers of a request: names, in lower case, and values in turn. Objects that are put together for each request cost more CPU time. */
export type HeaderList = readonly string[];

/** One HTTP request to an upstream. */
export interface TransportRequest {
  readonly method: "GET" | "POST";
  /** Absolute URL. */
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array | null;
  /** Aborting it drops the request at once, the body of the answer included. */
  readonly signal: RequestSignal;
  readonly timeouts: TransportTimeouts;
  /** For what its reader keeps of the answer. Absent: that is not limited. */
  readonly memory?: AnswerMemory | undefined;
}

/** The status and headers of an answer, and its body, which is still being received. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody;
}

/** Throws a {@link TransportError} if the body is cut off. Leaving the iteration early closes the connection. */
export interface ResponseBody extends AsyncIterable<Uint8Array> {
  /** What its reader reserves memory from. Absent: it needs none, as for an answer of the sandbox. */
  readonly memory?: AnswerMemory | undefined;
  /**
   * The whole body if it has been received already, as small bodies often have; otherwise `null`. Call it before anything is
   * read. Some transports do not implement it.
   */
  takeWhole?(): Uint8Array | null;
  /**
   * Call it when the answer is complete before its body has ended, and then leave the iteration. The rest of the body is dropped as it arrives, if
   * that is little and soon, so that the connection can serve the next request. Some transports do not implement it.
   */
  dropRest?(): void;
}

/** Why there is no complete answer from an upstream. `aborted`: the request's signal was aborted. */
type TransportFault = "connect" | "timeout" | "cut" | "aborted";

/** No complete answer came from an upstream. An answer with an error status is a response, and not this error. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly fault: TransportFault;
  /** Whether the upstream may have the request, and so have begun to answer it. */
  readonly wasSent: boolean;

  constructor(fault: TransportFault, message: string, cause?: unknown, wasSent = fault !== "connect") {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
    this.wasSent = wasSent;
  }
}
