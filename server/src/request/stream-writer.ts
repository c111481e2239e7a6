import { PrimedStream } from "../gateway/primed-stream.ts";
import { HEARTBEAT_MS } from "../operations/operation.ts";
import type { BodySink } from "./exchange.ts";

type Chunk = string | Uint8Array;

export interface StreamWriterOptions {
  /** What may stand between two chunks, to keep the connection open; `null`: nothing may. */
  readonly heartbeat: (() => string) | null;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** Sends one streamed answer: its chunks as they come, and heartbeats while none do. */
export class StreamWriter {
  readonly #sink: BodySink;
  readonly #options: StreamWriterOptions;
  #writtenMs: number;
  /** Whether the stream waits for its next chunk. */
  #isSilent = false;

  constructor(sink: BodySink, options: StreamWriterOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#writtenMs = options.monotonicMs();
  }

  /** Sends a heartbeat on a silent stream, so that proxies do not close it. Call it every few seconds. */
  sendHeartbeat(): void {
    const { heartbeat, monotonicMs } = this.#options;
    // A client that is slow to read needs none.
    if (heartbeat === null || !this.#isSilent || monotonicMs() - this.#writtenMs < HEARTBEAT_MS) return;
    this.#writtenMs = monotonicMs();
    void this.#sink.write(heartbeat());
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
}

/**
 * Requests the first chunk while it waits for `done`. Only a generator that has started runs its clean-up when it is closed.
 *
 * @throws what `done` throws, after it has closed the stream.
 */
export async function primeStream(
  done: Promise<unknown>,
  chunks: AsyncIterable<Chunk>,
): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = iterator.next();
  // The promise is awaited below. Until then its rejection must not count as unhandled.
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
