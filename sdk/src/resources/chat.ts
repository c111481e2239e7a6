import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from "../contract/chat.ts";
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
  create(body: ChatCompletionCreateParamsNonStreaming, options?: RequestOptions): Promise<ChatCompletion>;
  create(body: ChatCompletionCreateParamsStreaming, options?: RequestOptions): Promise<ChatCompletionStream>;
  create(
    body: ChatCompletionCreateParams,
    options?: RequestOptions,
  ): Promise<ChatCompletion | ChatCompletionStream>;
  async create(
    body: ChatCompletionCreateParams,
    options: RequestOptions = {},
  ): Promise<ChatCompletion | ChatCompletionStream> {
    const target = { method: "POST", path: "/chat/completions", body } as const;
    if (body.stream !== true) return this.#transport.json<ChatCompletion>(target, options);
    return new ChatCompletionStream(await this.#transport.send(target, options));
  }
}
