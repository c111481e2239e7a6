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

  /** A chat completion; with `stream: true`, its chunks as they are made. */
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
    return new ChatCompletionStream(await this.#transport.send(target, options), options.signal);
  }
}
