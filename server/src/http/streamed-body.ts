import type { Unread } from "./unread-bodies.ts";

interface StreamedBodyParts {
  /** The network of its client. */
  readonly network: string;
  /** The maximum that the runtime gets each time that the client has read. */
  readonly pieceBytes: number;
  readonly monotonicMs: () => number;
  /** Called when the client has gone, or the body is dropped. */
  readonly gone: () => void;
  /** Called when the content is complete. The runtime may not have sent it. */
  readonly ended: () => void;
}

/** What the client's connection is closed with. A text, because the runtime writes it to standard error, an error with its whole stack. */
const CUT_OFF = "an answer was cut off";

/** A body whose content is written while it is sent. It gives the runtime pieces as the client reads, and keeps what is not read. */
export class StreamedBody implements Unread {
  readonly network: string;
  readonly stream: ReadableStream<Uint8Array>;
  readMs: number;
  readonly #parts: StreamedBodyParts;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** What was written and is not given to the runtime, and how much of its first chunk was. */
  #chunks: Uint8Array[] = [];
  #at = 0;
  #unread = 0;
  /** Whether the runtime waits for a piece. */
  #isWanted = false;
  #isEnding = false;
  #isOver = false;
  /** Called when everything that was written is given to the runtime, or dropped. */
  #onEmpty: (() => void)[] = [];

  constructor(parts: StreamedBodyParts) {
    this.network = parts.network;
    this.readMs = parts.monotonicMs();
    this.#parts = parts;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isWanted = true;
          this.#give();
        },
        cancel: () => {
          this.#finish();
          parts.gone();
        },
      },
      { highWaterMark: 0 },
    );
  }

  get unread(): number {
    return this.#unread;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isWaiting(): boolean {
    return this.#unread > 0;
  }

  /** Returns a promise that resolves when the client can take more, or `null` if it can take more now. Chunks written after the end are dropped. */
  write(chunk: Uint8Array): Promise<void> | null {
    if (this.#isOver || this.#isEnding || chunk.length === 0) return null;
    // The client may have read everything long ago.
    if (this.#unread === 0) this.readMs = this.#parts.monotonicMs();
    this.#chunks.push(chunk);
    this.#unread += chunk.length;
    this.#give();
    return this.#untilEmpty();
  }

  /** Ends the body after what was written. Returns as {@link write} does. */
  end(): Promise<void> | null {
    this.#isEnding = true;
    this.#parts.ended();
    const empty = this.#untilEmpty();
    if (empty === null) this.#close();
    return empty;
  }

  /** Closes the connection before the body's end. */
  abort(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#controller?.error(CUT_OFF);
  }

  /** Ends the body as if there were nothing more to send. */
  leave(): void {
    if (!this.#isOver) this.#close();
  }

  drop(): void {
    this.#parts.gone();
    this.abort();
  }

  #untilEmpty(): Promise<void> | null {
    if (this.#isOver || this.#chunks.length === 0) return null;
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
    });
  }

  /** Gives the runtime a piece, if there is one and it waits for one. */
  #give(): void {
    const [first] = this.#chunks;
    if (!this.#isWanted || first === undefined) return;
    this.#isWanted = false;
    this.readMs = this.#parts.monotonicMs();
    const piece = this.#pieceOf(first);
    this.#unread -= piece.length;
    this.#at += piece.length;
    if (this.#at === first.length) {
      this.#chunks.shift();
      this.#at = 0;
    }
    this.#controller?.enqueue(piece);
    // The runtime may want the next piece at once, and has got it by now.
    if (this.#isOver || this.#chunks.length > 0) return;
    if (this.#isEnding) this.#close();
    else this.#resolve();
  }

  /** The runtime keeps the whole buffer of what it writes, so it gets a copy of a part. */
  #pieceOf(chunk: Uint8Array): Uint8Array {
    const { pieceBytes } = this.#parts;
    return this.#at === 0 && chunk.length <= pieceBytes
      ? chunk
      : chunk.slice(this.#at, this.#at + pieceBytes);
  }

  #close(): void {
    this.#finish();
    this.#controller?.close();
  }

  #finish(): void {
    this.#isOver = true;
    this.#chunks = [];
    this.#unread = 0;
    this.#resolve();
  }

  #resolve(): void {
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }
}
