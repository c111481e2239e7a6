import { setImmediate } from "node:timers/promises";
import { EventReader, EventTooLarge } from "../../../sdk/src/contract/event-reader.ts";
import { MAX_EVENT_BYTES, MAX_SILENT_BYTES, parseable, reservePending } from "./answer-body.ts";
import { malformedResponse } from "./refusal.ts";
import type { ResponseBody } from "./transport.ts";

const LINE_FEED = 0x0a;

/** Changes the events of an upstream's stream for a client of the same wire. */
export interface EventForwarder {
  /** Whether the first event is sent before the rest of its piece is changed. */
  readonly sendsFirstAhead: boolean;
  /** Whether the answer is complete: what the stream has after that is not read. */
  readonly isDone: boolean;
  /** The client's text for the data of an event; may be empty. @throws what ends the stream. */
  forward(data: string): string;
  /** Called when the stream has ended. @throws {TransportError} if the answer is incomplete. */
  end(): void;
}

/** The text of a stream for the client: one piece for each piece from the upstream, however many events are in it. */
export function forwardedEvents(
  body: ResponseBody,
  forwarder: EventForwarder,
): AsyncIterableIterator<string> {
  return new ForwardedEvents(body, forwarder);
}

type Piece = IteratorResult<string>;

/** An iterator written by hand, as a generator waits for several promises for each piece. */
class ForwardedEvents implements AsyncIterableIterator<string> {
  readonly #received: ResponseBody;
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #forwarder: EventForwarder;
  readonly #reader = new EventReader(MAX_EVENT_BYTES);
  /** What is reserved for events that have not ended. */
  #reserved = 0;
  /** The bytes since there was text for the client. */
  #silentBytes = 0;
  /** Whether the first event is still to be sent before the rest of its piece. */
  #isAhead: boolean;
  /** The rest of the piece whose first event was sent ahead. */
  #rest: Uint8Array | null = null;
  /** What ends the stream after the text before it. */
  #fault: unknown = null;
  #isOver = false;

  constructor(body: ResponseBody, forwarder: EventForwarder) {
    this.#received = body;
    this.#body = body[Symbol.asyncIterator]();
    this.#forwarder = forwarder;
    this.#isAhead = forwarder.sendsFirstAhead;
  }

  next(): Promise<Piece> {
    if (this.#fault !== null || this.#isOver) return this.#end();
    const rest = this.#rest;
    if (rest === null) return this.#body.next().then(this.#readPiece);
    this.#rest = null;
    // The first event is written to the socket before the rest is changed.
    return setImmediate(rest).then((bytes) => this.#forward(bytes) ?? this.#nextText());
  }

  async return(): Promise<Piece> {
    this.#isOver = true;
    await this.#body.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #readPiece = (result: IteratorResult<Uint8Array>): Piece | Promise<Piece> =>
    this.#read(result) ?? this.#nextText();

  /**
   * Reads on after a piece without text. It is a loop, as a chain of promises would be kept in memory until the last one
   * is resolved.
   */
  async #nextText(): Promise<Piece> {
    while (this.#fault === null && !this.#isOver) {
      const piece = this.#read(await this.#body.next());
      if (piece !== null) return piece;
    }
    return await this.#end();
  }

  /** The client's text for one piece, or `null` if the piece has none. */
  #read({ done, value }: IteratorResult<Uint8Array>): Piece | null {
    if (done === true) return this.#complete();
    if (!this.#isAhead) return this.#forward(value);
    const end = endOfEvent(value);
    const first = this.#textOf(value.subarray(0, end));
    if (first !== "") {
      this.#isAhead = false;
      if (this.#forwarder.isDone) this.#isOver = true;
      if (end < value.length) this.#rest = value.subarray(end);
      return { done: false, value: first };
    }
    return this.#fault === null ? this.#forward(value.subarray(end)) : null;
  }

  #forward(bytes: Uint8Array): Piece | null {
    const text = this.#textOf(bytes);
    if (this.#forwarder.isDone) this.#isOver = true;
    return text === "" ? null : { done: false, value: text };
  }

  /** The last text, when the upstream's stream has ended. It sets the fault if the answer is incomplete. */
  #complete(): Piece | null {
    const text = this.#textOf(null);
    this.#isOver = true;
    if (this.#fault === null && !this.#forwarder.isDone)
      this.#fault = this.#faultOf(() => this.#forwarder.end());
    return text === "" ? null : { done: false, value: text };
  }

  /** Ends the stream, with its fault if it has one. What the upstream still sends is not read. */
  async #end(): Promise<Piece> {
    const fault = this.#fault;
    this.#fault = null;
    if (fault === null && this.#forwarder.isDone) this.#received.dropRest?.();
    const end = await this.return();
    if (fault !== null) throw fault;
    return end;
  }

  /**
   * The text up to the event that ends the stream with a fault: the events before it are valid. `null`: of the event that the end of the stream
   * completes.
   */
  #textOf(bytes: Uint8Array | null): string {
    let text = "";
    this.#fault = this.#faultOf(() => {
      for (const data of bytes === null ? this.#reader.end() : this.#reader.push(bytes)) {
        if (this.#forwarder.isDone) break;
        // Some servers keep a connection open by events without data.
        if (data !== "") text += this.#forwarder.forward(parseable(data));
      }
      this.#reserved = reservePending(this.#reader, this.#reserved, this.#received);
      this.#silentBytes = text === "" ? this.#silentBytes + (bytes?.length ?? 0) : 0;
      if (this.#silentBytes > MAX_SILENT_BYTES) throw malformedResponse();
    });
    return text;
  }

  #faultOf(run: () => void): unknown {
    try {
      run();
      return null;
    } catch (thrown) {
      // A value that is nested too deeply to be walked through is a RangeError.
      return thrown instanceof EventTooLarge || thrown instanceof RangeError ? malformedResponse() : thrown;
    }
  }
}

/** The position after the piece's first event, or the end of the piece if no event ends in it with a blank line. */
function endOfEvent(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === LINE_FEED) return at + 2;
  }
  return bytes.length;
}
