import { CHAT_CONTROL_EVENTS } from "../../conversation/control-events.ts";
import {
  type Conversation,
  cannot,
  EMPTY_CONVERSATION,
  type ImageConfig,
  type OutputModality,
  type Tool,
  type ToolChoice,
  UNSUPPORTED,
} from "../../conversation/conversation.ts";
import type { SignatureSealer } from "../../conversation/sealed-signature.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { arrayOf, numberOf, objectOf, textOf, textsOf } from "../../json/members.ts";
import { cacheOf } from "../cache-control.ts";
import { customFunction } from "../custom-tools.ts";
import { type ExactValues, exactValuesIn } from "../exact-values.ts";
import { COMMON_NAMES, commonFieldsOf, formatOf, functionOf, otherFieldsOf } from "../openai-fields.ts";
import { DEFERRED, otherMembersOf } from "../other-members.ts";
import { turnsOf } from "./chat-messages.ts";
import {
  askedReasoning,
  hidesThoughts,
  REASONING_FIELDS,
  thoughtListOf,
  thoughtMembers,
} from "./chat-reasoning.ts";
import { ChatWriter } from "./chat-writer.ts";
import { withoutSealedThoughts } from "./thought-list.ts";

/** What chat completions call the fields of a conversation, where the names differ. */
const NAMES: Conversation["names"] = {
  ...COMMON_NAMES,
  turns: "messages",
  maxTokens: "max_tokens",
  topK: "top_k",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  format: "response_format",
  imageConfig: "image_config",
};

/** Fields that a conversation has, or that say nothing about the answer. */
const READ = new Set<string>([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "seed",
  "logprobs",
  "top_logprobs",
  "presence_penalty",
  "frequency_penalty",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "image_config",
  ...REASONING_FIELDS,
  "verbosity",
  "service_tier",
  "user",
  "metadata",
  "store",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "cache_control",
  // By which OpenRouter's clients, such as LangChain's, group requests in its logs.
  "session_id",
  "trace",
]);

/** Values of other fields that ask for nothing special. */
const NEUTRAL = new Map<string, (value: Json) => boolean>([
  ["n", (value) => value === 1],
  ["modalities", (value) => modalitiesIn(value) !== null],
  ["logit_bias", (value) => isJsonObject(value) && Object.keys(value).length === 0],
  // Clients of OpenRouter ask for the usage, which every answer has, and chat applications send the settings of every server.
  ["usage", (value) => isJsonObject(value) && Object.keys(value).every((name) => name === "include")],
  ["transforms", (value) => Array.isArray(value) && value.length === 0],
  ["plugins", (value) => Array.isArray(value) && value.length === 0],
  ["repetition_penalty", (value) => value === 1],
  ["min_p", (value) => value === 0],
  ["top_a", (value) => value === 0],
  // Earlier versions of Mistral's libraries send it with every request.
  ["safe_prompt", (value) => value === false],
]);

/** Fields that are left out, as in the Responses API: LangChain and LlamaIndex allow only one call wherever they ask for an object. */
const OPTIONAL: Conversation["optional"] = ["parallelToolCalls", "verbosity"];

interface ChatRequestOptions {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly ownLimit?: number | null;
  /** Seals what clients carry with thoughts, for one account. */
  readonly signatures: SignatureSealer;
}

/** A chat completion request, which `operations/chat-completions.ts` has checked. */
export function chatRequest(body: JsonBody, options: ChatRequestOptions): WireRequest {
  const { signatures } = options;
  return {
    wire: "chat",
    body: forwardedBody(body),
    ownLimit: options.ownLimit ?? null,
    headers: {},
    stream: options.stream,
    includeUsage: options.includeUsage,
    earlyControlEvents: CHAT_CONTROL_EVENTS,
    conversation: () => readChatConversation(body, signatures),
    writer: (head) => {
      const { includeUsage } = options;
      const { value } = body;
      return new ChatWriter(head, {
        includeUsage,
        thoughtMembers: hidesThoughts(value) ? [] : thoughtMembers(value),
        thoughtList: thoughtListOf(value, signatures),
        customTools: customNamesIn(value),
      });
    },
  };
}

/** The body for an upstream that speaks this format itself. */
function forwardedBody(body: JsonBody): JsonBody {
  const { messages } = body.value;
  const forwarded = withoutSealedThoughts(messages);
  return forwarded === messages ? body : body.with({ messages: forwarded });
}

/**
 * Reads a valid chat request.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
function readChatConversation(request: JsonBody, signatures: SignatureSealer): Conversation {
  const body = request.value;
  requireTypes(body);
  const ignored: string[] = [];
  const exact = exactValuesIn(request);
  const { tools, toolChoice } = allowedOf(toolsOf(body.tools, exact, ignored), body.tool_choice);
  const { response_format: format } = body;
  const described = { schema: objectOf(format).json_schema, schemaAt: "response_format.json_schema" };
  const { reasoning, field } = askedReasoning(body);
  return {
    ...EMPTY_CONVERSATION,
    ...commonFieldsOf(body),
    turns: turnsOf(messagesOf(body), { signatures, ignored }),
    tools,
    toolChoice,
    maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    topK: topKOf(body.top_k),
    presencePenalty: numberOf(body.presence_penalty),
    frequencyPenalty: numberOf(body.frequency_penalty),
    seed: numberOf(body.seed),
    stop: stopOf(body.stop),
    logprobs: logprobsOf(body),
    modalities: modalitiesOf(body.modalities),
    imageConfig: imageConfigOf(body.image_config),
    format: formatOf(format, "response_format", described, exact),
    reasoning,
    verbosity: textOf(body.verbosity),
    names: { ...NAMES, reasoning: field },
    others: new Map(otherFieldsOf(body, READ, NEUTRAL)),
    optional: OPTIONAL,
    ignored,
  };
}

/** Fields that are texts, and those that are objects. Other values are refused, as their own provider does: otherwise they would be left out unnoticed. */
const TEXTS = [
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "service_tier",
  "verbosity",
];
const OBJECTS = ["metadata", "prompt_cache_options"];

function requireTypes(body: JsonObject): void {
  for (const name of TEXTS) {
    const value = body[name] ?? null;
    if (value !== null && typeof value !== "string") throw cannot(name, "must be a text");
  }
  for (const name of OBJECTS) {
    const value = body[name] ?? null;
    if (value !== null && !isJsonObject(value)) throw cannot(name, "must be an object");
  }
}

/** An empty text stops nothing. Forms that were not filled in send it, and other providers refuse it. */
function stopOf(value: Json | undefined): readonly string[] {
  return (typeof value === "string" ? [value] : textsOf(value)).filter((text) => text !== "");
}

/** As OpenAI's, the number of probable tokens is refused without the wish for probabilities. */
function logprobsOf({ logprobs, top_logprobs: top }: JsonObject): number | null {
  if (logprobs === true) return numberOf(top) ?? 0;
  if ((numberOf(top) ?? 0) > 0) throw cannot("top_logprobs", "needs logprobs to be true");
  return null;
}

/** What an answer is to consist of. Text alone is what every model answers without being asked. */
function modalitiesOf(value: Json | undefined): readonly OutputModality[] {
  const modalities = modalitiesIn(value) ?? [];
  return modalities.includes("image") ? modalities : [];
}

/** `null`: there are other ones, such as speech. */
function modalitiesIn(value: Json | undefined): readonly OutputModality[] | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const known = value.filter((one): one is OutputModality => one === "text" || one === "image");
  return known.length === value.length ? [...new Set(known)] : null;
}

/** OpenRouter's field for the form of the images that a model is to produce. @throws {Failure} `invalid_request` naming another member. */
function imageConfigOf(value: Json | undefined): ImageConfig | null {
  if (value === undefined || value === null) return null;
  if (!isJsonObject(value)) throw cannot("image_config", "must be an object");
  const { aspect_ratio = null, image_size = null, ...others } = value;
  for (const [name, one] of Object.entries({ aspect_ratio, image_size })) {
    if (one !== null && typeof one !== "string") throw cannot(`image_config.${name}`, "must be a text");
  }
  const [other] = Object.keys(others);
  if (other !== undefined) throw cannot(`image_config.${other}`, UNSUPPORTED);
  if (aspect_ratio === null && image_size === null) return null;
  return { aspectRatio: textOf(aspect_ratio), size: textOf(image_size) };
}

/** OpenAI has no such field. Of servers that do, 0 and -1 turn it off. */
function topKOf(value: Json | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (!Number.isInteger(value)) throw cannot("top_k", "must be a whole number");
  const topK = Number(value);
  return topK > 0 ? topK : null;
}

/** What a client of OpenRouter says of a whole request's cache, its last message says. */
function messagesOf({ messages, cache_control }: JsonObject): readonly Json[] {
  const all = arrayOf(messages);
  const last = all.at(-1);
  if (!isJsonObject(cache_control) || !isJsonObject(last)) return all;
  return [...all.slice(0, -1), { ...last, cache_control: last.cache_control ?? cache_control }];
}

const TOOL_MEMBERS = new Set(["type", "function", "cache_control", DEFERRED]);
const FUNCTION_MEMBERS = new Set(["name", "description", "parameters", "strict", "cache_control"]);

function toolsOf(value: Json | undefined, exact: ExactValues, ignored: string[]): Tool[] {
  return arrayOf(value).map((element, index) => {
    const tool = objectOf(element);
    const { type, function: called } = tool;
    if (type === "custom") return customToolOf(tool, `tools.${index}`, ignored);
    if (type !== "function" || !isJsonObject(called) || typeof called.name !== "string") {
      throw cannot(`tools.${index}`, "must be a function or a custom tool for this model");
    }
    ignored.push(
      ...otherMembersOf(tool, TOOL_MEMBERS, `tools.${index}`),
      ...otherMembersOf(called, FUNCTION_MEMBERS, `tools.${index}.function`),
    );
    return {
      name: called.name,
      ...functionOf(called, exact, `tools.${index}.function`),
      cache: cacheOf(tool) ?? cacheOf(called),
    };
  });
}

const CUSTOM_TOOL_MEMBERS = new Set(["type", "custom", "cache_control"]);
const CUSTOM_MEMBERS = new Set(["name", "description", "format"]);

function customToolOf(tool: JsonObject, at: string, ignored: string[]): Tool {
  const custom = objectOf(tool.custom);
  const { name, description, format } = custom;
  if (typeof name !== "string" || name === "")
    throw cannot(`${at}.custom.name`, "must be the name of the tool");
  ignored.push(
    ...otherMembersOf(tool, CUSTOM_TOOL_MEMBERS, at),
    ...otherMembersOf(custom, CUSTOM_MEMBERS, `${at}.custom`),
  );
  return { name, ...customFunction(description, objectOf(format).grammar), cache: cacheOf(tool) };
}

/** The names of the custom tools, whose input the client has as plain text. */
function customNamesIn({ tools }: JsonObject): ReadonlySet<string> {
  const custom = arrayOf(tools).filter((tool) => objectOf(tool).type === "custom");
  return new Set(custom.flatMap((tool) => nameIn(tool) ?? []));
}

/** The name of a tool, or of one that is chosen or allowed. */
function nameIn(tool: Json): string | null {
  const { type, function: called, custom } = objectOf(tool);
  return textOf(objectOf(type === "custom" ? custom : called).name);
}

/** The tools that the client allows the model to use, and how it must use them. */
function allowedOf(
  tools: readonly Tool[],
  choice: Json | undefined,
): Pick<Conversation, "tools" | "toolChoice"> {
  const { type, allowed_tools: allowed } = objectOf(choice);
  if (type !== "allowed_tools") return { tools, toolChoice: toolChoiceOf(choice, tools) };
  const { mode, tools: list } = objectOf(allowed);
  const names = new Set(arrayOf(list).map(nameIn));
  const kept = tools.filter(({ name }) => names.has(name));
  if (kept.length === 0) throw cannot("tool_choice", "allowed_tools must name some of the tools");
  return { tools: kept, toolChoice: toolChoiceOf(mode, kept) };
}

function toolChoiceOf(value: Json | undefined, tools: readonly Tool[]): ToolChoice | null {
  if (value === undefined || value === null) return null;
  const hasTools = tools.length > 0;
  if (!hasTools && (value === "auto" || value === "none")) return null;
  if (!hasTools) throw cannot("tool_choice", "requires tools");
  if (value === "auto" || value === "none" || value === "required") return { kind: value };
  const { type } = objectOf(value);
  const name = nameIn(value);
  if ((type === "function" || type === "custom") && name !== null) {
    if (tools.some((tool) => tool.name === name)) return { kind: "tool", name };
    throw cannot("tool_choice", "must name one of the tools");
  }
  throw cannot("tool_choice", "must be auto, none, required or one of the tools for this model");
}
