import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionToolCall,
  CompletionUsage,
  FinishReason,
} from "../contract/chat.ts";
import { OstiaryError } from "./errors.ts";
import type { ChatCompletionStream } from "./stream.ts";

/** Events of a stream and the arguments of their listeners. */
export interface ChatStreamEvents {
  /** A chunk. */
  chunk: [chunk: ChatCompletionChunk];
  /** Text of the first choice: the new part, and all text so far. */
  content: [delta: string, snapshot: string];
  /** A complete tool call. */
  toolCall: [call: ChatCompletionToolCall];
  /** The complete message of the first choice. */
  message: [message: ChatCompletionMessage];
  error: [error: unknown];
  /** The stream has ended, with or without an error. */
  end: [];
}

type Listeners = { [Name in keyof ChatStreamEvents]: ((...details: ChatStreamEvents[Name]) => void)[] };

/** One choice, as received so far. */
interface GrowingChoice {
  readonly index: number;
  content: string | null;
  refusal: string | null;
  readonly calls: { id: string; name: string; arguments: string; readonly extra: Record<string, unknown> }[];
  finish: FinishReason | null;
}

/**
 * A streamed chat completion with events and a final message. Reading starts at once. Iterate over it for its chunks, or await
 * {@link ChatStream.finalMessage}.
 */
export class ChatStream implements AsyncIterable<ChatCompletionChunk> {
  readonly #listeners: Listeners = { chunk: [], content: [], toolCall: [], message: [], error: [], end: [] };
  readonly #choices: GrowingChoice[] = [];
  readonly #done: Promise<ChatCompletion>;
  readonly #chunks: ChatCompletionChunk[] = [];
  #waiting: (() => void) | null = null;
  #isOver = false;
  #isIterated = false;
  #stream: ChatCompletionStream | null = null;
  #isAborted = false;
  #usage: CompletionUsage | null = null;
  #head: ChatCompletionChunk | null = null;

  constructor(stream: Promise<ChatCompletionStream>) {
    this.#done = this.#read(stream);
    // Errors reach the callers that await the promise, and the listeners.
    this.#done.catch(() => {});
  }

  /** Adds a listener. @returns the stream. */
  on<Name extends keyof ChatStreamEvents>(
    name: Name,
    listener: (...details: ChatStreamEvents[Name]) => void,
  ): this {
    this.#listeners[name].push(listener);
    return this;
  }

  /** Ends the request. */
  abort(): void {
    this.#isAborted = true;
    this.#stream?.controller.abort();
  }

  /** The complete answer, in the form of an answer without streaming. */
  finalCompletion(): Promise<ChatCompletion> {
    return this.#done;
  }

  /** The first choice's message. */
  async finalMessage(): Promise<ChatCompletionMessage> {
    const message = (await this.#done).choices[0]?.message;
    if (message === undefined) throw new OstiaryError("The answer has no choice.");
    return message;
  }

  /** The first choice's text. */
  async finalContent(): Promise<string> {
    return (await this.finalMessage()).content ?? "";
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    if (this.#isIterated) throw new OstiaryError("A stream can be iterated only once.");
    this.#isIterated = true;
    let isLeft = true;
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.#isOver) break;
        else {
          await new Promise<void>((resolve) => {
            this.#waiting = resolve;
          });
        }
      }
      await this.#done;
      isLeft = false;
    } finally {
      if (isLeft) this.abort();
    }
  }

  async #read(stream: Promise<ChatCompletionStream>): Promise<ChatCompletion> {
    try {
      this.#stream = await stream;
      if (this.#isAborted) this.#stream.controller.abort();
      for await (const chunk of this.#stream) this.#take(chunk);
      const completion = this.#completion();
      const message = completion.choices[0]?.message;
      if (message !== undefined) {
        for (const call of message.tool_calls ?? []) this.#emit("toolCall", call);
        this.#emit("message", message);
      }
      return completion;
    } catch (error) {
      this.#emit("error", error);
      throw error;
    } finally {
      this.#isOver = true;
      this.#waiting?.();
      this.#emit("end");
    }
  }

  #take(chunk: ChatCompletionChunk): void {
    this.#head ??= chunk;
    this.#usage = chunk.usage ?? this.#usage;
    this.#chunks.push(chunk);
    this.#waiting?.();
    this.#emit("chunk", chunk);
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      const choice = this.#choiceAt(index);
      choice.finish = finish ?? choice.finish;
      if (typeof delta.refusal === "string") choice.refusal = (choice.refusal ?? "") + delta.refusal;
      for (const call of delta.tool_calls ?? []) growCall(choice, call);
      if (typeof delta.content !== "string") continue;
      choice.content = (choice.content ?? "") + delta.content;
      if (index === 0 && delta.content !== "") this.#emit("content", delta.content, choice.content);
    }
  }

  #choiceAt(index: number): GrowingChoice {
    const known = this.#choices.find((choice) => choice.index === index);
    if (known !== undefined) return known;
    const fresh: GrowingChoice = { index, content: null, refusal: null, calls: [], finish: null };
    this.#choices.push(fresh);
    return fresh;
  }

  #completion(): ChatCompletion {
    const head = this.#head;
    if (head === null) throw new OstiaryError("The stream contained no chunks.");
    return {
      id: head.id,
      object: "chat.completion",
      created: head.created,
      model: head.model,
      choices: this.#choices
        .toSorted((one, other) => one.index - other.index)
        .map(({ index, content, refusal, calls, finish }) => ({
          index,
          finish_reason: finish ?? "stop",
          message: {
            role: "assistant",
            content,
            refusal,
            ...(calls.length === 0 ? {} : { tool_calls: calls.map(wholeCall) }),
          },
        })),
      ...(this.#usage === null ? {} : { usage: this.#usage }),
    };
  }

  #emit<Name extends keyof ChatStreamEvents>(name: Name, ...details: ChatStreamEvents[Name]): void {
    for (const listener of this.#listeners[name]) listener(...details);
  }
}

type CallDelta = NonNullable<ChatCompletionChunk["choices"][number]["delta"]["tool_calls"]>[number];

function growCall(
  { calls }: GrowingChoice,
  { index, id, type: _, function: called, ...extra }: CallDelta,
): void {
  const call = calls[index] ?? { id: "", name: "", arguments: "", extra: {} };
  calls[index] = call;
  call.id ||= id ?? "";
  call.name ||= called?.name ?? "";
  call.arguments += called?.arguments ?? "";
  Object.assign(call.extra, extra);
}

function wholeCall({
  id,
  name,
  arguments: text,
  extra,
}: GrowingChoice["calls"][number]): ChatCompletionToolCall {
  return { id, type: "function", function: { name, arguments: text }, ...extra };
}
