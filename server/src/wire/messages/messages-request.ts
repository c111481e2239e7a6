import { EARLY_MESSAGES_CONTROL_EVENTS } from "../../conversation/control-events.ts";
import {
  type Conversation,
  cannot,
  EFFORTS,
  EMPTY_CONVERSATION,
  type OutputFormat,
  type Reasoning,
  type Tool,
  type ToolChoice,
  type ToolResultPart,
  type Turn,
  UNSUPPORTED,
  type UserPart,
} from "../../conversation/conversation.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { arrayOf, booleanOf, numberOf, objectOf, textOf, textsOf } from "../../json/members.ts";
import type { PromptText, TokenEstimator, Usage } from "../../tokens/token-estimate.ts";
import { cacheOf } from "../cache-control.ts";
import { exactValuesIn } from "../exact-values.ts";
import { LITTLE_THINKING } from "../little-thinking.ts";
import { refuseMisplaced } from "../misplaced-fields.ts";
import { DEFERRED, otherMembersOf } from "../other-members.ts";
import { requireContent } from "../require-content.ts";
import { MessagesWriter, type ShownThoughts } from "./messages-writer.ts";
import { promptTextOf } from "./prompt-text.ts";
import { type BlockReading, blocksOf, mediaParts, resultPart, saidParts } from "./read-blocks.ts";
import {
  instructionPart,
  isForOneTurn,
  isKnownClearing,
  type LateEffort,
  lateEffortOf,
} from "./system-messages.ts";
import { ToolNames } from "./tool-names.ts";

/** What the Messages API calls the fields of a conversation, where the names differ. */
const NAMES: Conversation["names"] = {
  turns: "messages",
  maxTokens: "max_tokens",
  topP: "top_p",
  topK: "top_k",
  stop: "stop_sequences",
  toolChoice: "tool_choice",
  parallelToolCalls: "tool_choice.disable_parallel_tool_use",
  format: "output_config.format",
  reasoning: "thinking",
  serviceTier: "service_tier",
  user: "metadata.user_id",
};

/** Fields that clients send to every model: the AI SDK allows only one call where it asks for an object. */
const OPTIONAL: Conversation["optional"] = ["parallelToolCalls"];

/** Fields that a conversation has. All others are Anthropic's alone, and are left out: they do not change what is asked. */
const READ = new Set([
  "model",
  "messages",
  "system",
  "stream",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "output_format",
  "metadata",
  "service_tier",
  // Blocks say for themselves what is to be cached.
  "cache_control",
]);

/** The names that Chat Completions have for fields of this API, each with the API's own name. */
const MISPLACED = new Map([
  ["stop", "stop_sequences"],
  ["response_format", "output_config.format"],
  ["reasoning_effort", "output_config.effort"],
]);

/** Anthropic's service tiers, as other providers call them. Others say nothing to other providers. */
const SERVICE_TIERS: ReadonlyMap<Json, string> = new Map([
  ["auto", "auto"],
  ["standard_only", "default"],
]);

interface MessagesRequestOptions {
  readonly stream: boolean;
  /** The maximum tokens of the model's answers; `null`: unknown. Clients ask every model for as many as Anthropic's give. */
  readonly maxOutputTokens: number | null;
  /** For an upstream of the same wire. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string;
  /** Seals what clients carry in thinking blocks, for one account. */
  readonly signatures: SignatureSealer;
  readonly estimator: TokenEstimator;
}

/** A request of the Messages API, as `operations/messages-body.ts` has checked it. */
export function messagesRequest(
  body: JsonBody,
  { stream, maxOutputTokens, headers, query, signatures, estimator }: MessagesRequestOptions,
): WireRequest {
  const { value } = body;
  const names = new ToolNames();
  return {
    wire: "messages",
    body,
    headers,
    query,
    stream,
    includeUsage: true,
    earlyControlEvents: EARLY_MESSAGES_CONTROL_EVENTS,
    conversation: () => {
      const conversation = readMessagesConversation(body, signatures, names);
      // What counts for the writer starts while the upstream works.
      if (stream) estimator.prepare();
      const { maxTokens } = conversation;
      if (maxTokens === null || maxOutputTokens === null) return conversation;
      return { ...conversation, maxTokens: Math.min(maxTokens, maxOutputTokens) };
    },
    promptText: promptTextIn(value),
    writer: async (head) => {
      // Clients decide by the count at the beginning of a stream when to shorten a conversation.
      const promptTokens = stream ? await estimator.quickCountOf(promptTextOf(value)) : 0;
      const estimate: Usage = { promptTokens, completionTokens: 0, cachedTokens: 0 };
      return new MessagesWriter(head, { estimate, thoughts: thoughtsOf(value), signatures, names });
    },
  };
}

/** A function that does not refer to the body's text, because it is kept while an answer is streamed. */
function promptTextIn(value: JsonObject): () => PromptText {
  return () => promptTextOf(value);
}

/** Thoughts are shown only to clients that have asked for them, as Anthropic does. */
function thoughtsOf({ thinking }: JsonObject): ShownThoughts {
  if (!isJsonObject(thinking) || thinking.type === "disabled") return "hidden";
  return thinking.display === "omitted" ? "omitted" : "shown";
}

/**
 * Reads a valid request of the Messages API. What only Anthropic has, such as tools that it runs itself, is left out and named in
 * `ignored`, because clients send it to every model. A demand to call such a tool is refused: without it, the model would answer by itself.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
function readMessagesConversation(
  request: JsonBody,
  signatures: SignatureSealer,
  names: ToolNames,
): Conversation {
  const body = request.value;
  refuseMisplaced(body, MISPLACED);
  if (body.max_tokens === 0) throw cannot("max_tokens", "must be at least 1 for this model");
  // Without it the model would continue the conversation, and its client would replace what was said by that.
  if (isJsonObject(body.compaction)) throw cannot("compaction", UNSUPPORTED);
  const ignored: string[] = [];
  const reading: BlockReading = {
    signatures,
    names,
    ignored,
    called: new Set(),
    added: [],
    exact: exactValuesIn(request),
  };
  const { system: instructions, tool_choice: choice } = body;
  const system =
    instructions === undefined || instructions === null ? [] : systemTurns(instructions, "system", reading);
  const messages = arrayOf(body.messages);
  const lastOfUser = messages.findLastIndex((message) => objectOf(message).role === "user");
  const turns = messages.flatMap((message, index) => {
    const found = turnsOf(message, `messages.${index}`, reading);
    return index < lastOfUser && isForOneTurn(message) ? [] : found;
  });
  const late = lateEffortOf(messages);
  requireContent(turns, "messages");
  // Instructions within the conversation may add tools.
  const named = [...toolsOf(body.tools, reading), ...reading.added].map((tool) => [tool.name, tool] as const);
  const tools = [...new Map(named).values()];
  const others = Object.entries(body).filter(([name, value]) => !READ.has(name) && value !== null);
  ignored.push(...others.map(([name]) => name), ...unknownIn(body));
  if (late !== null && !isKnownEffort(late.effort)) ignored.push(late.at);
  return {
    ...EMPTY_CONVERSATION,
    turns: [...system, ...turns],
    tools,
    toolChoice: toolChoiceOf(choice, tools, arrayOf(body.tools), reading),
    parallelToolCalls: objectOf(choice).disable_parallel_tool_use === true ? false : null,
    maxTokens: numberOf(body.max_tokens),
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    topK: numberOf(body.top_k),
    stop: textsOf(body.stop_sequences),
    format: formatOf(body, reading),
    reasoning: reasoningOf(body, late),
    serviceTier: SERVICE_TIERS.get(body.service_tier ?? null) ?? null,
    user: textOf(objectOf(body.metadata).user_id),
    names: NAMES,
    optional: OPTIONAL,
    ignored,
  };
}

const OUTPUT_MEMBERS = new Set(["effort", "format"]);

/** Values and members of fields that are read, which mean something to Anthropic alone. */
function unknownIn({ service_tier: tier, output_config: config }: JsonObject): readonly string[] {
  const output = objectOf(config);
  const { effort } = output;
  const hasOtherTier = typeof tier === "string" && !SERVICE_TIERS.has(tier);
  const hasOtherEffort = typeof effort === "string" && !isKnownEffort(effort);
  return [
    ...(hasOtherTier ? ["service_tier"] : []),
    ...(hasOtherEffort ? ["output_config.effort"] : []),
    ...otherMembersOf(output, OUTPUT_MEMBERS, "output_config"),
  ];
}

function isKnownEffort(effort: Json): boolean {
  return EFFORTS.some((known) => known === effort);
}

/**
 * The turn of instructions. Within a conversation they may also add tools, with their definitions. Tools that are named only, or are
 * removed, stay as they are.
 */
function systemTurns(content: Json | undefined, at: string, reading: BlockReading): Turn[] {
  const { added, ignored } = reading;
  const parts = blocksOf(content, at, reading).flatMap(({ block, at: blockAt }) => {
    if (block.type === "text") return [instructionPart(block, blockAt, reading)];
    if (block.type !== "tool_addition" && block.type !== "tool_removal") {
      throw cannot(blockAt, "must be a text block");
    }
    const { type, definition } = objectOf(block.tool);
    if (type === "tool_definition") added.push(...toolOf(definition, `${blockAt}.tool.definition`, reading));
    else ignored.push(blockAt);
    return [];
  });
  const said = parts.filter(({ text }) => text !== "");
  return said.length === 0 ? [] : [{ role: "system", parts: said }];
}

const MESSAGE_MEMBERS = new Set(["role", "content"]);
const SYSTEM_MEMBERS = new Set([...MESSAGE_MEMBERS, "output_config", "clear_at"]);
const SYSTEM_OUTPUT_MEMBERS = new Set(["effort"]);

function turnsOf(value: Json, at: string, reading: BlockReading): Turn[] {
  const message = objectOf(value);
  const { role, content } = message;
  const members = role === "system" ? SYSTEM_MEMBERS : MESSAGE_MEMBERS;
  reading.ignored.push(...otherMembersOf(message, members, at));
  switch (role) {
    case "system": {
      const { output_config: config, clear_at: clearing } = message;
      const others = otherMembersOf(objectOf(config), SYSTEM_OUTPUT_MEMBERS, `${at}.output_config`);
      reading.ignored.push(...others, ...(isKnownClearing(clearing) ? [] : [`${at}.clear_at`]));
      // Instructions that only set the effort have no content.
      return content === undefined ? [] : systemTurns(content, `${at}.content`, reading);
    }
    case "user":
      return userTurns(content, `${at}.content`, reading);
    case "assistant": {
      const parts = saidParts(content, `${at}.content`, reading);
      return parts.length === 0 ? [] : [{ role, parts }];
    }
    default:
      throw cannot(`${at}.role`, "must be user, assistant or system");
  }
}

/** A user's message has the results of tool calls, which come first for other providers, and what the user says. */
function userTurns(content: Json | undefined, at: string, reading: BlockReading): Turn[] {
  const results: ToolResultPart[] = [];
  const said: UserPart[] = [];
  for (const { block, at: blockAt } of blocksOf(content, at, reading)) {
    if (block.type === "tool_result") results.push(resultPart(block, blockAt, reading));
    else said.push(...mediaParts(block, blockAt, reading));
  }
  return [
    ...(results.length === 0 ? [] : [{ role: "tool", parts: results } as const]),
    ...(said.length === 0 ? [] : [{ role: "user", parts: said } as const]),
  ];
}

/** Tools with a type of Anthropic's are run by Anthropic, or have a schema that only its models know. */
function toolsOf(value: Json | undefined, reading: BlockReading): Tool[] {
  return arrayOf(value).flatMap((tool, index) => toolOf(tool, `tools.${index}`, reading));
}

/** Members that are read, or that say nothing about the answer: `eager_input_streaming` says in what pieces an input is to come. */
const TOOL_MEMBERS = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
  "eager_input_streaming",
  DEFERRED,
]);

function toolOf(tool: Json | undefined, at: string, { names, ignored, exact }: BlockReading): Tool[] {
  if (!isJsonObject(tool)) throw cannot(at, "must be a tool");
  const { type, name, description, input_schema: schema, strict } = tool;
  if (type === "function" || isJsonObject(tool.function)) {
    throw cannot(at, "is a function of OpenAI's APIs. Send its name, description and input_schema as a tool");
  }
  if (type !== undefined && type !== null && type !== "custom") {
    ignored.push(at);
    return [];
  }
  if (typeof name !== "string") throw cannot(`${at}.name`, "must be the name of the tool");
  ignored.push(...otherMembersOf(tool, TOOL_MEMBERS, at));
  return [
    {
      name: names.shortened(name),
      description: textOf(description),
      parameters: isJsonObject(schema) ? exact(schema, `${at}.input_schema`) : null,
      strict: booleanOf(strict),
      cache: cacheOf(tool),
    },
  ];
}

/** @param given The tools as the client has them, of which some may have been left out. */
function toolChoiceOf(
  value: Json | undefined,
  tools: readonly Tool[],
  given: readonly Json[],
  { names }: BlockReading,
): ToolChoice | null {
  if (!isJsonObject(value)) return null;
  const isEmpty = tools.length === 0;
  switch (value.type) {
    case "auto":
    case "none":
      return isEmpty ? null : { kind: value.type };
    case "any":
      if (!isEmpty) return { kind: "required" };
      throw cannot(
        "tool_choice",
        given.length > 0 ? "requires a tool that this model can call" : "requires tools",
      );
    case "tool": {
      const { name: asked } = value;
      if (typeof asked !== "string") throw cannot("tool_choice.name", "must be the name of a tool");
      const chosen = names.shortened(asked);
      if (tools.some(({ name }) => name === chosen)) return { kind: "tool", name: chosen };
      const isLeftOut = given.some((tool) => objectOf(tool).name === asked);
      throw cannot("tool_choice", isLeftOut ? UNSUPPORTED : "must name one of the tools");
    }
    default:
      throw cannot("tool_choice.type", "must be auto, any, tool or none");
  }
}

/** `output_format` is the name that the field had first. */
function formatOf(
  { output_config: config, output_format: former }: JsonObject,
  { exact }: BlockReading,
): OutputFormat | null {
  const { format: present } = objectOf(config);
  const [format, at] = isJsonObject(present) ? [present, "output_config.format"] : [former, "output_format"];
  if (!isJsonObject(format)) return null;
  const { type, schema } = format;
  if (type !== "json_schema" || !isJsonObject(schema)) {
    throw cannot(at, "must be of type json_schema, with a schema");
  }
  const exactSchema = exact(schema, `${at}.schema`);
  return { kind: "schema", name: null, description: null, schema: exactSchema, strict: null };
}

function reasoningOf(
  { thinking, output_config: config }: JsonObject,
  late: LateEffort | null,
): Reasoning | null {
  const { type = null, budget_tokens: budget } = objectOf(thinking);
  const asked = late?.effort ?? objectOf(config).effort;
  const effort = EFFORTS.find((known) => known === asked) ?? null;
  const isLittle = LITTLE_THINKING.has(type);
  if (type === null && effort === null) return null;
  return {
    // Models of other providers may think unless they are told not to.
    effort: effort ?? (isLittle ? "none" : null),
    budgetTokens: type === "enabled" ? numberOf(budget) : null,
    summary: type === null || isLittle ? null : "auto",
    isOptional: true,
  };
}
