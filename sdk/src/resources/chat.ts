import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionCreateParamsStreaming,
} from "../contract/chat.ts";
import type { OutputFormat, ParsedChatCompletion } from "../contract/structured.ts";
import { APIPromise } from "../core/api-promise.ts";
import { bodyOf } from "../core/body.ts";
import { ChatStream } from "../core/chat-stream.ts";
import { objectOf } from "../core/checks.ts";
import { notFromService } from "../core/error-answers.ts";
import { isFields } from "../core/fields.ts";
import { type APIStreamPromise, type ChatCompletionStream, requestedStream } from "../core/stream.ts";
import { parsedCompletion, responseFormatOf } from "../core/structured.ts";
import { ToolRun, type ToolRunOptions, type ToolRunParams } from "../core/tool-run.ts";
import type { RequestOptions, Transport } from "../core/transport.ts";

const EXAMPLE = '{ model: "…", messages: [{ role: "user", content: "…" }] }';

/** Chat. */
export class Chat {
  /** Chat completions. */
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
   * @example
   * ```ts
   * const { choices } = await client.chat.completions.create({
   *   model: "sandbox/echo",
   *   messages: [{ role: "user", content: "Hello!" }],
   * });
   * console.log(choices[0]?.message.content);
   * ```
   *
   * @example
   * ```ts
   * const stream = await client.chat.completions.create({
   *   model: "sandbox/echo",
   *   messages: [{ role: "user", content: "Hello!" }],
   *   stream: true,
   * });
   * for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? "");
   * ```
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
    return requestedStream(options, (own) => this.#transport.send({ ...target, isStreamed: true }, own));
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
    const { signal: own } = objectOf("options", options);
    return new ChatStream((signal) => this.create({ ...body, stream: true }, { ...options, signal }), own);
  }

  /**
   * Creates a chat completion in the form of a schema, and validates it.
   *
   * @example
   * ```ts
   * import { z } from "zod";
   *
   * const City = z.object({ name: z.string(), country: z.string() });
   * const body = { model: "sandbox/echo", messages: [{ role: "user" as const, content: "Paris" }] };
   * const { choices } = await client.chat.completions.parse(body, { schema: City });
   * console.log(choices[0]?.message.parsed?.name);
   * ```
   *
   * @throws {OutputValidationError} the answer is cut off, is not JSON or does not follow the schema. It was charged.
   * @throws {OstiaryError} the schema is missing, or it cannot be converted to JSON Schema and `jsonSchema` is missing.
   */
  parse<Output>(
    params: Omit<ChatCompletionCreateParamsNonStreaming, "response_format" | "stream">,
    format: OutputFormat<Output>,
    options?: RequestOptions,
  ): APIPromise<ParsedChatCompletion<Output>> {
    const given = bodyOf("chat.completions.parse", EXAMPLE, params);
    const body = { ...given, response_format: responseFormatOf(format) };
    const answer = this.#transport.send({ method: "POST", path: "/chat/completions", body }, options);
    return new APIPromise(answer, async (begun) => {
      const completion = await this.#transport.read<ChatCompletion>(begun);
      if (!isCompletion(completion)) throw notFromService(begun.wire);
      return parsedCompletion(completion, format.schema);
    });
  }

  /**
   * Lets the model call functions, several at once if it wants, until it answers without a call. With `stream: true` the run emits the
   * text of answers as it arrives.
   *
   * @example
   * ```ts
   * import { tool } from "ostiary";
   * import { z } from "zod";
   *
   * const weather = tool({
   *   name: "weather",
   *   schema: z.object({ city: z.string() }),
   *   run: ({ city }) => `21 °C in ${city}`,
   * });
   * const messages = [{ role: "user" as const, content: "How warm is it in Paris?" }];
   * const run = client.chat.completions.runTools({ model: "sandbox/echo", messages, tools: [weather] });
   * console.log(await run.finalContent(), run.totalUsage.total_tokens);
   * ```
   */
  runTools(params: ToolRunParams, options: ToolRunOptions = {}): ToolRun {
    const body = bodyOf("chat.completions.runTools", EXAMPLE, params);
    const given = objectOf("options", options);
    return new ToolRun((request, own, onContent) => this.#ask(request, own, onContent), body, given);
  }

  async #ask(
    { stream, ...body }: ChatCompletionCreateParams,
    options: RequestOptions,
    onContent: (delta: string, snapshot: string) => void,
  ): Promise<ChatCompletion> {
    if (stream !== true) return this.create(body, options);
    // Without it, streams have no usage, of which a run has the sum.
    const stream_options = { include_usage: true, ...body.stream_options };
    return this.stream({ ...body, stream_options }, options)
      .on("content", onContent)
      .finalCompletion();
  }
}

/** Whether an answer has choices with messages, or none. */
function isCompletion({ choices }: Partial<ChatCompletion>): boolean {
  return Array.isArray(choices) && choices.every((choice) => isFields(choice?.message));
}
