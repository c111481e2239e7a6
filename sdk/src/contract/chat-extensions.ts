// Fields of chat completions that OpenAI does not have. The service translates them for models of other providers.

/** The end of a part of the prompt that the model's server caches. Models of Anthropic need it; others cache by themselves. */
export interface CacheControl {
  /** The kind of the cache. */
  readonly type: "ephemeral";
  /** How long the prompt stays in the cache. Default `5m`. */
  readonly ttl?: "5m" | "1h" | undefined;
}

/** A part of a request that may be the end of what is cached. */
export interface Cacheable {
  /** That the prompt is cached up to here, this included. Default: it is not. */
  readonly cache_control?: CacheControl | null | undefined;
}

/** How the model reasons, in the words of OpenRouter's clients. `effort` and `max_tokens` exclude each other. */
export interface ChatCompletionReasoning {
  /** How long the model reasons. */
  readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null | undefined;
  /** The maximum number of tokens of the reasoning, a part of `max_tokens`; 0 turns reasoning off. */
  readonly max_tokens?: number | null | undefined;
  /** `true`: the model reasons, with the effort `medium` if no other field says how long. `false`: it does not. */
  readonly enabled?: boolean | null | undefined;
  /** Whether the answer lacks the reasoning. Default `false`. */
  readonly exclude?: boolean | null | undefined;
  /** The summary that a model of OpenAI's Responses API is asked for, such as `auto`. */
  readonly summary?: string | null | undefined;
}

/** How the model reasons, in the words of Anthropic's and LiteLLM's clients. */
export type ChatCompletionThinking =
  | {
      /** The model reasons: up to the budget, or without one as much as it sees fit. */
      readonly type: "enabled";
      /** The maximum number of tokens of the reasoning, a part of `max_tokens`. */
      readonly budget_tokens?: number | null | undefined;
      /** Whether the answer has the reasoning. Default `summarized`. */
      readonly display?: "summarized" | "omitted" | null | undefined;
    }
  | {
      /** The model reasons as much as it sees fit, or with the `reasoning_effort` of the request. */
      readonly type: "adaptive";
      /** Whether the answer has the reasoning. Default `summarized`. */
      readonly display?: "summarized" | "omitted" | null | undefined;
    }
  | {
      /** The model does not reason. */
      readonly type: "disabled";
    };

/** Parameters of `chat.completions.create` that OpenAI does not have. */
export interface ChatCompletionExtensions extends Cacheable {
  /** The number of most likely tokens that are considered: 1 or more. For models of Anthropic and Google. Default: the model's. */
  readonly top_k?: number | null | undefined;
  /** How the model reasons, with more than `reasoning_effort`. Set this or `thinking`. */
  readonly reasoning?: ChatCompletionReasoning | null | undefined;
  /** The older name of the opposite of `reasoning.exclude`. */
  readonly include_reasoning?: boolean | null | undefined;
  /** How the model reasons. Set this or `reasoning`. */
  readonly thinking?: ChatCompletionThinking | null | undefined;
}
