import type { ChatCompletionChunk } from "../contract/chat.ts";
import { APIUserAbortError, errorForEvent, StreamInterruptedError } from "./errors.ts";
import { eventData } from "./sse.ts";

/**
 * A chat completion as it is made: iterate over its chunks, once. Leaving the loop ends the request.
 *
 * Iterating throws {@link APIError} when the service reports an error in the stream, and
 * {@link StreamInterruptedError} when the stream ends before the answer does.
 */
export class ChatCompletionStream implements AsyncIterable<ChatCompletionChunk> {
  /** Quote it to the operator of the service. */
  readonly requestId: string | null;
  readonly #response: Response;
  readonly #signal: AbortSignal | undefined;

  constructor(response: Response, signal: AbortSignal | undefined) {
    this.requestId = response.headers.get("x-request-id");
    this.#response = response;
    this.#signal = signal;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    const { body, headers } = this.#response;
    if (body === null) throw new StreamInterruptedError("The answer has no body.");
    try {
      for await (const data of eventData(body, this.#signal)) {
        if (data === "[DONE]") return;
        const event: unknown = JSON.parse(data);
        if (typeof event === "object" && event !== null && "error" in event)
          throw errorForEvent(event, headers);
        // The service is trusted to keep its contract.
        yield event as ChatCompletionChunk;
      }
    } catch (error) {
      if (this.#signal?.aborted) throw new APIUserAbortError("The request was aborted.", { cause: error });
      if (error instanceof SyntaxError || error instanceof TypeError) {
        throw new StreamInterruptedError("The stream broke off.", { cause: error });
      }
      throw error;
    }
    if (this.#signal?.aborted) throw new APIUserAbortError("The request was aborted.");
    // The service closes every whole stream with `[DONE]`; a connection that is cut looks like an end.
    throw new StreamInterruptedError("The stream ended before the answer did.");
  }
}
