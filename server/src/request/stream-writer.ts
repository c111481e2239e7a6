import type { ControlEvents } from "../conversation/wire.ts";
import { PrimedStream } from "../gateway/primed-stream.ts";
import { HEARTBEAT_MS } from "../operations/reply.ts";
import type { BodySink } from "./exchange.ts";

type Chunk = string | Uint8Array;

export type StreamWriter = ReturnType<typeof streamWriter>;

/**
 * Creates the writer of one streamed answer: it sends the chunks as they come, and heartbeats while none come.
 *
 * @param controlEvents `null`: nothing may stand between two chunks.
 * @param monotonicMs Milliseconds of a clock that never jumps.
 */
export function streamWriter(sink: BodySink, controlEvents: ControlEvents | null, monotonicMs: () => number) {
  let writtenMs = monotonicMs();
  /** Whether the stream waits for its next chunk. */
  let isSilent = false;
  return {
    /** Sends a heartbeat on a silent stream, so that proxies do not close it. Call it every few seconds. */
    sendHeartbeat(): void {
      // A client that is slow to read needs none.
      if (controlEvents === null || !isSilent || monotonicMs() - writtenMs < HEARTBEAT_MS) return;
      writtenMs = monotonicMs();
      void sink.write(controlEvents.heartbeat());
    },

    /** Sends all chunks, or those until `isDone` says so. Throws what they throw. */
    async send(chunks: AsyncIterable<Chunk>, isDone: () => boolean): Promise<void> {
      isSilent = true;
      try {
        for await (const chunk of chunks) {
          isSilent = false;
          const drained = sink.write(chunk);
          if (drained !== null) await drained;
          writtenMs = monotonicMs();
          isSilent = true;
          if (isDone()) return;
        }
      } finally {
        isSilent = false;
      }
    },
  };
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
