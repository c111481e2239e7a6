import { PrimedStream } from "../gateway/primed-stream.ts";
import { HEARTBEAT, HEARTBEAT_MS } from "../operations/operation.ts";
import type { BodySink } from "./exchange.ts";

type Chunk = string | Uint8Array;

export interface StreamWriterOptions {
  /** Whether a comment may stand between two chunks. */
  readonly takesHeartbeats: boolean;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** Sends one streamed answer: its chunks as they come, and heartbeats while none do. */
export class StreamWriter {
  readonly #sink: BodySink;
  readonly #options: StreamWriterOptions;
  #writtenMs: number;
  /** Between chunks, while there are more to come. */
  #isSilent = false;

  constructor(sink: BodySink, options: StreamWriterOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#writtenMs = options.monotonicMs();
  }

  /** Keeps proxies from closing a connection that is silent for long. To be called every few seconds. */
  sendHeartbeat(): void {
    const { takesHeartbeats, monotonicMs } = this.#options;
    // A client that is slow to read needs none.
    if (!takesHeartbeats || !this.#isSilent || monotonicMs() - this.#writtenMs < HEARTBEAT_MS) return;
    this.#writtenMs = monotonicMs();
    void this.#sink.write(HEARTBEAT);
  }

  /** Sends all chunks, or those until `isDone` says so. Throws what they throw. */
  async send(chunks: AsyncIterable<Chunk>, isDone: () => boolean): Promise<void> {
    this.#isSilent = true;
    try {
      for await (const chunk of chunks) {
        this.#isSilent = false;
        await this.#sink.write(chunk);
        this.#writtenMs = this.#options.monotonicMs();
        this.#isSilent = true;
        if (isDone()) return;
      }
    } finally {
      this.#isSilent = false;
    }
  }

  /** @param last tells the client how the stream has ended; may be empty. */
  async end(last: string): Promise<void> {
    if (last !== "") await this.#sink.write(last);
    await this.#sink.end();
  }

  /** Closes the connection early, so that the client can't take the answer for complete. */
  abort(): void {
    this.#sink.abort();
  }
}

/**
 * Asks for the first chunk while `done` is waited for. A stream that was asked for its first chunk is ended by leaving it; one that
 * was not is not.
 *
 * @throws what `done` throws; the stream is left then.
 */
export async function primeStream(
  done: Promise<unknown>,
  chunks: AsyncIterable<Chunk>,
): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = iterator.next();
  // It is awaited below; until then its failure is not an unhandled one.
  first.catch(() => {});
  try {
    await done;
  } catch (thrown) {
    await first.catch(() => {});
    await iterator.return?.();
    throw thrown;
  }
  return new PrimedStream(iterator, first);
}
