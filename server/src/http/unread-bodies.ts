import { READER_TIMEOUT_MS } from "../request/exchange.ts";
import { networkOfPeer } from "./client-connections.ts";
import type { BodyOfShared } from "./listener.ts";
import { mostUnreadFirst } from "./most-unread-first.ts";
import { StreamedBody } from "./streamed-body.ts";

/**
 * How much of a body the runtime gets whenever the client has read. Smaller bodies are handed over whole. With HTTP/2 the runtime keeps this much for
 * each of the many streams of a connection.
 */
const PIECE_BYTES = 16 * 1024;
/**
 * How much memory of the runtime an answer takes until its client has read it or has gone, because the runtime reads bodies ahead. Measured with
 * answers that are never read. The runtime has no call that drops them.
 */
const READ_AHEAD_BYTES = 128 * 1024;
/** How often the unread bytes are added up. */
const CHECK_MS = 250;

interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>> | Headers;
}

/** What is known of a request whose answer has a body. */
export interface BodyReader {
  readonly method: string;
  /** Address of the socket's other end. */
  readonly peer: string;
  /** Settles when the answer has been sent, or its client has gone. */
  readonly completed: Promise<unknown>;
}

/** A body that waits for its client. */
export interface Unread {
  /** The network of its client. */
  readonly network: string;
  /** The bytes that are kept for it, beside those in the runtime. */
  readonly unread: number;
  /** When its client has read last, or when there was something to read for the first time since. */
  readonly readMs: number;
  /** Whether no further bytes will wait. */
  readonly isOver: boolean;
  /** Whether its client has something to read. */
  readonly isWaiting: boolean;
  drop(): void;
}

const encoder = new TextEncoder();

/**
 * Limits the bytes of answers that wait for their clients to read them, on a runtime that does not tell how many it keeps. The runtime gets large
 * bodies piece by piece, as clients read. Beyond the limit, bodies are dropped, beginning with the largest of the address with the most unread bytes. A
 * body that has just begun to wait is not dropped, and a single body may exceed the limit. A body whose client reads nothing for a minute is dropped,
 * too.
 *
 * Pieces that the runtime has received can't be dropped. So when very many answers are unsent, addresses with more of them than the average get no
 * further large answer.
 */
export class UnreadBodies {
  readonly #maxBytes: number;
  readonly #monotonicMs: () => number;
  readonly #open = new Set<Unread>();
  /** How many large answers and ended streams the runtime has not sent, by the networks of their clients. */
  readonly #unsent = new Map<string, number>();
  #unsentCount = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(maxBytes: number, monotonicMs = () => performance.now()) {
    this.#maxBytes = maxBytes;
    this.#monotonicMs = monotonicMs;
  }

  /** The response to a request. A large body is handed over as the client reads it. An answer to HEAD has no body. */
  response(content: string | Uint8Array, head: ResponseHead, reader: BodyReader): Response {
    if (content.length < PIECE_BYTES || reader.method === "HEAD") {
      return new Response(typeof content === "string" ? content : new Uint8Array(content), head);
    }
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    const headers = new Headers(head.headers);
    // With a length, a client does not take a body that was dropped for complete.
    headers.set("content-length", String(bytes.length));
    const isKept = !this.isCrowded(reader.peer);
    const body = this.#wholeBody(bytes, bytes.length, reader);
    if (!isKept) body.drop();
    return new Response(body.stream(), { status: head.status, headers });
  }

  /** The body of an answer whose bytes are kept anyway, because other answers have the same. `null`: the client gets no further large answer. */
  sharedBody(bytes: Uint8Array<ArrayBuffer>, reader: BodyReader): ReturnType<BodyOfShared> {
    if (bytes.length < PIECE_BYTES) return bytes;
    return this.isCrowded(reader.peer) ? null : this.#wholeBody(bytes, 0, reader).stream();
  }

  /** A body whose content is written while it is sent. `gone` is called when its client has gone, or it is dropped. */
  streamed(reader: BodyReader, gone: () => void): StreamedBody {
    const body = new StreamedBody({
      network: networkOfPeer(reader.peer),
      pieceBytes: PIECE_BYTES,
      monotonicMs: this.#monotonicMs,
      gone,
      // A stream that goes on is not counted: a client may have many of them.
      ended: () => void this.#begin(reader),
    });
    this.#add(body);
    return body;
  }

  /** Whether the network of an address gets no further large answer until its clients have read others. */
  isCrowded(peer: string): boolean {
    if (this.#unsentCount * READ_AHEAD_BYTES < this.#maxBytes) return false;
    const own = this.#unsent.get(networkOfPeer(peer)) ?? 0;
    return own > 0 && own >= this.#unsentCount / this.#unsent.size;
  }

  /** Drops what is beyond the limit. Called by a timer. */
  check(): void {
    const nowMs = this.#monotonicMs();
    let bytes = 0;
    for (const body of this.#open) {
      if (body.isWaiting && nowMs - body.readMs >= READER_TIMEOUT_MS) body.drop();
      if (body.isOver) this.#open.delete(body);
      bytes += body.unread;
    }
    if (bytes > this.#maxBytes) this.#drop(bytes, nowMs);
    if (this.#open.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #wholeBody(bytes: Uint8Array, keptBytes: number, reader: BodyReader): WholeBody {
    const body = new WholeBody(bytes, keptBytes, this.#begin(reader), this.#monotonicMs);
    this.#add(body);
    return body;
  }

  #add(body: Unread): void {
    this.#open.add(body);
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref();
  }

  /** Counts an answer until it is sent. Returns the network of its client. */
  #begin({ peer, completed }: BodyReader): string {
    const network = networkOfPeer(peer);
    this.#count(network, 1);
    const sent = () => this.#count(network, -1);
    completed.then(sent, sent);
    return network;
  }

  #count(network: string, difference: number): void {
    this.#unsentCount += difference;
    const count = (this.#unsent.get(network) ?? 0) + difference;
    if (count > 0) this.#unsent.set(network, count);
    else this.#unsent.delete(network);
  }

  #drop(unreadBytes: number, nowMs: number): void {
    let bytes = unreadBytes;
    const withUnread = [...this.#open].filter(({ unread }) => unread > 0);
    for (const body of mostUnreadFirst(withUnread, ({ network, unread }) => ({ network, bytes: unread }))) {
      if (bytes <= this.#maxBytes || this.#open.size === 1) return;
      if (nowMs - body.readMs < CHECK_MS) continue;
      bytes -= body.unread;
      body.drop();
      this.#open.delete(body);
    }
  }
}

/** A body whose content is known. */
class WholeBody implements Unread {
  readonly network: string;
  readMs: number;
  readonly #monotonicMs: () => number;
  /** How many bytes of the content are kept for this body. */
  readonly #keptBytes: number;
  /** `null` when it was read or dropped: the runtime may refer to the stream for longer. */
  #content: Uint8Array | null;
  #at = 0;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(content: Uint8Array, keptBytes: number, network: string, monotonicMs: () => number) {
    this.network = network;
    this.readMs = monotonicMs();
    this.#content = content;
    this.#keptBytes = keptBytes;
    this.#monotonicMs = monotonicMs;
  }

  get unread(): number {
    return this.#content === null ? 0 : Math.max(0, this.#keptBytes - this.#at);
  }

  get isOver(): boolean {
    return this.#content === null;
  }

  get isWaiting(): boolean {
    return !this.isOver;
  }

  stream(): ReadableStream<Uint8Array> {
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      this.#controller = controller;
      if (this.isOver) controller.close();
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
