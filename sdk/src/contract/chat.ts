/** A body with any additional fields, which are sent to the model's server unchanged. */
interface Open {
  readonly [field: string]: unknown;
}

/** A part of a message: text, an image, a recording or a file. */
export type ChatCompletionContentPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "image_url";
      readonly image_url: { readonly url: string; readonly detail?: "auto" | "low" | "high" | "original" };
    }
  | {
      readonly type: "input_audio";
      readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" };
    }
  | {
      readonly type: "file";
      readonly file: { readonly file_data?: string; readonly file_id?: string; readonly filename?: string };
    };

/** A function that the model wants called. */
export interface ChatCompletionToolCall {
  readonly id: string;
  readonly type: "function";
  /** `arguments` is JSON, as the model wrote it. */
  readonly function: { readonly name: string; readonly arguments: string };
  /** Data that the model's server expects back with the call. */
  readonly extra_content?: unknown;
}

/** A message of the conversation in a request. */
export type ChatCompletionMessageParam =
  | {
      readonly role: "system" | "developer";
      readonly content: string | readonly ChatCompletionContentPart[];
      readonly name?: string;
    }
  | {
      readonly role: "user";
      readonly content: string | readonly ChatCompletionContentPart[];
      readonly name?: string;
    }
  | {
      readonly role: "assistant";
      readonly content?: string | readonly ChatCompletionContentPart[] | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly ChatCompletionToolCall[];
      readonly name?: string;
    }
  | {
      readonly role: "tool";
      readonly content: string | readonly ChatCompletionContentPart[];
      readonly tool_call_id: string;
    };

/** A function that the model may call. */
export interface ChatCompletionTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    /** A JSON schema. */
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly strict?: boolean | null;
  };
}

/** Whether the model may, or must, call a function. */
export type ChatCompletionToolChoice =
  | "none"
  | "auto"
  | "required"
  | { readonly type: "function"; readonly function: { readonly name: string } };

/** The required format of the answer. */
export type ChatCompletionResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly json_schema: {
        readonly name: string;
        readonly description?: string;
        readonly schema?: Readonly<Record<string, unknown>>;
        readonly strict?: boolean | null;
      };
    };

/** Parameters of `chat.completions.create`. */
export interface ChatCompletionCreateParams extends Open {
  /** Id of a model of the catalog. */
  readonly model: string;
  readonly messages: readonly ChatCompletionMessageParam[];
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: boolean } | null;
  readonly max_completion_tokens?: number | null;
  readonly max_tokens?: number | null;
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  readonly n?: number | null;
  readonly stop?: string | readonly string[] | null;
  readonly seed?: number | null;
  readonly frequency_penalty?: number | null;
  readonly presence_penalty?: number | null;
  /** Token id → bias, -100 to 100. */
  readonly logit_bias?: Readonly<Record<string, number>> | null;
  readonly logprobs?: boolean | null;
  /** 0 to 20; needs `logprobs`. */
  readonly top_logprobs?: number | null;
  readonly tools?: readonly ChatCompletionTool[];
  readonly tool_choice?: ChatCompletionToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: ChatCompletionResponseFormat;
  readonly reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly service_tier?: string | null;
  readonly prompt_cache_key?: string;
  readonly user?: string;
}

/** Parameters of a streamed completion. */
export interface ChatCompletionCreateParamsStreaming extends ChatCompletionCreateParams {
  readonly stream: true;
}

/** Parameters of a completion that is not streamed. */
export interface ChatCompletionCreateParamsNonStreaming extends ChatCompletionCreateParams {
  readonly stream?: false | null;
}

/** Why a choice ended. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A token with its probability. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** The token's bytes in UTF-8, for tokens that are a part of a character. */
  readonly bytes: readonly number[] | null;
}

/** The log probabilities that `logprobs: true` adds to a choice. */
export interface ChoiceLogprobs {
  readonly content: readonly (TokenLogprob & { readonly top_logprobs: readonly TokenLogprob[] })[] | null;
}

/** Tokens of a request. */
export interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
}

/** A message that the model wrote. */
export interface ChatCompletionMessage {
  readonly role: "assistant";
  readonly content: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ChatCompletionToolCall[];
}

/** A complete answer. */
export interface ChatCompletion {
  readonly id: string;
  readonly object: "chat.completion";
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly message: ChatCompletionMessage;
    readonly finish_reason: FinishReason;
    readonly logprobs?: ChoiceLogprobs | null;
  }[];
  readonly usage?: CompletionUsage;
  readonly service_tier?: string | null;
  readonly system_fingerprint?: string | null;
  /** Hidden: not enumerable. */
  readonly _request_id?: string | null;
}

/** A piece of a streamed answer. */
export interface ChatCompletionChunk {
  readonly id: string;
  readonly object: "chat.completion.chunk";
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: {
      readonly role?: "assistant";
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly type?: "function";
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
    readonly finish_reason: FinishReason | null;
    readonly logprobs?: ChoiceLogprobs | null;
  }[];
  /** On the last chunk, if `stream_options.include_usage` was set. */
  readonly usage?: CompletionUsage | null;
}
