import { Failure } from "../errors/failure.ts";
import type { BodySender } from "./body-budget.ts";

/** The first buffer of a body of undeclared length, which doubles whenever it is full. */
const FIRST_STEP_BYTES = 16 * 1024;
/** Each piece costs some microseconds whatever its size, so a body that is sent byte by byte costs a hundred times as much. */
const MAX_PIECES = 4_096;
const MIN_BYTES_PER_PIECE = 64;
/** The minimum rate of a body, averaged over windows of `PACE_WINDOW_MS`. The first window is exempt. */
const MIN_BYTES_PER_SECOND = 4_096;
const PACE_WINDOW_MS = 10_000;
/**
 * The share of a body's bytes that stays in memory while its answer is streamed: the values that its tokens are counted from. While a request waits for
 * its model, memory also holds the body's text, and the text and bytes for the upstream; before that, the received bytes.
 */
const SHARE_OF_STREAMED = 1 / 4;
const NO_BYTES = new Uint8Array(0);

interface IncomingBodyParts {
  readonly sender: BodySender;
  /** How many bodies the sender may send at once; `null`: any number. */
  readonly maxBodies: number | null;
  /** As {@link declaredBytesOf}. */
  readonly declaredBytes: number | null;
  readonly maxBytes: number;
}

/**
 * The length that a `Content-Length` declares; `null` for none, or for a value that is no number, such as the `5, 5` that Deno
 * makes of a repeated header. No other value may be counted in a budget.
 */
export function declaredBytesOf(contentLength: string | null | undefined): number | null {
  return contentLength != null && /^\d+$/.test(contentLength) ? Number(contentLength) : null;
}

/**
 * Receives the body of a request on any runtime, with limits on its size, its share of the budget, its rate and the number of its
 * pieces. The declared length is reserved before the first byte is read. The bytes stay reserved until {@link release}, which must
 * be called when the request has ended.
 */
export class IncomingBody {
  readonly #parts: IncomingBodyParts;
  #reserved = 0;
  #wholeBytes: number | null = null;
  /** Whether it counts among the sender's concurrent bodies. */
  #isCounted = true;
  #isReleased = false;
  #content: Uint8Array | null = null;
  #bytes = 0;
  #pieces = 0;
  /** The promise of {@link receive}, until the body is over. */
  #receiving: { resolve(body: Uint8Array): void; reject(failure: Error): void } | null = null;
  #paceSinceMs = 0;
  #paceBytes = 0;

  /** @throws {Failure} `request_too_large`, or as {@link BodySender}. */
  constructor(parts: IncomingBodyParts) {
    this.#parts = parts;
    const { sender, maxBodies, declaredBytes, maxBytes } = parts;
    if (declaredBytes !== null && declaredBytes > maxBytes) throw this.#tooLarge();
    sender.begin(maxBodies);
    try {
      this.#reserve(declaredBytes ?? 0);
    } catch (thrown) {
      this.release();
      throw thrown;
    }
  }

  /** The length of the complete body; `null` while it is incomplete, or if it was refused. */
  get wholeBytes(): number | null {
    return this.#wholeBytes;
  }

  /** The bytes that are reserved for it. */
  get reservedBytes(): number {
    return this.#isReleased ? 0 : this.#reserved;
  }

  /** Whether the body counts among the concurrent requests of an account, and not among the bytes of an address. */
  get isOfAccount(): boolean {
    return this.#parts.sender.isAccount;
  }

  /** True when the body is complete or was refused, and before {@link receive} is called. */
  get isOver(): boolean {
    return this.#receiving === null;
  }

  /**
   * Resolves with the complete body. `start` begins to pass data to {@link add}, {@link end} and {@link abort}; data that follows
   * the end of the body is dropped.
   *
   * @throws {Failure} `request_too_large`, `request_timeout`, `invalid_request`, or as {@link BodySender}.
   */
  receive(start: (body: IncomingBody) => void): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#receiving = { resolve, reject };
      start(this);
    });
  }

  add(piece: Uint8Array): void {
    if (this.isOver) return;
    try {
      this.#take(piece);
    } catch (thrown) {
      this.refuse(thrown as Error);
    }
  }

  end(): void {
    const receiving = this.#receiving;
    if (receiving === null) return;
    const content = this.#content ?? NO_BYTES;
    // The receiver owns the content. This object may live for as long as the request.
    this.#content = null;
    this.#finish();
    this.#wholeBytes = this.#bytes;
    receiving.resolve(content.length === this.#bytes ? content : content.subarray(0, this.#bytes));
  }

  /** Ends an incomplete body, because its client has gone; or for a {@link Failure}, which is then the one that {@link receive} throws. */
  abort(cause?: unknown): void {
    if (this.isOver) return;
    this.refuse(
      cause instanceof Failure
        ? cause
        : new Failure("request_timeout", "The request body arrived incomplete. Send it again.", { cause }),
    );
  }

  /** Refuses a body that arrives too slowly. Must be called every few seconds with the time since the request arrived. */
  checkPace(elapsedMs: number): void {
    const windowMs = elapsedMs - this.#paceSinceMs;
    if (this.isOver || windowMs < PACE_WINDOW_MS) return;
    const isFirst = this.#paceSinceMs === 0;
    const bytes = this.#bytes - this.#paceBytes;
    this.#paceSinceMs = elapsedMs;
    this.#paceBytes = this.#bytes;
    if (isFirst || bytes >= (MIN_BYTES_PER_SECOND * windowMs) / 1_000) return;
    this.refuse(this.#parts.sender.budget.refuse("too_slow"));
  }

  /** Refuses the body: {@link receive} rejects with `failure`. Does nothing once the body is over. */
  refuse(failure: Error): void {
    const receiving = this.#receiving;
    if (receiving === null) return;
    this.#finish();
    this.release();
    receiving.reject(failure);
  }

  /** Stops counting the body among the sender's concurrent ones: the slot of its admitted request counts instead. Repeating it changes nothing. */
  stopCounting(): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    this.#parts.sender.end();
  }

  /** Reserves bytes that were stored earlier and are sent with the body. @throws {Failure} as {@link BodySender}. */
  addStored(bytes: number): void {
    if (!this.#isReleased) this.#reserve(this.#reserved + bytes);
  }

  /** Releases what is not kept while an answer is streamed. */
  releaseForStream(): void {
    if (this.#isReleased) return;
    const kept = Math.ceil(this.#reserved * SHARE_OF_STREAMED);
    this.#parts.sender.release(this.#reserved - kept);
    this.#reserved = kept;
  }

  /** Releases the reserved bytes. Repeating it changes nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.stopCounting();
    this.#parts.sender.release(this.#reserved);
  }

  #take(piece: Uint8Array): void {
    const bytes = this.#bytes + piece.length;
    if (bytes > this.#parts.maxBytes) throw this.#tooLarge();
    if (++this.#pieces > MAX_PIECES && bytes < this.#pieces * MIN_BYTES_PER_PIECE) {
      throw this.#parts.sender.budget.refuse("too_many_pieces");
    }
    // Nearly every body arrives in one piece, which needs no copy.
    if (this.#bytes === 0 && bytes === this.#parts.declaredBytes) this.#content = piece;
    else this.#copy(piece, bytes);
    this.#bytes = bytes;
  }

  #reserve(total: number): void {
    this.#parts.sender.reserve(total - this.#reserved, total);
    this.#reserved = total;
  }

  /** Copies the piece into one buffer, because small pieces held separately take many times their size. */
  #copy(piece: Uint8Array, bytes: number): void {
    let content = this.#content;
    if (content === null || bytes > content.length) {
      const { declaredBytes, maxBytes } = this.#parts;
      const grown = Math.min(maxBytes, Math.max(FIRST_STEP_BYTES, bytes, 2 * (content?.length ?? 0)));
      const room = Math.max(declaredBytes ?? grown, bytes);
      this.#reserve(room);
      // The system does not allocate pages of the buffer before something is written to them.
      const larger = new Uint8Array(room);
      if (content !== null) larger.set(content);
      content = larger;
      this.#content = content;
    }
    content.set(piece, this.#bytes);
  }

  /** Drops references, because listeners of the request still hold this object and must not keep the body alive. */
  #finish(): void {
    this.#receiving = null;
    this.#content = null;
  }

  #tooLarge(): Failure {
    return new Failure("request_too_large", `The body exceeds ${this.#parts.maxBytes} bytes. Send less.`);
  }
}
