/// <reference lib="esnext.disposable" preserve="true" />
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionToolCall,
} from "../contract/chat.ts";
import { forwardAbort } from "./abort.ts";
import { CompletionBuilder, messageOf } from "./accumulate.ts";
import { OstiaryError } from "./errors.ts";
import { type EndEvents, EventStream } from "./event-stream.ts";
import { leavable, readableLines } from "./iteration.ts";
import type { ChatCompletionStream } from "./stream.ts";

/** Events of a stream and the arguments of their listeners. */
export interface ChatStreamEvents extends EndEvents {
  /** A chunk. */
  chunk: [chunk: ChatCompletionChunk];
  /** Text of the first choice: the new part, and all text so far. */
  content: [delta: string, snapshot: string];
  /** A complete tool call. */
  toolCall: [call: ChatCompletionToolCall];
  /** The complete message of the first choice. */
  message: [message: ChatCompletionMessage];
}

/**
 * A streamed chat completion with events and a final message. Reading starts at once. Iterate over it for its chunks, or await
 * {@link ChatStream.finalMessage}. An error that is not awaited or listened for becomes an unhandled rejection.
 */
export class ChatStream
  extends EventStream<ChatStreamEvents, ChatCompletion>
  implements AsyncIterable<ChatCompletionChunk>
{
  readonly #builder = new CompletionBuilder();
  /** Those that the iteration has not come to; `null` without one. */
  #chunks: ChatCompletionChunk[] | null = null;
  #waiting: (() => void) | null = null;
  #isOver = false;
  readonly #controller = new AbortController();

  /** @param open Sends the request, which ends when its signal is aborted: by `signal` or by the stream. */
  constructor(
    open: (signal: AbortSignal) => PromiseLike<ChatCompletionStream>,
    signal: AbortSignal | undefined,
  ) {
    super();
    const release = forwardAbort(signal, this.#controller);
    const stream = open(this.#controller.signal);
    this.start(() => this.#read(stream).finally(release));
  }

  /** Ends the request. */
  abort(): void {
    this.#controller.abort();
  }

  /** The complete answer, in the form of an answer without streaming, with every field of its chunks. */
  finalCompletion(): Promise<ChatCompletion> {
    return this.result();
  }

  /** The first choice's message. */
  async finalMessage(): Promise<ChatCompletionMessage> {
    return messageOf(await this.result());
  }

  /** The first choice's text. */
  async finalContent(): Promise<string> {
    return (await this.finalMessage()).content ?? "";
  }

  /** Iterates over the chunks. Those that arrived before the iteration are one, with all that they add up to. */
  [Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    if (this.#chunks !== null) throw new OstiaryError("A stream can be iterated only once.");
    this.#chunks = this.#builder.chunks();
    return leavable(this.#iterate(this.#chunks, this.result()), () => this.abort());
  }

  /** The chunks as lines of JSON in UTF-8, to pass a stream on to a browser, for example. Cancelling it ends the request. */
  toReadableStream(): ReadableStream<Uint8Array> {
    return readableLines(this[Symbol.asyncIterator]());
  }

  /** Ends the request if it is not complete. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) this.abort();
  }

  async *#iterate(
    chunks: ChatCompletionChunk[],
    done: Promise<unknown>,
  ): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#isOver) break;
      else {
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
      }
    }
    await done;
  }

  async #read(stream: PromiseLike<ChatCompletionStream>): Promise<ChatCompletion> {
    try {
      for await (const chunk of await stream) this.#take(chunk);
      const completion = this.#builder.completion();
      const message = completion.choices[0]?.message;
      if (message !== undefined) {
        for (const call of message.tool_calls ?? []) this.emit("toolCall", call);
        this.emit("message", message);
      }
      return completion;
    } finally {
      this.#isOver = true;
      this.#waiting?.();
    }
  }

  #take(chunk: ChatCompletionChunk): void {
    this.#builder.add(chunk);
    this.#chunks?.push(chunk);
    this.#waiting?.();
    this.emit("chunk", chunk);
    for (const { index, delta } of chunk.choices) {
      if (index !== 0 || typeof delta.content !== "string" || delta.content === "") continue;
      this.emit("content", delta.content, String(this.#builder.choice(0).message.content));
    }
  }
}
