import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from "../contract/chat.ts";
import { APIPromise } from "../core/api-promise.ts";
import { ChatStream } from "../core/chat-stream.ts";
import { ChatCompletionStream } from "../core/stream.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

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
   * Creates a chat completion; with `stream: true`, returns its chunks as they arrive. Fields that are not typed here are sent
   * unchanged.
   *
   * @throws {APIError} the class tells which error: {@link BadRequestError}, {@link AuthenticationError},
   *   {@link PaymentRequiredError}, {@link PermissionDeniedError}, {@link NotFoundError}, {@link RateLimitError}…
   * @throws {APIConnectionError} there was no answer, or it was interrupted.
   * @throws {APIUserAbortError} `options.signal` was aborted.
   */
  create(body: ChatCompletionCreateParamsNonStreaming, options?: RequestOptions): APIPromise<ChatCompletion>;
  create(
    body: ChatCompletionCreateParamsStreaming,
    options?: RequestOptions,
  ): APIPromise<ChatCompletionStream>;
  create(
    body: ChatCompletionCreateParams,
    options?: RequestOptions,
  ): APIPromise<ChatCompletion | ChatCompletionStream>;
  create(
    body: ChatCompletionCreateParams,
    options: RequestOptions = {},
  ): APIPromise<ChatCompletion | ChatCompletionStream> {
    const target = { method: "POST", path: "/chat/completions", body } as const;
    if (body.stream !== true) return this.#transport.request<ChatCompletion>(target, options);
    return new APIPromise(
      this.#transport.send(target, options),
      async (answer) => new ChatCompletionStream(answer),
    );
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
  stream(body: Omit<ChatCompletionCreateParams, "stream">, options: RequestOptions = {}): ChatStream {
    const streamed = { ...body, stream: true } as ChatCompletionCreateParamsStreaming;
    return new ChatStream(Promise.resolve(this.create(streamed, options)));
  }
}
