import { type Exchange, READER_TIMEOUT_MS } from "../request/exchange.ts";
import { networkOfPeer } from "./client-connections.ts";

/**
 * What the runtime gets of a body each time that its client has read. Smaller bodies are given to it at once. With HTTP/2 it keeps as much for each
 * of the many streams that a connection may have.
 */
const PIECE_BYTES = 16 * 1024;
/** How often the unread bytes are added up. */
const CHECK_MS = 250;

export interface ResponseHead {
  readonly status: number;
  readonly headers: Record<string, string>;
}

const encoder = new TextEncoder();

/**
 * Limits the bytes of answers that wait for their clients to read them, where the runtime does not tell how many it keeps. It gets large bodies
 * piece by piece, as clients read. Beyond the limit, bodies are dropped: those of the address that has the most, the largest first, and none
 * that has just begun to wait. A single body may exceed the limit. One whose client reads nothing for a minute is dropped, too.
 */
export class UnreadBodies {
  readonly #maxBytes: number;
  readonly #monotonicMs: () => number;
  readonly #open = new Set<UnreadBody>();
  #timer: NodeJS.Timeout | null = null;

  constructor(maxBytes: number, monotonicMs = () => performance.now()) {
    this.#maxBytes = maxBytes;
    this.#monotonicMs = monotonicMs;
  }

  /** The response to a request, of which a large body is sent as its client reads it. Nobody reads that of an answer to HEAD. */
  response(
    content: string | Uint8Array,
    head: ResponseHead,
    { method, peer }: Pick<Exchange, "method" | "peer">,
  ): Response {
    if (content.length < PIECE_BYTES || method === "HEAD") {
      return new Response(typeof content === "string" ? content : new Uint8Array(content), head);
    }
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    const body = new UnreadBody(bytes, networkOfPeer({ remoteAddress: peer }), this.#monotonicMs);
    this.#open.add(body);
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
    // With a length, a client does not take a body that was dropped for complete.
    const headers = { ...head.headers, "content-length": String(bytes.length) };
    return new Response(body.stream(), { status: head.status, headers });
  }

  /** Drops what is beyond the limit. Called by a timer. */
  check(): void {
    const nowMs = this.#monotonicMs();
    let bytes = 0;
    for (const body of this.#open) {
      if (nowMs - body.readMs >= READER_TIMEOUT_MS) body.drop();
      if (body.unread === 0) this.#open.delete(body);
      bytes += body.unread;
    }
    if (bytes > this.#maxBytes) this.#drop(bytes, nowMs);
    if (this.#open.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #drop(unreadBytes: number, nowMs: number): void {
    let bytes = unreadBytes;
    for (const body of mostFirst(this.#open)) {
      if (bytes <= this.#maxBytes || this.#open.size === 1) return;
      if (nowMs - body.readMs < CHECK_MS) continue;
      bytes -= body.unread;
      body.drop();
      this.#open.delete(body);
    }
  }
}

class UnreadBody {
  /** The network of its client. */
  readonly network: string;
  /** When its client has read last. */
  readMs: number;
  readonly #monotonicMs: () => number;
  /** `null` when it was read or dropped: the runtime may refer to the stream for longer. */
  #content: Uint8Array | null;
  #at = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(content: Uint8Array, network: string, monotonicMs: () => number) {
    this.network = network;
    this.readMs = monotonicMs();
    this.#content = content;
    this.#monotonicMs = monotonicMs;
  }

  get unread(): number {
    return this.#content === null ? 0 : this.#content.length - this.#at;
  }

  stream(): ReadableStream<Uint8Array> {
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      this.#controller = controller;
    };
    const cancel = () => {
      this.#content = null;
    };
    return new ReadableStream<Uint8Array>({ start, pull: () => this.#pull(), cancel }, { highWaterMark: 0 });
  }

  /** Ends the body before its end, so that the runtime closes the connection. An error would be written to standard error. */
  drop(): void {
    if (this.#content === null) return;
    this.#content = null;
    this.#controller?.close();
  }

  #pull(): void {
    if (this.#content === null) return;
    this.readMs = this.#monotonicMs();
    // A copy, because the runtime keeps the whole buffer of what it writes.
    this.#controller?.enqueue(this.#content.slice(this.#at, this.#at + PIECE_BYTES));
    this.#at += PIECE_BYTES;
    if (this.#at >= this.#content.length) this.drop();
  }
}

/** Bodies in the order of the unread bytes of their networks, and of one network in that of their own. */
function mostFirst(open: Iterable<UnreadBody>): readonly UnreadBody[] {
  const bodies = [...open];
  const ofNetwork = new Map<string, number>();
  for (const { network, unread } of bodies) ofNetwork.set(network, (ofNetwork.get(network) ?? 0) + unread);
  const bytesAt = (network: string) => ofNetwork.get(network) ?? 0;
  return bodies.toSorted(
    (one, other) => bytesAt(other.network) - bytesAt(one.network) || other.unread - one.unread,
  );
}
