import {
  type AssistantPart,
  type Conversation,
  cannot,
  EFFORTS,
  EMPTY_CONVERSATION,
  type OutputFormat,
  type Reasoning,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { ThoughtSealer } from "./call-signature.ts";
import { type BlockReading, blocksOf, mediaParts, resultPart, saidParts } from "./read-blocks.ts";
import { instructionParts, isParallel, toolChoiceOf, toolsOf, withAdded } from "./read-tools.ts";

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

/** Anthropic's service tiers, as other providers call them. Others say nothing to other providers. */
const SERVICE_TIERS: ReadonlyMap<Json, string> = new Map([
  ["auto", "auto"],
  ["standard_only", "default"],
]);

/**
 * Reads a valid request of the Messages API. What only Anthropic has, such as tools that it runs itself, is left out and named in
 * `ignored`, because clients send it to every model.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
export function readMessagesConversation(body: JsonObject, sealer: ThoughtSealer): Conversation {
  const ignored: string[] = [];
  const reading: BlockReading = { sealer, ignored, called: new Set(), added: [] };
  const { system: instructions } = body;
  const system =
    instructions === undefined || instructions === null ? [] : systemTurns(instructions, "system", reading);
  const messages = Array.isArray(body.messages) ? body.messages : [];
  const turns = messages.flatMap((message: Json, index) => turnsOf(message, `messages.${index}`, reading));
  const tools = withAdded(toolsOf(body.tools, ignored), reading.added);
  const others = Object.entries(body).filter(([name, value]) => !READ.has(name) && value !== null);
  ignored.push(...others.map(([name]) => name));
  return {
    ...EMPTY_CONVERSATION,
    turns: [...system, ...turns],
    tools,
    toolChoice: toolChoiceOf(body.tool_choice, tools, ignored),
    parallelToolCalls: isParallel(body.tool_choice) ? null : false,
    maxTokens: number(body.max_tokens),
    temperature: number(body.temperature),
    topP: number(body.top_p),
    topK: number(body.top_k),
    stop: Array.isArray(body.stop_sequences) ? body.stop_sequences.filter(isText) : [],
    format: formatOf(body),
    reasoning: reasoningOf(body),
    serviceTier: SERVICE_TIERS.get(body.service_tier ?? null) ?? null,
    user: isJsonObject(body.metadata) ? text(body.metadata.user_id) : null,
    names: NAMES,
    ignored,
  };
}

function systemTurns(content: Json | undefined, at: string, reading: BlockReading): Turn[] {
  const parts = instructionParts(content, at, reading).filter((part) => part.text !== "");
  return parts.length === 0 ? [] : [{ role: "system", parts }];
}

function turnsOf(message: Json, at: string, reading: BlockReading): Turn[] {
  const { role, content } = isJsonObject(message) ? message : {};
  switch (role) {
    case "system":
      return systemTurns(content, `${at}.content`, reading);
    case "user":
      return userTurns(content, `${at}.content`, reading);
    case "assistant": {
      const parts: AssistantPart[] = saidParts(content, `${at}.content`, reading);
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
  for (const { block, at: blockAt } of blocksOf(content, at)) {
    if (block.type === "tool_result") results.push(resultPart(block, blockAt, reading));
    else said.push(...mediaParts(block, blockAt));
  }
  return [
    ...(results.length === 0 ? [] : [{ role: "tool", parts: results } as const]),
    ...(said.length === 0 ? [] : [{ role: "user", parts: said } as const]),
  ];
}

/** `output_format` is the name that the field had first. */
function formatOf({ output_config: config, output_format: former }: JsonObject): OutputFormat | null {
  const present = isJsonObject(config) && isJsonObject(config.format) ? config.format : null;
  const format = present ?? former;
  if (!isJsonObject(format)) return null;
  if (format.type !== "json_schema" || !isJsonObject(format.schema)) {
    const name = present === null ? "output_format" : "output_config.format";
    throw cannot(name, "must be of type json_schema, with a schema");
  }
  return { kind: "schema", name: null, description: null, schema: format.schema, strict: null };
}

function reasoningOf({ thinking, output_config: config }: JsonObject): Reasoning | null {
  const { type = "disabled", budget_tokens: budget } = isJsonObject(thinking) ? thinking : {};
  const effort = isJsonObject(config) ? EFFORTS.find((known) => known === config.effort) : undefined;
  if (type === "disabled" && effort === undefined) return null;
  return {
    effort: effort ?? null,
    budgetTokens: type === "enabled" ? number(budget) : null,
    summary: type === "disabled" ? null : "auto",
    isOptional: true,
  };
}

function isText(value: Json): value is string {
  return typeof value === "string";
}

function number(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function text(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}
