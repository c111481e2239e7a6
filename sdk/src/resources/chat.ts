import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from "../contract/chat.ts";
import type { APIPromise } from "../core/api-promise.ts";
import { bodyOf } from "../core/body.ts";
import { ChatStream } from "../core/chat-stream.ts";
import { APIStreamPromise, type ChatCompletionStream } from "../core/stream.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

const EXAMPLE = '{ model: "…", messages: [{ role: "user", content: "…" }] }';

/** Chat. */
export class Chat {
  readonly completions: ChatCompletions;

  constructor(transport: Transport) {
    this.completions = new ChatCompletions(transport);
  }
}

/** Chat completions. */
export class ChatCompletions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates a chat completion; with `stream: true`, returns its chunks as they arrive.
   *
   * A request that is not streamed is sent with an idempotency key, so that a retry is not charged again. Such a request runs to
   * completion, and is charged, even if you abort it.
   *
   * @throws {APIError} the class tells which error: {@link BadRequestError}, {@link AuthenticationError},
   *   {@link PaymentRequiredError}, {@link PermissionDeniedError}, {@link NotFoundError}, {@link RateLimitError}…
   * @throws {APIConnectionError} there was no answer, or it was interrupted.
   * @throws {APIUserAbortError} `options.signal` was aborted.
   * @throws {OstiaryError} `body` is missing.
   */
  create(body: ChatCompletionCreateParamsNonStreaming, options?: RequestOptions): APIPromise<ChatCompletion>;
  create(body: ChatCompletionCreateParamsStreaming, options?: RequestOptions): APIStreamPromise;
  create(
    body: ChatCompletionCreateParams,
    options?: RequestOptions,
  ): APIPromise<ChatCompletion | ChatCompletionStream>;
  create(
    params: ChatCompletionCreateParams,
    options: RequestOptions = {},
  ): APIPromise<ChatCompletion | ChatCompletionStream> {
    const body = bodyOf("chat.completions.create", EXAMPLE, params);
    const target = { method: "POST", path: "/chat/completions", body } as const;
    if (body.stream !== true) return this.#transport.request<ChatCompletion>(target, options);
    return new APIStreamPromise(this.#transport.send({ ...target, isStreamed: true }, options));
  }

  /**
   * Creates a streamed chat completion with events and a final message.
   *
   * @example
   * ```ts
   * const stream = client.chat.completions
   *   .stream({ model: "sandbox/echo", messages: [{ role: "user", content: "Hello!" }] })
   *   .on("content", (delta) => process.stdout.write(delta));
   * const message = await stream.finalMessage();
   * ```
   */
  stream(params: Omit<ChatCompletionCreateParams, "stream">, options: RequestOptions = {}): ChatStream {
    const body = bodyOf("chat.completions.stream", EXAMPLE, params);
    return new ChatStream(this.create({ ...body, stream: true }, options));
  }
}
