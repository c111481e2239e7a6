import { Failure } from "../errors/failure.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { withoutSecrets } from "../secrets/redact.ts";

/**
 * A request for a model in no client's and no provider's format. Each wire reads its requests into a conversation, and each dialect
 * writes conversations for its upstreams. `null` stands for what the client did not ask for.
 */
export interface Conversation {
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  /** The maximum tokens of the answer. */
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly presencePenalty: number | null;
  readonly frequencyPenalty: number | null;
  readonly seed: number | null;
  readonly stop: readonly string[];
  /** How many of the most probable tokens the answer is to have beside each of its own, with their probabilities. `null`: no probabilities. */
  readonly logprobs: number | null;
  readonly format: OutputFormat | null;
  /** What the answer is to consist of, where that is not text alone. Empty: the model decides. */
  readonly modalities: readonly OutputModality[];
  readonly imageConfig: ImageConfig | null;
  readonly reasoning: Reasoning | null;
  readonly verbosity: string | null;
  readonly serviceTier: string | null;
  /** Groups requests that begin alike, for upstreams that cache prompts. */
  readonly promptCacheKey: string | null;
  /** How long OpenAI may keep the prompt in its cache, and how it caches. Other providers have no such fields. */
  readonly promptCacheRetention: string | null;
  readonly promptCacheOptions: JsonObject | null;
  /** An id of the person who uses the client's application, for the provider's abuse checks. */
  readonly user: string | null;
  /** What the client's format calls the fields above, for errors. Fields that are not listed have no other name. */
  readonly names: Readonly<Partial<Record<keyof Conversation, string>>>;
  /** Fields of the request that only its own format has, by name. A dialect that translates refuses them. */
  readonly others: ReadonlyMap<string, Json>;
  /** Fields that are left out for models which do not take them: clients of some formats send them to every model. */
  readonly optional: readonly (keyof Conversation)[];
  /** Fields that were left out because they do not change the meaning of the request. */
  readonly ignored: readonly string[];
}

/** A conversation in which nothing was asked for, to be filled in. */
export const EMPTY_CONVERSATION: Conversation = {
  turns: [],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  maxTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  presencePenalty: null,
  frequencyPenalty: null,
  seed: null,
  stop: [],
  logprobs: null,
  format: null,
  modalities: [],
  imageConfig: null,
  reasoning: null,
  verbosity: null,
  serviceTier: null,
  promptCacheKey: null,
  promptCacheRetention: null,
  promptCacheOptions: null,
  user: null,
  names: {},
  others: new Map(),
  optional: [],
  ignored: [],
};

/** What one side says. Instructions may stand anywhere in a conversation. */
export type Turn =
  | { readonly role: "system"; readonly parts: readonly TextPart[] }
  | { readonly role: "user"; readonly parts: readonly UserPart[] }
  | { readonly role: "assistant"; readonly parts: readonly AssistantPart[] }
  | { readonly role: "tool"; readonly parts: readonly ToolResultPart[] };

/** A part of a message of the user. */
export type UserPart = TextPart | ImagePart | FilePart | AudioPart;
/** A part of what the model has said in an earlier turn. */
export type AssistantPart = TextPart | RefusalPart | ReasoningPart | ProducedImagePart | ToolCallPart;

/** How long an upstream is asked to cache the prompt up to and including the part that has it. */
export type CacheTtl = "5m" | "1h";

interface Part {
  /** Where it stands in the client's request, as `messages.0.content.1`, for errors. */
  readonly at: string;
  readonly cache: CacheTtl | null;
}

/** A text. Instructions consist of texts only. */
export interface TextPart extends Part {
  readonly kind: "text";
  readonly text: string;
}

/** An image for the model to read. For one that the model has produced, see {@link ProducedImagePart}. */
export interface ImagePart extends Part {
  readonly kind: "image";
  readonly source: MediaSource;
  /** `low`, `high`, `original`, or `null` for the model's default. Clients such as Codex and aider send one with every image. */
  readonly detail: string | null;
}

/** A document. */
export interface FilePart extends Part {
  readonly kind: "file";
  readonly source: MediaSource;
  readonly filename: string | null;
  /** Where the request has the name. */
  readonly filenameAt: string;
}

/** A recording for the model to hear. */
export interface AudioPart extends Part {
  readonly kind: "audio";
  /** Base64. */
  readonly data: string;
  readonly format: "wav" | "mp3";
}

/** Where the content of an image or a document comes from: the request itself, or a URL that the provider fetches. */
export type MediaSource =
  | { readonly kind: "data"; readonly mediaType: string /** Base64. */; readonly data: string }
  | { readonly kind: "url"; readonly url: string };

/** The words with which a model has refused to answer. */
interface RefusalPart extends Part {
  readonly kind: "refusal";
  readonly text: string;
}

/** What a model has thought before it answered. */
export interface ReasoningPart extends Part {
  readonly kind: "reasoning";
  readonly text: string;
  readonly signature: Signature | null;
}

/** An image that a model has produced. */
export interface ProducedImagePart extends Part {
  readonly kind: "image";
  readonly source: MediaSource;
  readonly signature: Signature | null;
}

/** A call of a tool that a model has made. */
export interface ToolCallPart extends Part {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. `at` is the place of the input. */
  readonly input: string;
  readonly signature: Signature | null;
}

/** What a tool has returned to a call. */
export interface ToolResultPart extends Part {
  readonly kind: "result";
  /** The id of the call. `at` is the place of this id. */
  readonly callId: string;
  readonly parts: readonly (TextPart | ImagePart | FilePart)[];
  readonly isError: boolean;
}

/**
 * What a provider wants back with a part that its model has produced, such as the signature of a thought. It is sent to no
 * other provider.
 */
export interface Signature {
  /** The name of a dialect, or of a dialect's provider. */
  readonly provider: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** A function that the model may call. */
export interface Tool {
  readonly name: string;
  readonly description: string | null;
  /** The JSON Schema of its input. */
  readonly parameters: JsonObject | null;
  readonly strict: boolean | null;
  readonly cache: CacheTtl | null;
}

/** Whether the model may call tools, must call one (`required`), or must call a particular one. */
export type ToolChoice =
  | { readonly kind: "auto" | "none" | "required" }
  | { readonly kind: "tool"; readonly name: string };

/** What an answer may consist of. Models can have more modalities: see `Modality` of the catalog. */
export type OutputModality = "text" | "image";

/** The form of the images that a model is to produce, as its provider writes it; `null`: the model decides. */
export interface ImageConfig {
  /** Such as `16:9`. */
  readonly aspectRatio: string | null;
  /** Such as `2K`. */
  readonly size: string | null;
}

/** The format of the text of an answer: free text, any JSON, or JSON that matches a schema. */
export type OutputFormat =
  | { readonly kind: "text" }
  | { readonly kind: "json" }
  | {
      readonly kind: "schema";
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: JsonObject | null;
      readonly strict: boolean | null;
    };

/** How much a model is to think, from nothing to as much as it can. Each dialect translates them to what its models know. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];

/** What the client asks of the model's reasoning (its thoughts). */
export interface Reasoning {
  /** `null`: as much as the model sees fit. */
  readonly effort: Effort | null;
  /** The maximum tokens of the reasoning. */
  readonly budgetTokens: number | null;
  /** How the client wants its summary, in the words of the Responses API. */
  readonly summary: string | null;
  /**
   * Whether the client shows thoughts. It asks for no summary, because OpenAI refuses that to organizations that it has not verified.
   */
  readonly showsThoughts?: true;
  /** Whether it is left out for models that have no reasoning: clients of some formats ask every model for it. Absent: it is not. */
  readonly isOptional?: true;
}

/** The maximum length of a field's name in a refusal. */
const MAX_PARAM_LENGTH = 256;

/** The refusal of a request that can't be translated for the model's upstream. `param` names the client's field. */
export function cannot(param: string, reason: string): Failure {
  const shown = withoutSecrets(param).slice(0, MAX_PARAM_LENGTH);
  return new Failure("invalid_request", `${shown}: ${reason}`, { param: shown });
}

/** The end of a refusal of something that a provider has no equivalent for. */
export const UNSUPPORTED = "is not supported by this model's provider; remove it, or choose another model";

/** The end of a refusal of a conversation that has only items or texts that its provider does not accept. */
export const NOTHING_TO_READ = "has nothing that this model can read. Send at least one message";

/** What the client's format calls a field of a conversation. */
export function nameOf({ names }: Conversation, field: keyof Conversation): string {
  return names[field] ?? field;
}
