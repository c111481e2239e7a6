import type { ChatCompletionChunk } from "../contract/chat.ts";
import { APIUserAbortError, errorForEvent, OstiaryError, StreamInterruptedError } from "./errors.ts";
import { eventData } from "./sse.ts";
import type { Answer } from "./transport.ts";
import type { WireAnswer } from "./wire.ts";

const DONE = "[DONE]";

/**
 * A streamed chat completion. Iterate over its chunks once. Leaving the loop ends the request.
 *
 * Iterating throws
 * - {@link APIError}, of the class that its code has over HTTP, when the service reports an error in the stream;
 * - {@link StreamInterruptedError} when the stream ends before the answer is complete;
 * - {@link APIUserAbortError} when the caller's signal or {@link ChatCompletionStream.controller} was aborted.
 *
 * Chunks may arrive at any interval: the client's `timeout` applies until the answer begins.
 */
export class ChatCompletionStream implements AsyncIterable<ChatCompletionChunk> {
  /** Quote it to the operator of the service. */
  readonly requestId: string | null;
  /** Abort it to end the request from outside the loop. */
  readonly controller: AbortController;
  readonly #answer: Answer;
  #started = false;

  constructor(answer: Answer) {
    this.requestId = answer.wire.header("x-request-id");
    this.controller = answer.controller;
    this.#answer = answer;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    if (this.#started) throw new OstiaryError("A stream can be iterated only once.");
    this.#started = true;
    const { wire, release } = this.#answer;
    const { signal } = this.controller;
    try {
      const { body } = wire;
      if (body === null) throw this.#interrupted("The answer has no body.");
      for await (const data of eventData(body, signal, DONE)) {
        if (signal.aborted) break;
        if (data === DONE) return;
        yield readChunk(data, wire);
      }
    } catch (error) {
      if (signal.aborted) throw new APIUserAbortError("The request was aborted.", { cause: error });
      if (error instanceof OstiaryError) throw error;
      // The error of a lost connection differs between runtimes; a truncated event is a SyntaxError.
      throw this.#interrupted("The stream broke off.", error);
    } finally {
      release();
    }
    if (signal.aborted) throw new APIUserAbortError("The request was aborted.");
    // The service ends every complete stream with `[DONE]`, because a lost connection looks like an end.
    throw this.#interrupted("The stream ended before the answer was complete.");
  }

  #interrupted(message: string, cause?: unknown): StreamInterruptedError {
    return new StreamInterruptedError(message, this.requestId, { cause });
  }
}

function readChunk(data: string, wire: WireAnswer): ChatCompletionChunk {
  const event: unknown = JSON.parse(data);
  const error = typeof event === "object" && event !== null && "error" in event ? event.error : null;
  // Some model servers put `"error": null` into every chunk.
  if (error !== null && error !== undefined) throw errorForEvent(event, wire.headers);
  // The chunk relies on the service's contract.
  return event as ChatCompletionChunk;
}
