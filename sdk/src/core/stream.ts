/// <reference lib="esnext.disposable" preserve="true" />
import type { ChatCompletionChunk } from "../contract/chat.ts";
import { aborted, forwardAbort } from "./abort.ts";
import type { Answer } from "./answer.ts";
import { APIPromise } from "./api-promise.ts";
import { objectOf } from "./checks.ts";
import { errorForEvent, notFromService, streamOf } from "./error-answers.ts";
import {
  APIConnectionTimeoutError,
  type APIUserAbortError,
  OstiaryError,
  StreamInterruptedError,
} from "./errors.ts";
import { fieldsIn, isFields } from "./fields.ts";
import { type Leavable, leavable, readableLines, teed } from "./iteration.ts";
import { eventData } from "./sse.ts";
import type { WireAnswer } from "./wire.ts";

const DONE = "[DONE]";

/**
 * A streamed chat completion. Iterate over its chunks once. Leaving the loop ends the request, and so does leaving the block of an
 * `await using`.
 *
 * Iterating throws
 * - {@link APIError}, of the class that its code has over HTTP, when the service reports an error in the stream;
 * - {@link StreamInterruptedError} when the stream ends before the answer is complete;
 * - {@link APIConnectionTimeoutError} when nothing arrives for `streamIdleTimeout`;
 * - {@link APIUserAbortError} when the caller's signal or {@link ChatCompletionStream.controller} was aborted.
 */
export class ChatCompletionStream implements AsyncIterable<ChatCompletionChunk> {
  /** Quote it to the operator of the service. */
  readonly requestId: string | null;
  /** Abort it to end the request from outside the loop. */
  readonly controller: AbortController;
  readonly #answer: Answer;
  readonly #chunks: Leavable<ChatCompletionChunk>;
  #started = false;

  constructor(answer: Answer, chunks: Leavable<ChatCompletionChunk> = chunksOf(answer)) {
    this.requestId = answer.wire.header("x-request-id");
    this.controller = answer.controller;
    this.#answer = answer;
    this.#chunks = chunks;
  }

  /** Iterates over the chunks, once. */
  [Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    return this.#start();
  }

  /**
   * Two streams with the same chunks, which can be read at different speeds: the faster one's lead is kept in memory. The request ends
   * when both have been left.
   */
  tee(): [ChatCompletionStream, ChatCompletionStream] {
    const [left, right] = teed(this.#start());
    return [streamWith(this.#answer, left), streamWith(this.#answer, right)];
  }

  /** The chunks as lines of JSON in UTF-8, to pass a stream on to a browser, for example. Cancelling it ends the request. */
  toReadableStream(): ReadableStream<Uint8Array> {
    return readableLines(this.#start());
  }

  /** Ends the request if it is not complete. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#chunks.leave();
  }

  #start(): Leavable<ChatCompletionChunk> {
    if (this.#started)
      throw new OstiaryError("A stream can be iterated only once. Use `tee` to read it twice.");
    this.#started = true;
    return this.#chunks;
  }
}

/** The class does not name itself: a bundler would then rename it, also in what a program prints. */
function streamWith(answer: Answer, chunks: Leavable<ChatCompletionChunk>): ChatCompletionStream {
  return new ChatCompletionStream(answer, chunks);
}

/** A stream that is being requested: await it for the stream, or iterate over its chunks at once. */
export class APIStreamPromise
  extends APIPromise<ChatCompletionStream>
  implements AsyncIterable<ChatCompletionChunk>
{
  readonly #leave: () => void;

  /** @param leave Ends the request if its answer has not begun. */
  constructor(answer: Promise<Answer>, leave: () => void) {
    super(answer, async (begun) => new ChatCompletionStream(begun));
    this.#leave = leave;
  }

  /** Iterates over the chunks, once. */
  [Symbol.asyncIterator](): AsyncGenerator<ChatCompletionChunk, void, undefined> {
    return leavable(chunksIn(this), () => {
      this.#leave();
      // A caller that leaves a request does not handle its error.
      this.then((stream) => stream[Symbol.asyncDispose]()).catch(() => {});
    });
  }
}

/** Requests a stream by `send`, with these options but for the signal, which is also aborted when the stream is left before it begins. */
export function requestedStream<Options extends { readonly signal?: AbortSignal | undefined }>(
  options: Options,
  send: (options: Options & { readonly signal: AbortSignal }) => Promise<Answer>,
): APIStreamPromise {
  const controller = new AbortController();
  let hasBegun = false;
  const begin = async (): Promise<Answer> => {
    const release = forwardAbort(objectOf("options", options).signal, controller);
    try {
      const answer = await send({ ...options, signal: controller.signal });
      hasBegun = true;
      return {
        ...answer,
        release: () => {
          answer.release();
          release();
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  };
  return new APIStreamPromise(begin(), () => {
    if (!hasBegun) controller.abort();
  });
}

async function* chunksIn(
  stream: PromiseLike<ChatCompletionStream>,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  yield* await stream;
}

/** The chunks of an answer. Leaving them ends the request, unless the answer is complete. */
function chunksOf(answer: Answer): Leavable<ChatCompletionChunk> {
  let isComplete = false;
  const chunks = readChunks(answer, () => {
    isComplete = true;
  });
  return leavable(chunks, () => {
    if (isComplete) return;
    answer.release();
    answer.controller.abort();
    // Some `fetch` implementations ignore the signal in a body that is not being read.
    answer.wire.discard();
  });
}

async function* readChunks(
  answer: Answer,
  onComplete: () => void,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const { wire, release, controller, streamIdleTimeoutMs } = answer;
  const { signal } = controller;
  const requestId = wire.header("x-request-id");
  try {
    for await (const data of eventData(streamOf(wire), signal, DONE, streamIdleTimeoutMs)) {
      if (signal.aborted) break;
      if (data === DONE) return onComplete();
      yield readChunk(data, wire);
    }
  } catch (error) {
    if (signal.aborted) throw aborted(signal);
    if (error instanceof APIConnectionTimeoutError) controller.abort();
    if (error instanceof OstiaryError) throw error;
    // The error of a lost connection differs between runtimes; a truncated event is a SyntaxError.
    throw new StreamInterruptedError("The stream broke off.", requestId, { cause: error });
  } finally {
    release();
  }
  if (signal.aborted) throw aborted(signal);
  // The service ends every complete stream with `[DONE]`, because a lost connection looks like an end.
  throw new StreamInterruptedError("The stream ended before the answer was complete.", requestId);
}

function readChunk(data: string, wire: WireAnswer): ChatCompletionChunk {
  const event: unknown = JSON.parse(data);
  if (!isFields(event)) throw notFromService(wire);
  // Some model servers put `"error": null` into every chunk.
  if (event.error != null) throw errorForEvent(event, wire.headers);
  // Some send chunks without choices, to keep a connection open or to tell the usage. What is not as its type says is left out.
  const choices = fieldsIn(event.choices);
  for (const choice of choices) {
    choice.index ??= 0;
    const delta = isFields(choice.delta) ? choice.delta : {};
    choice.delta = delta;
    if ("tool_calls" in delta) delta.tool_calls = fieldsIn(delta.tool_calls);
  }
  event.choices = choices;
  // The rest of the chunk relies on the service's contract.
  return event as unknown as ChatCompletionChunk;
}
