import type { Cacheable, ChatCompletionExtensions } from "./chat-extensions.ts";

/** A part of a message: text, an image, a recording or a file. */
export type ChatCompletionContentPart = Cacheable &
  (
    | {
        /** The kind of the part. */
        readonly type: "text";
        /** The text. */
        readonly text: string;
      }
    | {
        /** The kind of the part. */
        readonly type: "image_url";
        /** The image. */
        readonly image_url: {
          /** An `https:` address that the model's server can reach, or a `data:` URL with the image in Base64. */
          readonly url: string;
          /** The resolution at which the model reads the image: a lower one takes fewer tokens. Default `auto`. */
          readonly detail?: "auto" | "low" | "high" | "original" | undefined;
        };
      }
    | {
        /** The kind of the part. */
        readonly type: "input_audio";
        /** The recording. */
        readonly input_audio: {
          /** The recording in Base64. */
          readonly data: string;
          /** The format of the recording. */
          readonly format: "wav" | "mp3";
        };
      }
    | {
        /** The kind of the part. */
        readonly type: "file";
        /** The file: `file_data` with `filename`, or `file_id`. */
        readonly file: {
          /** A `data:` URL with the file in Base64. */
          readonly file_data?: string | undefined;
          /** The id of a file that the model's server has. */
          readonly file_id?: string | undefined;
          /** The name of the file. */
          readonly filename?: string | undefined;
        };
      }
  );

/** A function that the model wants called. */
export interface ChatCompletionFunctionToolCall extends Cacheable {
  /** The id of the call, which the message with its result names as `tool_call_id`. */
  readonly id: string;
  /** The kind of the tool. */
  readonly type: "function";
  /** The function and its arguments. */
  readonly function: {
    /** The name of the function. */
    readonly name: string;
    /** JSON, as the model wrote it: it may be invalid, or not follow the schema. */
    readonly arguments: string;
  };
  /** Data that the model's server expects back with the call. */
  readonly extra_content?: unknown;
}

/** A custom tool that the model wants called, with input of any form. */
export interface ChatCompletionCustomToolCall {
  /** The id of the call, which the message with its result names as `tool_call_id`. */
  readonly id: string;
  /** The kind of the tool. */
  readonly type: "custom";
  /** The tool and its input. */
  readonly custom: {
    /** The name of the tool. */
    readonly name: string;
    /** The input, as the model wrote it. */
    readonly input: string;
  };
}

/** A tool that the model wants called. `type` tells which kind; without custom tools in the request it is always `function`. */
export type ChatCompletionToolCall = ChatCompletionFunctionToolCall | ChatCompletionCustomToolCall;

/** A message of the conversation in a request. */
export type ChatCompletionMessageParam = Cacheable &
  (
    | {
        /** Instructions. `developer` is the newer name of `system`, which some models' servers do not know. */
        readonly role: "system" | "developer";
        /** The instructions: text, or parts of text. */
        readonly content: string | readonly ChatCompletionContentPart[];
        /** A name that tells participants of the same role apart. */
        readonly name?: string | undefined;
      }
    | {
        /** A message of the user. */
        readonly role: "user";
        /** The message: text, or parts. */
        readonly content: string | readonly ChatCompletionContentPart[];
        /** A name that tells participants of the same role apart. */
        readonly name?: string | undefined;
      }
    | {
        /** An earlier answer of the model. */
        readonly role: "assistant";
        /** The answer; `null` or omitted if it was only a call of tools. */
        readonly content?: string | readonly ChatCompletionContentPart[] | null | undefined;
        /** The refusal, if the model refused to answer. */
        readonly refusal?: string | null | undefined;
        /** The model's reasoning, which some models' servers need back with calls of tools. */
        readonly reasoning_content?: string | null | undefined;
        /** The model's thoughts as the answer to a request with `reasoning` had them, unchanged. The model goes on from them after calls of tools. */
        readonly reasoning_details?: readonly unknown[] | null | undefined;
        /** The model's thoughts as the answer to a request with `thinking` had them, unchanged. The model goes on from them after calls of tools. */
        readonly thinking_blocks?: readonly unknown[] | null | undefined;
        /** The images in the answer, which models that produce images can edit. */
        readonly images?: readonly ChatCompletionImage[] | null | undefined;
        /** The calls of tools in the answer. A message with the result of each must follow. */
        readonly tool_calls?: readonly ChatCompletionToolCall[] | undefined;
        /** An earlier spoken answer. */
        readonly audio?:
          | {
              /** The `id` of the spoken answer. */
              readonly id: string;
            }
          | null
          | undefined;
        /** A name that tells participants of the same role apart. */
        readonly name?: string | undefined;
      }
    | {
        /** The result of a call of a tool. */
        readonly role: "tool";
        /** The result: text, or parts of text. */
        readonly content: string | readonly ChatCompletionContentPart[];
        /** The `id` of the call. */
        readonly tool_call_id: string;
      }
  );

/** A function that the model may call. */
export interface ChatCompletionFunctionTool extends Cacheable {
  /** The kind of the tool. */
  readonly type: "function";
  /** The function. */
  readonly function: {
    /** Letters, digits, `_` and `-`: up to 64. */
    readonly name: string;
    /** By which the model decides when and how to call the function. */
    readonly description?: string | undefined;
    /** A JSON schema. Default: no arguments. */
    readonly parameters?: Readonly<Record<string, unknown>> | undefined;
    /** Whether the arguments follow the schema exactly. Default `false`. */
    readonly strict?: boolean | null | undefined;
  };
}

/** A tool whose input has any form, or that of a grammar. */
export interface ChatCompletionCustomTool {
  /** The kind of the tool. */
  readonly type: "custom";
  /** The tool. */
  readonly custom: {
    /** The name of the tool, by which the model calls it. */
    readonly name: string;
    /** By which the model decides when and how to call the tool. */
    readonly description?: string | undefined;
    /** The form of the input. Default: any text. */
    readonly format?:
      | {
          /** Any text. */
          readonly type: "text";
        }
      | {
          /** Text of a grammar. */
          readonly type: "grammar";
          /** The grammar. */
          readonly grammar: {
            /** The grammar in its syntax. */
            readonly definition: string;
            /** A context-free grammar of Lark, or a regular expression. */
            readonly syntax: "lark" | "regex";
          };
        }
      | undefined;
  };
}

/** A tool that the model may call. */
export type ChatCompletionTool = ChatCompletionFunctionTool | ChatCompletionCustomTool;

/**
 * Whether the model calls tools. `none`: it calls none. `auto`: it decides. `required`: it calls one or more. An object: it calls
 * this tool.
 */
export type ChatCompletionToolChoice =
  | "none"
  | "auto"
  | "required"
  | {
      /** The kind of the tool. */
      readonly type: "function";
      /** The function that the model calls. */
      readonly function: {
        /** The name of the function. */
        readonly name: string;
      };
    }
  | {
      /** The kind of the tool. */
      readonly type: "custom";
      /** The tool that the model calls. */
      readonly custom: {
        /** The name of the tool. */
        readonly name: string;
      };
    }
  | {
      /** A choice among some of the request's tools. */
      readonly type: "allowed_tools";
      /** The tools, and whether one must be called. */
      readonly allowed_tools: {
        /** Whether the model may, or must, call one of them. */
        readonly mode: "auto" | "required";
        /** Some of the request's tools, such as `{ type: "function", function: { name: "…" } }`. */
        readonly tools: readonly Readonly<Record<string, unknown>>[];
      };
    };

/** The required format of the answer. */
export type ChatCompletionResponseFormat =
  | {
      /** Text of any form. */
      readonly type: "text";
    }
  | {
      /** Valid JSON, but of any form. A message must tell the model to write JSON. */
      readonly type: "json_object";
    }
  | {
      /** JSON that follows a schema. */
      readonly type: "json_schema";
      /** The schema. */
      readonly json_schema: {
        /** Letters, digits, `_` and `-`: up to 64. */
        readonly name: string;
        /** What the answer is, for the model. */
        readonly description?: string | undefined;
        /** A JSON schema. */
        readonly schema?: Readonly<Record<string, unknown>> | undefined;
        /** Whether the answer follows the schema exactly. Default `false`. */
        readonly strict?: boolean | null | undefined;
      };
    };

/** Options of a streamed completion. */
export interface ChatCompletionStreamOptions {
  /** Whether a last chunk, without choices, has the tokens of the request as `usage`. Default `false`. */
  readonly include_usage?: boolean | undefined;
  /** Whether chunks are padded, so that their lengths do not reveal the lengths of tokens. Default: as the model's server decides. */
  readonly include_obfuscation?: boolean | undefined;
}

/** Voice and format of a spoken answer. */
export interface ChatCompletionAudioParam {
  /** A voice of the model, such as `alloy`. */
  readonly voice:
    | string
    | {
        /** The id of a voice of your own. */
        readonly id: string;
      };
  /** The format of the recording. Streams take `pcm16` only. */
  readonly format: "wav" | "aac" | "mp3" | "flac" | "opus" | "pcm16";
}

/** Text that the answer will largely repeat, which makes it faster. */
export interface ChatCompletionPrediction {
  /** The kind of the prediction. */
  readonly type: "content";
  /** The predicted text. Predicted tokens that the answer does not have are charged, too. */
  readonly content:
    | string
    | readonly {
        /** The kind of the part. */
        readonly type: "text";
        /** The text. */
        readonly text: string;
      }[];
}

/** Options of a web search by the model's server. */
export interface ChatCompletionWebSearchOptions {
  /** How much of the results the model reads. Default `medium`. */
  readonly search_context_size?: "low" | "medium" | "high" | undefined;
  /** Where the user is, approximately. */
  readonly user_location?:
    | {
        /** The kind of the location. */
        readonly type: "approximate";
        /** The location. Each of its fields may be omitted. */
        readonly approximate: {
          /** The name of the city, in any language. */
          readonly city?: string | undefined;
          /** Two letters (ISO 3166-1). */
          readonly country?: string | undefined;
          /** The name of the region, in any language. */
          readonly region?: string | undefined;
          /** A name of the IANA time zone database. */
          readonly timezone?: string | undefined;
        };
      }
    | null
    | undefined;
}

/**
 * Parameters of `chat.completions.create`, as OpenAI documents them, with those that the service translates for other models. Which of
 * them have an effect depends on the model. Send parameters that are not typed here in `extra_body`.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
export interface ChatCompletionCreateParams extends ChatCompletionExtensions {
  /** Id or alias of a model of the catalog: see `models.list`. */
  readonly model: string;
  /** The conversation so far, oldest message first: 1 to 10,000 messages. */
  readonly messages: readonly ChatCompletionMessageParam[];
  /** Whether chunks are sent as the model writes them. Default `false`. */
  readonly stream?: boolean | null | undefined;
  /** Options of the stream. Only with `stream: true`. */
  readonly stream_options?: ChatCompletionStreamOptions | null | undefined;
  /** The maximum number of tokens of the answer, including those of reasoning: 1 or more. Default: the model's maximum. */
  readonly max_completion_tokens?: number | null | undefined;
  /** The older name of `max_completion_tokens`, which some models' servers need. If both are given, the larger one is charged for. */
  readonly max_tokens?: number | null | undefined;
  /** Randomness: 0 to 2. Default: the model's, usually 1. Set this or `top_p`. */
  readonly temperature?: number | null | undefined;
  /** Only the most likely tokens that together have this probability are considered: 0 to 1. Default 1. */
  readonly top_p?: number | null | undefined;
  /** The number of answers, each of which is charged: 1 to 128. Default 1. */
  readonly n?: number | null | undefined;
  /** Texts before which the answer ends: up to 64. Models have lower maximums, often 4. Default: none. */
  readonly stop?: string | readonly string[] | null | undefined;
  /** An integer. The same request with the same seed has the same answer where the model's server can do that. Default: none. */
  readonly seed?: number | null | undefined;
  /** Discourages tokens that occur often: -2 to 2. Default 0. */
  readonly frequency_penalty?: number | null | undefined;
  /** Discourages tokens that occur at all: -2 to 2. Default 0. */
  readonly presence_penalty?: number | null | undefined;
  /** Makes tokens more or less likely: token id → bias from -100 (never) to 100 (only these). Default: none. */
  readonly logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** Whether the answer has the log probabilities of its tokens. Default `false`. */
  readonly logprobs?: boolean | null | undefined;
  /** The number of likely alternatives at each token: 0 to 20. Default 0. Needs `logprobs: true`. */
  readonly top_logprobs?: number | null | undefined;
  /** The tools that the model may call: up to 1,024. Default: none. */
  readonly tools?: readonly ChatCompletionTool[] | undefined;
  /** Whether the model calls tools, or which one. Default: `auto` with tools, `none` without. */
  readonly tool_choice?: ChatCompletionToolChoice | undefined;
  /** Whether the model may call several tools at once. Default `true`. */
  readonly parallel_tool_calls?: boolean | undefined;
  /** The format of the answer. Default: text. `parse` sets it from a schema. */
  readonly response_format?: ChatCompletionResponseFormat | undefined;
  /** How long the model reasons before it answers. Models know different values. Default: the model's. */
  readonly reasoning_effort?:
    | "none"
    | "minimal"
    | "low"
    | "medium"
    | "high"
    | "xhigh"
    | "max"
    | null
    | undefined;
  /** How long the answer is. Default `medium`. */
  readonly verbosity?: "low" | "medium" | "high" | null | undefined;
  /**
   * The forms of the answer. Default: what the model answers with, mostly `["text"]`. `audio` needs {@link ChatCompletionCreateParams.audio}; `image`
   * needs a model that produces images.
   */
  readonly modalities?: readonly ("text" | "audio" | "image")[] | null | undefined;
  /** Voice and format of a spoken answer. Only with the modality `audio`. */
  readonly audio?: ChatCompletionAudioParam | null | undefined;
  /** Text that the answer will largely repeat. Default: none. */
  readonly prediction?: ChatCompletionPrediction | null | undefined;
  /** Lets models with web search search the web. Default: they do not. */
  readonly web_search_options?: ChatCompletionWebSearchOptions | undefined;
  /** Names and values that the model's server stores with the completion: up to 16, names of up to 64 characters, values of up to 512. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /** Whether the model's server keeps the completion. Default `false`. */
  readonly store?: boolean | null | undefined;
  /** The model server's class of processing, such as `auto`, `default`, `flex` or `priority`. Default: the server's. */
  readonly service_tier?: string | null | undefined;
  /** Requests with the same key and beginning are likely to find that beginning in the model server's cache. Default: none. */
  readonly prompt_cache_key?: string | null | undefined;
  /** How long the beginning stays in the model server's cache: in memory for minutes, or for 24 hours. Default: the model's. */
  readonly prompt_cache_retention?: "in_memory" | "24h" | null | undefined;
  /** How OpenAI's models cache: with a breakpoint of their own, or only where parts of messages have one. Default `implicit`. */
  readonly prompt_cache_options?:
    | {
        /** Who sets the breakpoints. */
        readonly mode?: "implicit" | "explicit" | undefined;
        /** The minimum time for which the prompt stays in the cache. */
        readonly ttl?: string | undefined;
      }
    | null
    | undefined;
  /** A stable pseudonym of the end user of up to 64 characters, by which the model's server finds abuse. */
  readonly safety_identifier?: string | null | undefined;
  /** The older name of `safety_identifier`. */
  readonly user?: string | undefined;
  /**
   * Fields that are added to the body, unchanged: parameters of the model's server that are not typed here. A field of the same name
   * replaces the typed one.
   */
  readonly extra_body?: Readonly<Record<string, unknown>> | undefined;
}

/** Parameters of a streamed completion. */
export interface ChatCompletionCreateParamsStreaming extends ChatCompletionCreateParams {
  /** Chunks are sent as the model writes them. */
  readonly stream: true;
}

/** Parameters of a completion that is not streamed. */
export interface ChatCompletionCreateParamsNonStreaming extends ChatCompletionCreateParams {
  /** The answer is sent when it is complete. */
  readonly stream?: false | null | undefined;
}

/**
 * Why an answer ended. `stop`: it is complete, or reached a text of `stop`. `length`: it reached the maximum number of tokens.
 * `tool_calls`: the model wants tools called. `content_filter`: the model's server left out content.
 */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A token with its probability. */
export interface TokenLogprob {
  /** The text of the token. */
  readonly token: string;
  /** The natural logarithm of the probability: 0 or less. -9999 means very unlikely. */
  readonly logprob: number;
  /** The token's bytes in UTF-8, for tokens that are a part of a character; `null`: it has none. */
  readonly bytes: readonly number[] | null;
}

/** The log probabilities that `logprobs: true` adds to a choice. */
export interface ChoiceLogprobs {
  /** The tokens of the content; `null`: it has none. */
  readonly content:
    | readonly (TokenLogprob & {
        /** As many likely tokens as `top_logprobs` requests. */
        readonly top_logprobs: readonly TokenLogprob[];
      })[]
    | null;
  /** The tokens of the refusal; `null`: it has none. */
  readonly refusal?:
    | readonly (TokenLogprob & {
        /** As many likely tokens as `top_logprobs` requests. */
        readonly top_logprobs: readonly TokenLogprob[];
      })[]
    | null;
}

/** A source that the model cites. */
export interface ChatCompletionAnnotation {
  /** The kind of the annotation. */
  readonly type: "url_citation";
  /** The cited page, and the place in the answer. */
  readonly url_citation: {
    /** The address of the page. */
    readonly url: string;
    /** The title of the page. */
    readonly title: string;
    /** Where the citation begins in the answer: an index of its first character, from 0. */
    readonly start_index: number;
    /** Where the citation ends in the answer: an index of its last character. */
    readonly end_index: number;
  };
}

/** The number of tokens of a request, by which it is charged. */
export interface CompletionUsage {
  /** Tokens of the prompt. */
  readonly prompt_tokens: number;
  /** Tokens of all answers, including those of reasoning. */
  readonly completion_tokens: number;
  /** Prompt and completion tokens together. */
  readonly total_tokens: number;
  /** Parts of the prompt's tokens, if the model's server reports them. */
  readonly prompt_tokens_details?: {
    /** Tokens of the prompt that were in the model server's cache. */
    readonly cached_tokens?: number;
    /** Tokens of the prompt that the model's server wrote to its cache. */
    readonly cache_write_tokens?: number;
    /** Tokens of recordings in the prompt. */
    readonly audio_tokens?: number;
    /** Tokens of images in the prompt. */
    readonly image_tokens?: number;
  };
  /** Parts of the completion's tokens, if the model's server reports them. */
  readonly completion_tokens_details?: {
    /** Tokens of the model's reasoning. */
    readonly reasoning_tokens?: number;
    /** Tokens of spoken answers. */
    readonly audio_tokens?: number;
    /** Tokens of images in the answer. */
    readonly image_tokens?: number;
    /** Tokens of the prediction that the answer has. */
    readonly accepted_prediction_tokens?: number;
    /** Tokens of the prediction that the answer does not have. */
    readonly rejected_prediction_tokens?: number;
  };
}

/** A message that the model wrote. */
export interface ChatCompletionMessage {
  /** The author of the message: the model. */
  readonly role: "assistant";
  /** The text; `null` if the model refused, or only called tools. */
  readonly content: string | null;
  /** The refusal, if the model refused to answer. */
  readonly refusal?: string | null;
  /** The images in the answer, of models that produce images. */
  readonly images?: readonly ChatCompletionImage[];
  /** The tools that the model wants called. */
  readonly tool_calls?: readonly ChatCompletionToolCall[];
  /** The model's reasoning, where its server has this name for it. */
  readonly reasoning?: string | null;
  /** The model's reasoning, where its server has this name for it. */
  readonly reasoning_content?: string | null;
  /** The model's thoughts in the form of OpenRouter, if the request has `reasoning`. Send them back with the message. */
  readonly reasoning_details?: readonly unknown[];
  /** The model's thoughts in the form of LiteLLM, if the request has `thinking`. Send them back with the message. */
  readonly thinking_blocks?: readonly unknown[];
  /** The sources that the model cites. */
  readonly annotations?: readonly ChatCompletionAnnotation[];
  /** The spoken answer, if one was requested. */
  readonly audio?: ChatCompletionAudio | null;
}

/** An image that the model has produced. */
export interface ChatCompletionImage {
  /** The kind of the part. */
  readonly type: "image_url";
  /** The place among the images of the answer, from 0. */
  readonly index?: number;
  /** The image. */
  readonly image_url: {
    /** A data URL with the image in base64. */
    readonly url: string;
  };
  /** Data that the model's server expects back with the image. */
  readonly extra_content?: unknown;
}

/** A spoken answer. */
export interface ChatCompletionAudio {
  /** The id by which a later request refers to the spoken answer. */
  readonly id: string;
  /** Base64, in the requested format. */
  readonly data: string;
  /** The text that is spoken. */
  readonly transcript: string;
  /** When the id expires, in Unix seconds. */
  readonly expires_at: number;
}

/** A complete answer. */
export interface ChatCompletion {
  /** The id that the model's server gave the answer. */
  readonly id: string;
  /** The kind of the object. */
  readonly object: "chat.completion";
  /** When the answer was created, in Unix seconds. */
  readonly created: number;
  /** The catalog's id of the model. */
  readonly model: string;
  /** The answers: as many as `n` requests. */
  readonly choices: readonly {
    /** The number of the answer, from 0. */
    readonly index: number;
    /** The answer. */
    readonly message: ChatCompletionMessage;
    /** Why the answer ended. */
    readonly finish_reason: FinishReason;
    /** The log probabilities of the answer's tokens, if they were requested. */
    readonly logprobs?: ChoiceLogprobs | null;
  }[];
  /** The number of tokens of the request. */
  readonly usage?: CompletionUsage;
  /** The class of processing that the model's server used. */
  readonly service_tier?: string | null;
  /** Identifies the configuration of the model's server. */
  readonly system_fingerprint?: string | null;
  /** The `x-request-id` of the answer. Not enumerable. */
  readonly _request_id?: string | null;
}

/** A piece of a streamed answer. */
export interface ChatCompletionChunk {
  /** The id that the model's server gave the answer: the same in all chunks. */
  readonly id: string;
  /** The kind of the object. */
  readonly object: "chat.completion.chunk";
  /** When the answer was created, in Unix seconds: the same in all chunks. */
  readonly created: number;
  /** The catalog's id of the model. */
  readonly model: string;
  /** The answers that the chunk continues. Empty in the chunk with `usage`. */
  readonly choices: readonly {
    /** The number of the answer, from 0. */
    readonly index: number;
    /** What the chunk adds to the answer. */
    readonly delta: {
      /** The author of the message, in the first chunk. */
      readonly role?: "assistant";
      /** More of the text. */
      readonly content?: string | null;
      /** More of the refusal. */
      readonly refusal?: string | null;
      /** More of the calls of tools. */
      readonly tool_calls?: readonly {
        /** The number of the call in the message, from 0. */
        readonly index: number;
        /** The id of the call, in its first piece. */
        readonly id?: string;
        /** The kind of the tool, in the first piece. Without custom tools in the request it is always `function`. */
        readonly type?: "function" | "custom";
        /** The function and its arguments. */
        readonly function?: {
          /** The name of the function, in the first piece. */
          readonly name?: string;
          /** More of the arguments' JSON. */
          readonly arguments?: string;
        };
        /** The custom tool and its input. */
        readonly custom?: {
          /** The name of the tool, in the first piece. */
          readonly name?: string;
          /** More of the input. */
          readonly input?: string;
        };
      }[];
      /** More images, each as a whole. */
      readonly images?: readonly ChatCompletionImage[];
      /** More of the model's reasoning, where its server has this name for it. */
      readonly reasoning?: string | null;
      /** More of the model's reasoning, where its server has this name for it. */
      readonly reasoning_content?: string | null;
      /** Pieces of the model's thoughts in the form of OpenRouter, if the request has `reasoning`. */
      readonly reasoning_details?: readonly unknown[];
      /** Pieces of the model's thoughts in the form of LiteLLM, if the request has `thinking`. */
      readonly thinking_blocks?: readonly unknown[];
    };
    /** Why the answer ended; `null`: it has not ended. */
    readonly finish_reason: FinishReason | null;
    /** The log probabilities of the chunk's tokens, if they were requested. */
    readonly logprobs?: ChoiceLogprobs | null;
  }[];
  /** The number of tokens of the request: in the last chunk, if `stream_options.include_usage` was set. */
  readonly usage?: CompletionUsage | null;
  /** The class of processing that the model's server used. */
  readonly service_tier?: string | null;
  /** Identifies the configuration of the model's server. */
  readonly system_fingerprint?: string | null;
}
