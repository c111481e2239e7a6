import {
  type AssistantPart,
  type Conversation,
  cannot,
  type Effort,
  nameOf,
  type OutputFormat,
  type Signature,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { textIn, urlOf } from "../../conversation/media.ts";
import { type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import { cacheFieldsIn, isUsualTier, producedImagesIn, requireSupported } from "../conversation-limits.ts";
import type { ConversationCall, UpstreamCall } from "../dialect.ts";
import { effortIn } from "../reasoning-effort.ts";
import { given, givenList, markedInstructions, type WrittenConversation } from "../write-conversation.ts";
import { shortCallId } from "./call-ids.ts";
import {
  cacheKeyOf,
  callIdsFor,
  isOpenAiHost,
  limitOf,
  MAX_CHAT_CALL_ID_LENGTH,
  safetyIdentifierOf,
} from "./openai-limits.ts";
import { detailsIn } from "./reasoning-details.ts";

/**
 * The provider of signatures that came as a call's `extra_content`, as Google's compatible endpoint has them, and of those that say which
 * model has thought.
 */
export const OPENAI_SIGNATURE = "openai";
/** The model that has had a thought. An upstream such as OpenRouter has models of several providers, which refuse each other's signatures. */
export type Thinker = Readonly<Record<"upstream" | "model", string>>;
/** What servers call the thoughts of a message. OpenAI has none. */
export type ThoughtMember = "reasoning_content" | "reasoning";
/** The model's messages that are sent with a thought: those whose thought the client has, all, or none. */
type SentThoughts = "known" | "all" | "none";
/** The parts of a request that some servers refuse in their usual form. */
export interface ChatForm {
  /** Whether a stream's usage is asked for. */
  readonly asksUsage: boolean;
  /** Whether the ids of calls stay as they are. Otherwise they are short. */
  readonly keepsCallIds: boolean;
  readonly thoughts: SentThoughts;
  /** Whether instructions stay as they are. Otherwise there is one message of them at most, at the beginning. */
  readonly keepsSystems: boolean;
  /** Whether the request says how long answers are to be. Otherwise the model decides. */
  readonly keepsVerbosity: boolean;
}
/** The text of a missing thought, for servers that refuse a message without one. Moonshot's server treats an empty text as missing. */
const NO_THOUGHT = " ";

/**
 * A conversation as a chat completion request.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed.
 */
export function chatBodyOf(
  call: ConversationCall,
  { asksUsage, keepsCallIds, thoughts, keepsSystems, keepsVerbosity }: ChatForm,
): WrittenConversation {
  const { conversation, upstream, upstreamModel, stream, maxTokens } = call;
  requireSupported(conversation, ["modalities", "imageConfig"]);
  const isOpenAi = isOpenAiHost(upstream);
  const form: TurnForm = {
    thinker: thinkerOf(call),
    thoughts,
    callId: keepsCallIds ? (callIdsFor(upstream, MAX_CHAT_CALL_ID_LENGTH) ?? ((id) => id)) : shortCallId,
  };
  const turns = keepsSystems ? conversation.turns : withOneSystem(conversation.turns);
  const hasTools = conversation.tools.length > 0;
  const limit = limitOf(upstream, conversation.maxTokens ?? maxTokens);
  const verbosity = conversation.verbosity === "medium" ? null : conversation.verbosity;
  // One literal: spreading others into it took as long as the rest of the translation. JSON leaves out what is undefined.
  const body: JsonObject = {
    model: upstreamModel,
    messages: turns.flatMap((turn) => messagesOf(turn, form)),
    stream: stream || undefined,
    stream_options: stream && asksUsage ? { include_usage: true } : undefined,
    max_completion_tokens: limit.max_completion_tokens,
    max_tokens: limit.max_tokens,
    temperature: given(conversation.temperature),
    top_p: given(conversation.topP),
    presence_penalty: given(conversation.presencePenalty),
    frequency_penalty: given(conversation.frequencyPenalty),
    seed: given(conversation.seed),
    stop: givenList(conversation.stop),
    logprobs: conversation.logprobs === null ? undefined : true,
    top_logprobs: conversation.logprobs === 0 ? undefined : given(conversation.logprobs),
    tools: givenList(conversation.tools.map(toolOf)),
    tool_choice: hasTools ? toolChoiceOf(conversation.toolChoice) : undefined,
    parallel_tool_calls: hasTools ? given(conversation.parallelToolCalls) : undefined,
    response_format: formatOf(conversation.format),
    reasoning_effort: given(effortOf(conversation)),
    verbosity: keepsVerbosity ? given(verbosity) : undefined,
    service_tier: isOpenAi ? given(conversation.serviceTier) : undefined,
    safety_identifier: safetyIdentifierOf(upstream, conversation.user),
    prompt_cache_key: isOpenAi ? cacheKeyOf(upstream, conversation) : undefined,
    prompt_cache_retention: isOpenAi ? given(conversation.promptCacheRetention) : undefined,
    prompt_cache_options: isOpenAi ? given(conversation.promptCacheOptions) : undefined,
  };
  const lost = keepsVerbosity || verbosity === null ? [] : [nameOf(conversation, "verbosity")];
  return { body, ignored: [...ignoredIn(conversation, isOpenAi), ...lost] };
}

function effortOf({ reasoning }: Conversation): Effort | null {
  return reasoning === null ? null : effortIn(reasoning);
}

function ignoredIn(conversation: Conversation, isOpenAi: boolean): readonly string[] {
  const { topK, reasoning, serviceTier } = conversation;
  return [
    ...(isOpenAi || isUsualTier(serviceTier) ? [] : [nameOf(conversation, "serviceTier")]),
    ...(isOpenAi ? [] : cacheFieldsIn(conversation)),
    ...producedImagesIn(conversation),
    ...(topK === null ? [] : [nameOf(conversation, "topK")]),
    ...(reasoning !== null && effortIn(reasoning) === null ? [nameOf(conversation, "reasoning")] : []),
  ];
}

/** The turns with the first instructions together. Later ones stay in their place, as the user's. */
function withOneSystem(turns: readonly Turn[]): readonly Turn[] {
  const first = turns.findIndex(({ role }) => role !== "system");
  const leading = first === -1 ? turns : turns.slice(0, first);
  const parts = leading.flatMap((turn) => (turn.role === "system" ? turn.parts : []));
  const others = turns.slice(leading.length).map((turn): Turn => {
    if (turn.role !== "system") return turn;
    const text = markedInstructions(turn.parts);
    return { role: "user", parts: [{ kind: "text", text, cache: null, at: "" }] };
  });
  return parts.length === 0 ? others : [{ role: "system", parts }, ...others];
}

/** How turns are written for an upstream. */
interface TurnForm {
  readonly thinker: Thinker;
  readonly thoughts: SentThoughts;
  readonly callId: (id: string) => string;
}

function messagesOf(turn: Turn, { thinker, thoughts, callId }: TurnForm): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
      return [{ role: "system", content: turn.parts.map(({ text }) => text).join("\n") }];
    case "user":
      return [{ role: "user", content: userContent(turn.parts) }];
    case "assistant": {
      // A message with neither text nor calls is refused. A model may have had nothing but thoughts, or produced nothing but images.
      if (turn.parts.every(({ kind }) => kind === "reasoning" || kind === "image")) return [];
      const own = thoughts === "none" ? null : thoughtIn(turn.parts, thinker);
      const others =
        thoughts === "all" ? { reasoning_content: otherThought(turn.parts, thinker) || NO_THOUGHT } : {};
      const details = thoughts === "none" ? undefined : givenList(detailsOf(turn.parts, thinker));
      return [{ ...assistantMessage(turn.parts, callId), ...(own ?? others), reasoning_details: details }];
    }
    case "tool":
      return toolMessages(turn.parts, callId);
  }
}

function assistantMessage(parts: readonly AssistantPart[], callId: TurnForm["callId"]): JsonObject {
  const texts = parts.flatMap((part) => (part.kind === "text" || part.kind === "refusal" ? [part.text] : []));
  const calls = parts.flatMap((part) => (part.kind === "call" ? [callOf(part, callId)] : []));
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join("\n"),
    tool_calls: givenList(calls),
  };
}

export function thinkerOf({ upstream, upstreamModel }: UpstreamCall): Thinker {
  return { upstream: upstream.name, model: upstreamModel };
}

/** The signature of a model's thought, by which the model gets it back. */
export function thoughtSignature(thinker: Thinker, member: ThoughtMember): Signature {
  return { provider: OPENAI_SIGNATURE, fields: { ...thinker, member } };
}

/** The fields of a signature that this model has given to its thoughts; `null` if another model has given it. */
function ownFields(signature: Signature | null, { upstream, model }: Thinker): Signature["fields"] | null {
  if (signature?.provider !== OPENAI_SIGNATURE || signature.fields.upstream !== upstream) return null;
  // Signatures of earlier versions do not name the model.
  return (signature.fields.model ?? model) === model ? signature.fields : null;
}

/**
 * The thoughts that a model has had with what it said, in the member that it has them in. Others refuse this member, and DeepSeek and
 * Moonshot a call without it. `null`: there are none.
 */
function thoughtIn(parts: readonly AssistantPart[], thinker: Thinker): JsonObject | null {
  let member: string | undefined;
  let thoughts = "";
  for (const part of parts) {
    const fields = part.kind === "reasoning" ? ownFields(part.signature, thinker) : null;
    if (part.kind !== "reasoning" || fields === null) continue;
    member = fields.member;
    thoughts += part.text;
  }
  return member === undefined || thoughts === "" ? null : { [member]: thoughts };
}

/** The details that OpenRouter has sent of the model's thoughts before a call. */
function detailsOf(parts: readonly AssistantPart[], thinker: Thinker): readonly Json[] {
  for (const part of parts) {
    const details = part.kind === "call" ? ownFields(part.signature, thinker)?.reasoning_details : undefined;
    if (details !== undefined) return detailsIn(details);
  }
  return [];
}

/** The thoughts without a signature, whose model the client does not name, and those of other models of the upstream. */
function otherThought(parts: readonly AssistantPart[], { upstream }: Thinker): string {
  return parts
    .flatMap((part) =>
      part.kind === "reasoning" && (part.signature === null || part.signature.fields.upstream === upstream)
        ? [part.text]
        : [],
    )
    .join("\n\n");
}

function callOf({ id, name, input, signature }: ToolCallPart, callId: TurnForm["callId"]): JsonObject {
  const extra =
    signature?.provider === OPENAI_SIGNATURE ? parseJsonObject(signature.fields.extra_content ?? "") : null;
  return {
    id: callId(id),
    type: "function",
    function: { name, arguments: input },
    extra_content: given(extra),
  };
}

/** A tool's message contains only text. Images and files follow in a message of the user, after all results. */
function toolMessages(
  results: readonly ToolResultPart[],
  ownCallId: TurnForm["callId"],
): readonly JsonObject[] {
  const media = results.flatMap(({ parts }) => parts.filter((part) => part.kind !== "text"));
  return [
    ...results.map(({ callId, parts, isError }) => ({
      role: "tool",
      tool_call_id: ownCallId(callId),
      content:
        (isError ? "Error: " : "") +
        parts.map((part) => (part.kind === "text" ? part.text : `[${part.kind} below]`)).join("\n"),
    })),
    ...(media.length === 0 ? [] : [{ role: "user", content: userContent(media) }]),
  ];
}

function userContent(parts: readonly UserPart[]): Json {
  const [first] = parts;
  if (parts.length === 1 && first?.kind === "text") return first.text;
  return parts.map(userPart);
}

function userPart(part: UserPart): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "image": {
      // Chat completions have no more than `high`.
      const detail = part.detail === "original" ? "high" : given(part.detail);
      return { type: "image_url", image_url: { url: urlOf(part.source), detail } };
    }
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    case "file": {
      if (part.source.kind === "url")
        throw cannot(part.at, "must be inline: this model's provider takes no file by URL");
      const text = textIn(part.source);
      // As files, OpenAI's Chat Completions take only PDFs.
      if (text !== null)
        return { type: "text", text: part.filename === null ? text : `${part.filename}\n${text}` };
      return { type: "file", file: { file_data: urlOf(part.source), filename: part.filename ?? "file" } };
    }
  }
}

function toolOf({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    type: "function",
    function: {
      name,
      description: given(description),
      parameters: given(parameters),
      strict: given(strict),
    },
  };
}

function toolChoiceOf(choice: ToolChoice | null): Json | undefined {
  if (choice === null) return undefined;
  return choice.kind === "tool" ? { type: "function", function: { name: choice.name } } : choice.kind;
}

function formatOf(format: OutputFormat | null): JsonObject | undefined {
  if (format === null || format.kind === "text") return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  return {
    type: "json_schema",
    json_schema: {
      name: name ?? "answer",
      description: given(description),
      schema: given(schema),
      strict: given(strict),
    },
  };
}
