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
   * A chat completion; with `stream: true`, its chunks as they are made. Fields that are not typed here go to the
   * model's server as they are.
   *
   * @throws {APIError} the class tells which error: {@link BadRequestError}, {@link AuthenticationError},
   *   {@link PaymentRequiredError}, {@link PermissionDeniedError}, {@link NotFoundError}, {@link RateLimitError}…
   * @throws {APIConnectionError} no answer came, or it broke off.
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
   * A streamed chat completion with events, and what it adds up to.
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
