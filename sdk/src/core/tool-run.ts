/// <reference lib="esnext.disposable" preserve="true" />
import type {
  ChatCompletion,
  ChatCompletionCreateParams,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
  ChatCompletionToolCall,
  CompletionUsage,
} from "../contract/chat.ts";
import { forwardAbort, unlessAborted } from "./abort.ts";
import { messageOf } from "./accumulate.ts";
import { fromCaller, positive } from "./checks.ts";
import { APIUserAbortError, OstiaryError } from "./errors.ts";
import { type EndEvents, EventStream } from "./event-stream.ts";
import { fieldsIn } from "./fields.ts";
import type { RunnableTool } from "./tools.ts";
import type { RequestOptions } from "./transport.ts";

/** Events of a run and the arguments of their listeners. */
export interface ToolRunEvents extends EndEvents {
  /** With `stream: true`: new text of the round's answer, and all of its text so far. */
  content: [delta: string, snapshot: string];
  /** A complete answer of the model. */
  completion: [completion: ChatCompletion];
  /** A message of the model or with the result of a tool, as it is added to the conversation. */
  message: [message: ChatCompletionMessageParam];
  /** The model called a tool. */
  toolCall: [call: ChatCompletionToolCall];
  /** A tool has answered. */
  toolResult: [
    result: {
      /** The call that the tool answers. */
      readonly call: ChatCompletionToolCall;
      /** The result, as the model reads it. */
      readonly content: string;
      /** What the tool's function threw, if it did. */
      readonly error?: unknown;
    },
  ];
}

/** Parameters of `runTools`. */
export interface ToolRunParams extends Omit<ChatCompletionCreateParams, "tools" | "n"> {
  /** The functions that the model may call. A `tool_choice` that demands a call applies to the first round. */
  readonly tools: readonly RunnableTool[];
}

/** Options of a run. Those of requests apply to the request of each round. */
export interface ToolRunOptions extends RequestOptions {
  /** The maximum number of requests. Default 10. */
  readonly maxRounds?: number | undefined;
}

/** Asks the model for one answer, with progress if it is streamed. */
export type AskModel = (
  body: ChatCompletionCreateParams,
  options: RequestOptions,
  onContent: (delta: string, snapshot: string) => void,
) => Promise<ChatCompletion>;

const DEFAULT_ROUNDS = 10;

/**
 * A conversation in which the model calls functions until it answers without a call. It starts at once. An error that is not awaited or
 * listened for becomes an unhandled rejection.
 */
export class ToolRun extends EventStream<ToolRunEvents, ChatCompletion> {
  readonly #controller = new AbortController();
  readonly #messages: ChatCompletionMessageParam[];
  readonly #usages: CompletionUsage[] = [];
  readonly #ask: AskModel;
  readonly #tools: ReadonlyMap<string, RunnableTool>;

  constructor(ask: AskModel, { tools, ...params }: ToolRunParams, options: ToolRunOptions) {
    super();
    this.#ask = ask;
    [this.#messages, this.#tools] = fromCaller(() => [
      [...params.messages],
      new Map(tools.map((known) => [known.definition.function.name, known])),
    ]);
    const body = {
      ...params,
      ...(tools.length === 0 ? {} : { tools: tools.map(({ definition }) => definition) }),
    };
    this.start(() => this.#run(body, options));
  }

  /** The conversation so far, with the calls and results of tools. Pass it on to continue the conversation. */
  get messages(): readonly ChatCompletionMessageParam[] {
    return this.#messages;
  }

  /** The tokens of all requests so far. */
  get totalUsage(): CompletionUsage {
    const sum = (name: "prompt_tokens" | "completion_tokens" | "total_tokens") =>
      this.#usages.reduce((total, usage) => total + (usage[name] ?? 0), 0);
    return {
      prompt_tokens: sum("prompt_tokens"),
      completion_tokens: sum("completion_tokens"),
      total_tokens: sum("total_tokens"),
    };
  }

  /** Ends the run: the request that is under way, and, by their signal, the functions that are. */
  abort(): void {
    this.#controller.abort();
  }

  /**
   * The last answer, which calls no tool.
   *
   * @throws {OstiaryError} the model still called tools in the last of `maxRounds`.
   */
  finalCompletion(): Promise<ChatCompletion> {
    return this.result();
  }

  /** The last answer's message. */
  async finalMessage(): Promise<ChatCompletionMessage> {
    return messageOf(await this.result());
  }

  /** The last answer's text. */
  async finalContent(): Promise<string> {
    return (await this.finalMessage()).content ?? "";
  }

  /** Ends the run if it is not over. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.abort();
  }

  async #run(body: ChatCompletionCreateParams, options: ToolRunOptions): Promise<ChatCompletion> {
    const { maxRounds: given, signal, ...own } = options;
    const maxRounds = positive("maxRounds", given ?? DEFAULT_ROUNDS);
    const release = forwardAbort(signal, this.#controller);
    try {
      for (let round = 1; round <= maxRounds; round++) {
        const request = round === 1 ? body : withoutForcedChoice(body);
        const completion = await this.#round(request, { ...own, ...keyOfRound(own, round) });
        const calls = callsIn(completion);
        if (calls.length === 0) return completion;
        await this.#answer(calls);
      }
      throw new OstiaryError(`The model still calls tools after ${maxRounds} rounds. Raise \`maxRounds\`.`);
    } finally {
      release();
    }
  }

  async #round(body: ChatCompletionCreateParams, options: RequestOptions): Promise<ChatCompletion> {
    this.#throwIfAborted();
    const request = { ...body, messages: [...this.#messages] };
    const completion = await this.#ask(request, { ...options, signal: this.#controller.signal }, (...text) =>
      this.emit("content", ...text),
    );
    if (completion.usage != null) this.#usages.push(completion.usage);
    this.emit("completion", completion);
    this.#add(messageOf(completion));
    return completion;
  }

  /** Runs the called functions at the same time, and adds their results in the order of the calls. */
  async #answer(calls: readonly ChatCompletionToolCall[]): Promise<void> {
    for (const call of calls) this.emit("toolCall", call);
    this.#throwIfAborted();
    // A function may ignore the signal, or abort the run before it returns.
    const answering = Promise.all(calls.map((call) => this.#resultOf(call)));
    const contents = await unlessAborted(answering, this.#controller.signal).catch((error) => {
      this.#throwIfAborted();
      throw error;
    });
    for (const [index, call] of calls.entries()) {
      this.#add({ role: "tool", tool_call_id: call.id, content: contents[index] ?? "" });
    }
  }

  /** The text that the model gets for a call: also for an error, so that it can correct its call. */
  async #resultOf(call: ChatCompletionToolCall): Promise<string> {
    const result = await this.#call(call).then(
      (content) => ({ call, content }),
      (error: unknown) => ({
        call,
        content: `Error: ${error instanceof Error ? error.message : String(error)}`,
        error,
      }),
    );
    this.#throwIfAborted();
    this.emit("toolResult", result);
    return result.content;
  }

  async #call(call: ChatCompletionToolCall): Promise<string> {
    // Some model servers send calls without a type, or without a function.
    const isCustom = call.type === "custom";
    const name = isCustom ? call.custom?.name : call.function?.name;
    const known = this.#tools.get(name);
    if (known === undefined || isCustom) {
      throw new OstiaryError(
        `There is no function ${name}. There are: ${[...this.#tools.keys()].join(", ")}.`,
      );
    }
    return known.call(call.function.arguments, { signal: this.#controller.signal, call });
  }

  #add(message: ChatCompletionMessageParam): void {
    this.#messages.push(message);
    this.emit("message", message);
  }

  #throwIfAborted(): void {
    if (this.#controller.signal.aborted)
      throw new APIUserAbortError("The run was aborted.", { cause: this.#controller.signal.reason });
  }
}

/** A model that must call a function in every round would never answer. */
function withoutForcedChoice(body: ChatCompletionCreateParams): ChatCompletionCreateParams {
  const { tool_choice: choice, ...rest } = body;
  if (choice === undefined || choice === "auto" || choice === "none") return body;
  if (typeof choice === "string" || choice.type !== "allowed_tools") return rest;
  const { tools } = choice.allowed_tools;
  return { ...rest, tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools } } };
}

/** A key of the caller's names one request, so each round has its own. */
function keyOfRound({ idempotencyKey }: RequestOptions, round: number): RequestOptions {
  return typeof idempotencyKey === "string" ? { idempotencyKey: `${idempotencyKey}-${round}` } : {};
}

function callsIn(completion: ChatCompletion): readonly ChatCompletionToolCall[] {
  return fieldsIn(messageOf(completion).tool_calls) as readonly object[] as readonly ChatCompletionToolCall[];
}
