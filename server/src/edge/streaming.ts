import { BegunStream } from "../gateway/begun-stream.ts";
import type { BodySink } from "./exchange.ts";
import { HEARTBEAT, HEARTBEAT_MS } from "./heartbeat.ts";

type Chunk = string | Uint8Array;

export interface StreamingOptions {
  /** Whether a comment may stand between two chunks. */
  readonly takesHeartbeats: boolean;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** The sending of one streamed answer: its chunks as they come, and signs of life where none do. */
export class Streaming {
  readonly #sink: BodySink;
  readonly #options: StreamingOptions;
  #writtenMs: number;
  /** Between chunks, while there are more to come. */
  #isSilent = false;

  constructor(sink: BodySink, options: StreamingOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#writtenMs = options.monotonicMs();
  }

  /** A proxy on the way may take silence for death. To be called every few seconds. */
  beat(): void {
    const { takesHeartbeats, monotonicMs } = this.#options;
    // A client that is being waited for needs no sign.
    if (!takesHeartbeats || !this.#isSilent || monotonicMs() - this.#writtenMs < HEARTBEAT_MS) return;
    this.#writtenMs = monotonicMs();
    void this.#sink.write(HEARTBEAT);
  }

  /** Sends all chunks, unless nobody wants them any more. Throws what they throw. */
  async send(chunks: AsyncIterable<Chunk>, isUnwanted: () => boolean): Promise<void> {
    this.#isSilent = true;
    try {
      for await (const chunk of chunks) {
        this.#isSilent = false;
        await this.#sink.write(chunk);
        this.#writtenMs = this.#options.monotonicMs();
        this.#isSilent = true;
        if (isUnwanted()) return;
      }
    } finally {
      this.#isSilent = false;
    }
  }

  /** `last`: what tells the client how it has ended; may be empty. */
  async end(last: string): Promise<void> {
    if (last !== "") await this.#sink.write(last);
    await this.#sink.end();
  }

  /** Breaks the answer off, so that its client can't take it for whole. */
  abort(): void {
    this.#sink.abort();
  }
}

/**
 * Chunks of which the first was asked for, once something else has been done: then leaving them ends all that belongs to them,
 * which it does not before.
 *
 * @throws what `done` throws; the chunks are left then.
 */
export async function begunWhen(
  done: Promise<unknown>,
  chunks: AsyncIterable<Chunk>,
): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = iterator.next();
  // It is waited for below; till then its failure is nobody's.
  first.catch(() => {});
  try {
    await done;
  } catch (thrown) {
    await first.catch(() => {});
    await iterator.return?.();
    throw thrown;
  }
  return new BegunStream(iterator, first);
}
