import type { Upstream } from "../../catalog/catalog.ts";
import {
  type AssistantPart,
  type Conversation,
  cannot,
  type Effort,
  nameOf,
  type OutputFormat,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { urlOf } from "../../conversation/media.ts";
import { type Json, type JsonObject, parseJsonObject } from "../../json/json.ts";
import type { ConversationCall } from "../dialect.ts";
import {
  effortIn,
  given,
  givenList,
  isUsualTier,
  requireSupported,
  type WrittenConversation,
} from "../write-conversation.ts";

/** The provider of signatures that came as a call's `extra_content`, as Google's compatible endpoint has them. */
export const EXTRA_CONTENT = "openai";
/** Hosts of OpenAI itself, which have fields that other servers refuse. */
const OPENAI_HOST = /(?:^|\.)(?:openai\.com|azure\.com)$/;

/** The minimum that OpenAI's models accept as the maximum of an answer. */
const MIN_TOKENS = 16;

/** A conversation as a chat completion request. @throws {Failure} `invalid_request` naming what can't be expressed. */
export function chatBodyOf({
  conversation,
  upstream,
  upstreamModel,
  stream,
  maxTokens,
}: ConversationCall): WrittenConversation {
  requireSupported(conversation, []);
  const isOpenAi = isOpenAiHost(upstream);
  const hasTools = conversation.tools.length > 0;
  const limit = answerTokens(upstream, conversation.maxTokens ?? maxTokens);
  // One literal: spreading others into it took as long as the rest of the translation. JSON leaves out what is undefined.
  const body: JsonObject = {
    model: upstreamModel,
    messages: conversation.turns.flatMap(messagesOf),
    stream: stream || undefined,
    stream_options: stream ? { include_usage: true } : undefined,
    // As in `limitOf`.
    max_completion_tokens: isOpenAi ? given(limit) : undefined,
    max_tokens: isOpenAi ? undefined : given(limit),
    temperature: given(conversation.temperature),
    top_p: given(conversation.topP),
    presence_penalty: given(conversation.presencePenalty),
    frequency_penalty: given(conversation.frequencyPenalty),
    seed: given(conversation.seed),
    stop: givenList(conversation.stop),
    tools: givenList(conversation.tools.map(toolOf)),
    tool_choice: hasTools ? toolChoiceOf(conversation.toolChoice) : undefined,
    parallel_tool_calls: hasTools ? given(conversation.parallelToolCalls) : undefined,
    response_format: formatOf(conversation.format),
    reasoning_effort: given(effortOf(conversation)),
    verbosity: conversation.verbosity === "medium" ? undefined : given(conversation.verbosity),
    service_tier: isOpenAi ? given(conversation.serviceTier) : undefined,
    prompt_cache_key: isOpenAi ? given(conversation.promptCacheKey) : undefined,
  };
  return { body, ignored: ignoredIn(conversation, isOpenAi) };
}

/** The limit of an answer, by the name that the upstream knows: OpenAI's models with reasoning refuse the older one, which others need. */
export function limitOf(upstream: Upstream, tokens: number): JsonObject {
  const limit = answerTokens(upstream, tokens);
  return isOpenAiHost(upstream) ? { max_completion_tokens: limit } : { max_tokens: limit };
}

/** Parsing a URL takes longer than reading a short request. */
const openAiHosts = new WeakMap<Upstream, boolean>();

function isOpenAiHost(upstream: Upstream): boolean {
  let isOpenAi = openAiHosts.get(upstream);
  if (isOpenAi === undefined) {
    const { baseUrl } = upstream;
    isOpenAi = URL.canParse(baseUrl) && OPENAI_HOST.test(new URL(baseUrl).hostname);
    openAiHosts.set(upstream, isOpenAi);
  }
  return isOpenAi;
}

/**
 * The maximum tokens of an answer that an upstream is asked for. OpenAI's models with reasoning refuse a shorter answer than
 * {@link MIN_TOKENS}. Clients ask for one to see whether a model answers.
 */
export function answerTokens(upstream: Upstream, asked: number | null): number | null {
  return asked !== null && isOpenAiHost(upstream) ? Math.max(asked, MIN_TOKENS) : asked;
}

function effortOf({ reasoning }: Conversation): Effort | null {
  return reasoning === null ? null : effortIn(reasoning);
}

function ignoredIn(conversation: Conversation, isOpenAi: boolean): readonly string[] {
  const { topK, reasoning, serviceTier } = conversation;
  return [
    ...(isOpenAi || isUsualTier(serviceTier) ? [] : [nameOf(conversation, "serviceTier")]),
    ...(topK === null ? [] : [nameOf(conversation, "topK")]),
    ...(reasoning !== null && effortIn(reasoning) === null ? [nameOf(conversation, "reasoning")] : []),
  ];
}

function messagesOf(turn: Turn): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
      return [{ role: "system", content: turn.parts.map(({ text }) => text).join("\n") }];
    case "user":
      return [{ role: "user", content: userContent(turn.parts) }];
    case "assistant":
      // A message with neither text nor calls is refused. A model may have had nothing but thoughts, which are not sent back.
      return turn.parts.some(({ kind }) => kind !== "reasoning") ? [assistantMessage(turn.parts)] : [];
    case "tool":
      return toolMessages(turn.parts);
  }
}

function assistantMessage(parts: readonly AssistantPart[]): JsonObject {
  const texts = parts.flatMap((part) => (part.kind === "text" || part.kind === "refusal" ? [part.text] : []));
  const calls = parts.flatMap((part) => (part.kind === "call" ? [callOf(part)] : []));
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join("\n"),
    tool_calls: givenList(calls),
  };
}

function callOf({ id, name, input, signature }: ToolCallPart): JsonObject {
  const extra =
    signature?.provider === EXTRA_CONTENT ? parseJsonObject(signature.fields.extra_content ?? "") : null;
  return { id, type: "function", function: { name, arguments: input }, extra_content: given(extra) };
}

/** A tool's message contains only text. Images and files follow in a message of the user, after all results. */
function toolMessages(results: readonly ToolResultPart[]): readonly JsonObject[] {
  const media = results.flatMap(({ parts }) => parts.filter((part) => part.kind !== "text"));
  return [
    ...results.map(({ callId, parts, isError }) => ({
      role: "tool",
      tool_call_id: callId,
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
    case "file":
      if (part.source.kind === "url")
        throw cannot(part.at, "must be inline: this model's provider takes no file by URL");
      return { type: "file", file: { file_data: urlOf(part.source), filename: part.filename ?? "file" } };
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
