import { CallIds } from "../../conversation/call-ids.ts";
import {
  type AssistantPart,
  type Conversation,
  nameOf,
  type OutputFormat,
  type Tool,
  type ToolChoice,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { urlOf } from "../../conversation/media.ts";
import { ENCRYPTED_REASONING, TEXT_LOGPROBS } from "../../conversation/response-format.ts";
import type { JsonObject } from "../../json/json.ts";
import {
  cacheFieldsIn,
  filenamesIn,
  producedImagesIn,
  requireSupported,
  unsupported,
} from "../conversation-limits.ts";
import type { ConversationCall } from "../dialect.ts";
import { resultWithoutCall } from "../earlier-calls.ts";
import {
  answerTokens,
  cacheKeyOf,
  callIdsFor,
  isOpenAiHost,
  MAX_RESPONSES_ID_LENGTH,
  userWithinLimit,
} from "../openai/openai-limits.ts";
import { PairedCalls } from "../paired-calls.ts";
import { effortIn } from "../reasoning-effort.ts";
import { given, givenList, type WrittenConversation } from "../write-conversation.ts";

/** The provider of signatures that contain the id and the encrypted content of a reasoning item. */
export const RESPONSES_SIGNATURE = "openai-responses";
/** Fields of other formats that the Responses API does not have. */
const WITHOUT_FIELD = [
  "presencePenalty",
  "frequencyPenalty",
  "seed",
  "stop",
  "modalities",
  "imageConfig",
] as const;

/** A conversation as a request of the Responses API. @throws {Failure} `invalid_request` naming what can't be expressed. */
export function responsesBodyOf(call: ConversationCall, asksForReasoning: boolean): WrittenConversation {
  const { conversation, upstreamModel, stream, maxTokens } = call;
  requireSupported(conversation, WITHOUT_FIELD);
  const { tools, topK, user } = conversation;
  const calls = new PairedCalls(
    new CallIds(callIdsFor(call.upstream, MAX_RESPONSES_ID_LENGTH) ?? undefined).next,
  );
  const hasTools = tools.length > 0;
  const isOpenAi = isOpenAiHost(call.upstream);
  const body: JsonObject = {
    model: upstreamModel,
    input: conversation.turns.flatMap((turn) => itemsOf(turn, calls)),
    // The client's format keeps the history itself, thoughts included.
    store: false,
    include: givenList([
      ...(asksForReasoning ? [ENCRYPTED_REASONING] : []),
      ...(conversation.logprobs === null ? [] : [TEXT_LOGPROBS]),
    ]),
    stream: stream || undefined,
    max_output_tokens: given(answerTokens(call.upstream, conversation.maxTokens ?? maxTokens)),
    temperature: given(conversation.temperature),
    top_p: given(conversation.topP),
    top_logprobs: conversation.logprobs === 0 ? undefined : given(conversation.logprobs),
    tools: givenList(tools.map(toolOf)),
    tool_choice: hasTools ? toolChoiceOf(conversation.toolChoice) : undefined,
    parallel_tool_calls: hasTools ? given(conversation.parallelToolCalls) : undefined,
    text: textOf(conversation),
    reasoning: reasoningOf(conversation),
    service_tier: given(conversation.serviceTier),
    prompt_cache_key: cacheKeyOf(call.upstream, conversation),
    prompt_cache_retention: isOpenAi ? given(conversation.promptCacheRetention) : undefined,
    prompt_cache_options: isOpenAi ? given(conversation.promptCacheOptions) : undefined,
    safety_identifier: user === null ? undefined : userWithinLimit(user),
  };
  const ignored = [
    ...(isOpenAi ? [] : cacheFieldsIn(conversation)),
    ...producedImagesIn(conversation),
    ...(topK === null ? [] : [nameOf(conversation, "topK")]),
    ...filenamesIn(conversation, ({ source }) => source.kind === "url"),
  ];
  return { body, ignored };
}

function itemsOf(turn: Turn, calls: PairedCalls): readonly JsonObject[] {
  switch (turn.role) {
    case "system":
    case "user":
      return [{ type: "message", role: turn.role, content: turn.parts.map(inputPart) }];
    case "assistant":
      calls.beginTurn();
      return saidItems(turn.parts, calls);
    case "tool":
      return turn.parts.map((part) => {
        const call = calls.takeCall(part.callId);
        if (call === undefined) throw resultWithoutCall(part.at);
        return { ...resultItem(part), call_id: call.id };
      });
  }
}

/** Texts that follow each other are one message. Thoughts and calls are items of their own. */
function saidItems(parts: readonly AssistantPart[], calls: PairedCalls): readonly JsonObject[] {
  const items: JsonObject[] = [];
  let content: JsonObject[] | null = null;
  for (const part of parts) {
    if (part.kind === "image") continue;
    if (part.kind === "text" || part.kind === "refusal") {
      if (content === null) {
        content = [];
        items.push({ type: "message", role: "assistant", content });
      }
      content.push(
        part.kind === "text"
          ? { type: "output_text", text: part.text, annotations: [] }
          : { type: "refusal", refusal: part.text },
      );
      continue;
    }
    content = null;
    if (part.kind === "call") {
      const { name, input } = part;
      items.push({ type: "function_call", call_id: calls.add(part), name, arguments: input });
      continue;
    }
    // Without its own encrypted content an upstream can't read a thought.
    const { provider, fields } = part.signature ?? { provider: "", fields: {} };
    if (provider !== RESPONSES_SIGNATURE || fields.encrypted_content === undefined) continue;
    const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }];
    items.push({ type: "reasoning", ...fields, summary });
  }
  return items;
}

function resultItem({ parts, isError }: ToolResultPart): JsonObject {
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  const isText = texts.length === parts.length;
  const text = texts.join("\n");
  const failed = isError ? [{ type: "input_text", text: "Error:" }] : [];
  const output = isText ? (isError ? `Error: ${text}` : text) : [...failed, ...parts.map(inputPart)];
  return { type: "function_call_output", output };
}

function inputPart(part: UserPart): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: urlOf(part.source), detail: part.detail ?? "auto" };
    case "audio":
      throw unsupported(part.at);
    case "file":
      if (part.source.kind === "url") return { type: "input_file", file_url: part.source.url };
      return { type: "input_file", filename: part.filename ?? "file", file_data: urlOf(part.source) };
  }
}

/** Without `strict: false` the upstream would change schemas and make optional parameters required. */
function toolOf({ name, description, parameters, strict }: Tool): JsonObject {
  return {
    type: "function",
    name,
    description: given(description),
    parameters: parameters ?? { type: "object", properties: {} },
    strict: strict ?? false,
  };
}

function toolChoiceOf(choice: ToolChoice | null): JsonObject[string] {
  if (choice === null) return undefined;
  return choice.kind === "tool" ? { type: "function", name: choice.name } : choice.kind;
}

function textOf({ format, verbosity }: Conversation): JsonObject | undefined {
  const flat = formatOf(format);
  if (flat === undefined && verbosity === null) return undefined;
  return { format: flat, verbosity: given(verbosity) };
}

function formatOf(format: OutputFormat | null): JsonObject | undefined {
  if (format === null || format.kind === "text") return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  return {
    type: "json_schema",
    name: name ?? "answer",
    description: given(description),
    schema: schema ?? { type: "object" },
    strict: strict ?? false,
  };
}

function reasoningOf({ reasoning }: Conversation): JsonObject | undefined {
  if (reasoning === null) return undefined;
  const effort = effortIn(reasoning);
  const { summary } = reasoning;
  return effort === null && summary === null ? undefined : { effort: given(effort), summary: given(summary) };
}
