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
export interface ChatCompletionFunctionToolCall {
  readonly id: string;
  readonly type: "function";
  /** `arguments` is JSON, as the model wrote it. */
  readonly function: { readonly name: string; readonly arguments: string };
  /** Data that the model's server expects back with the call. */
  readonly extra_content?: unknown;
}

/** A custom tool that the model wants called, with input of any form. */
export interface ChatCompletionCustomToolCall {
  readonly id: string;
  readonly type: "custom";
  readonly custom: { readonly name: string; readonly input: string };
}

/** A tool that the model wants called. `type` tells which kind; without custom tools in the request it is always `function`. */
export type ChatCompletionToolCall = ChatCompletionFunctionToolCall | ChatCompletionCustomToolCall;

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
      /** An earlier spoken answer. */
      readonly audio?: { readonly id: string } | null;
      readonly name?: string;
    }
  | {
      readonly role: "tool";
      readonly content: string | readonly ChatCompletionContentPart[];
      readonly tool_call_id: string;
    };

/** A function that the model may call. */
export interface ChatCompletionFunctionTool {
  readonly type: "function";
  readonly function: {
    /** Letters, digits, `_` and `-`: up to 64. */
    readonly name: string;
    /** By which the model decides when and how to call the function. */
    readonly description?: string;
    /** A JSON schema. Default: no arguments. */
    readonly parameters?: Readonly<Record<string, unknown>>;
    /** Whether the arguments follow the schema exactly. Default `false`. */
    readonly strict?: boolean | null;
  };
}

/** A tool whose input has any form, or that of a grammar. */
export interface ChatCompletionCustomTool {
  readonly type: "custom";
  readonly custom: {
    readonly name: string;
    readonly description?: string;
    readonly format?:
      | { readonly type: "text" }
      | {
          readonly type: "grammar";
          readonly grammar: { readonly definition: string; readonly syntax: "lark" | "regex" };
        };
  };
}

/** A tool that the model may call. */
export type ChatCompletionTool = ChatCompletionFunctionTool | ChatCompletionCustomTool;

/** Whether the model may, or must, call a tool. */
export type ChatCompletionToolChoice =
  | "none"
  | "auto"
  | "required"
  | { readonly type: "function"; readonly function: { readonly name: string } }
  | { readonly type: "custom"; readonly custom: { readonly name: string } }
  | {
      readonly type: "allowed_tools";
      readonly allowed_tools: {
        /** Whether the model may, or must, call one of them. */
        readonly mode: "auto" | "required";
        /** Some of the request's tools, such as `{ type: "function", function: { name: "…" } }`. */
        readonly tools: readonly Readonly<Record<string, unknown>>[];
      };
    };

/** The required format of the answer. */
export type ChatCompletionResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly json_schema: {
        readonly name: string;
        readonly description?: string;
        /** A JSON schema. */
        readonly schema?: Readonly<Record<string, unknown>>;
        /** Whether the answer follows the schema exactly. Default `false`. */
        readonly strict?: boolean | null;
      };
    };

/** Options of a streamed completion. */
export interface ChatCompletionStreamOptions {
  /** Whether a last chunk, without choices, has the tokens of the request as `usage`. Default `false`. */
  readonly include_usage?: boolean;
  /** Whether chunks are padded, so that their lengths do not reveal the lengths of tokens. */
  readonly include_obfuscation?: boolean;
}

/** Voice and format of a spoken answer. */
export interface ChatCompletionAudioParam {
  /** A voice of the model, such as `alloy`. */
  readonly voice: string | { readonly id: string };
  readonly format: "wav" | "aac" | "mp3" | "flac" | "opus" | "pcm16";
}

/** Text that the answer will largely repeat, which makes it faster. */
export interface ChatCompletionPrediction {
  readonly type: "content";
  readonly content: string | readonly { readonly type: "text"; readonly text: string }[];
}

/** Options of a web search by the model's server. */
export interface ChatCompletionWebSearchOptions {
  /** How much of the results the model reads. Default `medium`. */
  readonly search_context_size?: "low" | "medium" | "high";
  /** Where the user is, approximately. */
  readonly user_location?: {
    readonly type: "approximate";
    readonly approximate: {
      readonly city?: string;
      /** Two letters (ISO 3166-1). */
      readonly country?: string;
      readonly region?: string;
      /** A name of the IANA time zone database. */
      readonly timezone?: string;
    };
  } | null;
}

/**
 * Parameters of `chat.completions.create`, as OpenAI documents them. Which of them have an effect depends on the model. Send parameters
 * that are not typed here in `extra_body`.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
export interface ChatCompletionCreateParams {
  /** Id or alias of a model of the catalog: see `models.list`. */
  readonly model: string;
  /** The conversation so far, oldest message first: 1 to 10,000 messages. */
  readonly messages: readonly ChatCompletionMessageParam[];
  /** Whether chunks are sent as the model writes them. Default `false`. */
  readonly stream?: boolean | null;
  /** Only with `stream: true`. */
  readonly stream_options?: ChatCompletionStreamOptions | null;
  /** The maximum number of tokens of the answer, including those of reasoning: 1 or more. Default: the model's maximum. */
  readonly max_completion_tokens?: number | null;
  /** The older name of `max_completion_tokens`, which some models' servers need. If both are given, the larger one is charged for. */
  readonly max_tokens?: number | null;
  /** Randomness: 0 to 2. Default: the model's, usually 1. Set this or `top_p`. */
  readonly temperature?: number | null;
  /** Only the most likely tokens that together have this probability are considered: 0 to 1. Default 1. */
  readonly top_p?: number | null;
  /** The number of answers, each of which is charged: 1 to 128. Default 1. */
  readonly n?: number | null;
  /** Texts before which the answer ends: up to 64. Models have lower maximums, often 4. */
  readonly stop?: string | readonly string[] | null;
  /** An integer. The same request with the same seed has the same answer where the model's server can do that. */
  readonly seed?: number | null;
  /** Discourages tokens that occur often: -2 to 2. Default 0. */
  readonly frequency_penalty?: number | null;
  /** Discourages tokens that occur at all: -2 to 2. Default 0. */
  readonly presence_penalty?: number | null;
  /** Token id → bias, -100 to 100. */
  readonly logit_bias?: Readonly<Record<string, number>> | null;
  /** Whether the answer has the log probabilities of its tokens. Default `false`. */
  readonly logprobs?: boolean | null;
  /** The number of likely alternatives at each token: 0 to 20. Needs `logprobs`. */
  readonly top_logprobs?: number | null;
  /** The tools that the model may call: up to 1,024. */
  readonly tools?: readonly ChatCompletionTool[];
  /** Default: `auto` with tools, `none` without. */
  readonly tool_choice?: ChatCompletionToolChoice;
  /** Whether the model may call several tools at once. Default `true`. */
  readonly parallel_tool_calls?: boolean;
  /** Default: text. `parse` sets it from a schema. */
  readonly response_format?: ChatCompletionResponseFormat;
  /** How long the model reasons before it answers. Models know different values. */
  readonly reasoning_effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
  /** How long the answer is. Default `medium`. */
  readonly verbosity?: "low" | "medium" | "high" | null;
  /** Default `["text"]`. `audio` needs {@link ChatCompletionCreateParams.audio}. */
  readonly modalities?: readonly ("text" | "audio")[] | null;
  /** Only with the modality `audio`. */
  readonly audio?: ChatCompletionAudioParam | null;
  /** Text that the answer will largely repeat. */
  readonly prediction?: ChatCompletionPrediction | null;
  /** Allows models with web search to search. */
  readonly web_search_options?: ChatCompletionWebSearchOptions;
  /** Up to 16 pairs; names of up to 64 characters, values of up to 512. */
  readonly metadata?: Readonly<Record<string, string>> | null;
  /** Whether the model's server keeps the completion. Default `false`. */
  readonly store?: boolean | null;
  /** The model server's class of processing, such as `auto`, `default`, `flex` or `priority`. */
  readonly service_tier?: string | null;
  /** Requests with the same key and beginning are likely to find that beginning in the model server's cache. */
  readonly prompt_cache_key?: string | null;
  /** How long the beginning stays in the model server's cache. */
  readonly prompt_cache_retention?: "in_memory" | "24h" | null;
  /** A stable pseudonym of the end user of up to 64 characters, by which the model's server finds abuse. */
  readonly safety_identifier?: string | null;
  /** The older name of `safety_identifier`. */
  readonly user?: string;
  /**
   * Fields that are added to the body, unchanged: parameters of the model's server that are not typed here. A field of the same name
   * replaces the typed one.
   */
  readonly extra_body?: Readonly<Record<string, unknown>> | undefined;
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
  readonly refusal?: readonly (TokenLogprob & { readonly top_logprobs: readonly TokenLogprob[] })[] | null;
}

/** A source that the model cites. */
export interface ChatCompletionAnnotation {
  readonly type: "url_citation";
  readonly url_citation: {
    readonly url: string;
    readonly title: string;
    /** The cited part of the answer, in characters. */
    readonly start_index: number;
    readonly end_index: number;
  };
}

/** Tokens of a request. */
export interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: {
    /** Tokens of the prompt that were in the model server's cache. */
    readonly cached_tokens?: number;
    readonly audio_tokens?: number;
  };
  readonly completion_tokens_details?: {
    readonly reasoning_tokens?: number;
    readonly audio_tokens?: number;
    readonly accepted_prediction_tokens?: number;
    readonly rejected_prediction_tokens?: number;
  };
}

/** A message that the model wrote. */
export interface ChatCompletionMessage {
  readonly role: "assistant";
  readonly content: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ChatCompletionToolCall[];
  /** The model's reasoning, by the name that its server has for it. */
  readonly reasoning?: string | null;
  readonly reasoning_content?: string | null;
  readonly annotations?: readonly ChatCompletionAnnotation[];
  readonly audio?: ChatCompletionAudio | null;
}

/** A spoken answer. */
export interface ChatCompletionAudio {
  readonly id: string;
  /** Base64, in the requested format. */
  readonly data: string;
  readonly transcript: string;
  /** Unix seconds. */
  readonly expires_at: number;
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
      readonly reasoning?: string | null;
      readonly reasoning_content?: string | null;
    };
    readonly finish_reason: FinishReason | null;
    readonly logprobs?: ChoiceLogprobs | null;
  }[];
  /** On the last chunk, if `stream_options.include_usage` was set. */
  readonly usage?: CompletionUsage | null;
  readonly service_tier?: string | null;
  readonly system_fingerprint?: string | null;
}
