import { CHAT_CONTROL_EVENTS } from "../../conversation/control-events.ts";
import {
  type AssistantPart,
  type CacheTtl,
  type Conversation,
  cannot,
  EMPTY_CONVERSATION,
  type Signature,
  type TextPart,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type ToolResultPart,
  type Turn,
  UNSUPPORTED,
  type UserPart,
} from "../../conversation/conversation.ts";
import { dataSourceOf, mediaSourceOf } from "../../conversation/media.ts";
import type { WireRequest } from "../../conversation/wire.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import type { JsonBody } from "../../json/json-body.ts";
import { cacheOf } from "../cache-control.ts";
import { arrayOf, DEFERRED, numberOf, objectOf, otherMembersOf, textOf, textsOf } from "../members.ts";
import {
  audioPart,
  COMMON_NAMES,
  commonFieldsOf,
  formatOf,
  functionOf,
  imagePart,
  otherFieldsOf,
  partsOf,
  textPart,
} from "../openai-fields.ts";
import { askedReasoning, hidesThoughts, REASONING_FIELDS } from "./chat-reasoning.ts";
import { ChatWriter } from "./chat-writer.ts";

/** What chat completions call the fields of a conversation, where the names differ. */
const NAMES: Conversation["names"] = {
  ...COMMON_NAMES,
  turns: "messages",
  maxTokens: "max_tokens",
  topK: "top_k",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  format: "response_format",
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
  "presence_penalty",
  "frequency_penalty",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
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
]);

/** Values of other fields that ask for nothing special. */
const NEUTRAL = new Map<string, (value: Json) => boolean>([
  ["n", (value) => value === 1],
  ["logprobs", (value) => value === false],
  ["top_logprobs", (value) => value === 0],
  ["logit_bias", (value) => isJsonObject(value) && Object.keys(value).length === 0],
  ["modalities", (value) => Array.isArray(value) && value.length === 1 && value[0] === "text"],
]);

/** Fields that clients send to every model: LangChain and LlamaIndex allow only one call where they ask for an object. */
const OPTIONAL: Conversation["optional"] = ["parallelToolCalls"];

/** A chat completion request, which `operations/chat-completions.ts` has checked. */
export function chatRequest(
  body: JsonBody,
  options: { stream: boolean; includeUsage: boolean; ownLimit?: number | null },
): WireRequest {
  return {
    wire: "chat",
    body,
    ownLimit: options.ownLimit ?? null,
    headers: {},
    stream: options.stream,
    includeUsage: options.includeUsage,
    earlyControlEvents: CHAT_CONTROL_EVENTS,
    conversation: () => readChatConversation(body.value),
    writer: (head) => {
      const { includeUsage } = options;
      return new ChatWriter(head, { includeUsage, hidesThoughts: hidesThoughts(body.value) });
    },
  };
}

/**
 * Reads a valid chat request.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
function readChatConversation(body: JsonObject): Conversation {
  requireTypes(body);
  const ignored: string[] = [];
  const { tools, toolChoice } = allowedOf(toolsOf(body.tools, ignored), body.tool_choice);
  const { response_format: format } = body;
  const { reasoning, field } = askedReasoning(body);
  return {
    ...EMPTY_CONVERSATION,
    ...commonFieldsOf(body),
    turns: turnsOf(messagesOf(body), ignored),
    tools,
    toolChoice,
    maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    topK: topKOf(body.top_k),
    presencePenalty: numberOf(body.presence_penalty),
    frequencyPenalty: numberOf(body.frequency_penalty),
    seed: numberOf(body.seed),
    stop: typeof body.stop === "string" ? [body.stop] : textsOf(body.stop),
    format: formatOf(format, objectOf(format).json_schema, "response_format"),
    reasoning,
    verbosity: textOf(body.verbosity),
    names: { ...NAMES, reasoning: field },
    others: new Map(otherFieldsOf(body, READ, NEUTRAL)),
    optional: OPTIONAL,
    ignored,
  };
}

/** Fields that are texts. Their own provider refuses anything else, and nobody would tell the client that it was left out. */
const TEXTS = ["user", "safety_identifier", "prompt_cache_key", "service_tier", "verbosity"];

function requireTypes(body: JsonObject): void {
  for (const name of TEXTS) {
    const value = body[name] ?? null;
    if (value !== null && typeof value !== "string") throw cannot(name, "must be a text");
  }
  const metadata = body.metadata ?? null;
  if (metadata !== null && !isJsonObject(metadata)) throw cannot("metadata", "must be an object");
}

/** OpenAI has no such field. Of servers that do, 0 and -1 turn it off. */
function topKOf(value: Json | undefined): number | null {
  if (value === undefined || value === null) return null;
  if (!Number.isInteger(value)) throw cannot("top_k", "must be a whole number");
  const topK = Number(value);
  return topK > 0 ? topK : null;
}

const ALL_HAVE = ["role", "content", "name", "cache_control"];
const THOUGHTS = [
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking_blocks",
  "provider_specific_fields",
];
/** What messages may have. What is not known might change the answer. */
const MEMBERS: ReadonlyMap<Json | undefined, readonly string[]> = new Map([
  ["system", ALL_HAVE],
  ["developer", ALL_HAVE],
  ["user", ALL_HAVE],
  // Clients send back what models have said with more than is needed: their thoughts, in the forms of OpenRouter and LiteLLM too, members
  // that are null, and, from OpenAI's libraries, the object that `parse` has made of the content.
  ["assistant", [...ALL_HAVE, "tool_calls", "refusal", "annotations", "parsed", ...THOUGHTS]],
  ["tool", [...ALL_HAVE, "tool_call_id"]],
]);

/** What a client of OpenRouter says of a whole request's cache, its last message says. */
function messagesOf({ messages, cache_control }: JsonObject): readonly Json[] {
  const all = arrayOf(messages);
  const last = all.at(-1);
  if (!isJsonObject(cache_control) || !isJsonObject(last)) return all;
  return [...all.slice(0, -1), { ...last, cache_control: last.cache_control ?? cache_control }];
}

/** `ignored` gets the names of those who speak. AutoGen sends them with all messages, and LangGraph with those of its agents. */
function turnsOf(messages: readonly Json[], ignored: string[]): Turn[] {
  const turns: Turn[] = [];
  const called = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    if (!isJsonObject(message)) throw cannot(at, "must be a message");
    requireKnown(message, at);
    // The name of a result is that of the tool, which the call has.
    if ((message.name ?? null) !== null && message.role !== "tool") ignored.push(`${at}.name`);
    turns.push(turnOf(message, at, called));
  }
  return turns;
}

/**
 * Clients of LiteLLM and OpenRouter say of a whole message that it ends what is to be cached. Its last part then does, but for blank
 * texts, which Anthropic's models do not get.
 */
function cachedTo<Part extends { readonly cache: CacheTtl | null; readonly text?: unknown }>(
  message: JsonObject,
  parts: readonly Part[],
): readonly Part[] {
  const cache = cacheOf(message);
  const last = parts.findLast(({ text }) => typeof text !== "string" || text.trim() !== "");
  if (cache === null || last === undefined || last.cache !== null) return parts;
  return parts.map((part) => (part === last ? { ...part, cache } : part));
}

function requireKnown(message: JsonObject, at: string): void {
  const known = MEMBERS.get(message.role);
  if (known === undefined) return;
  for (const [name, value] of Object.entries(message)) {
    if (value === null || value === undefined) continue;
    if (!known.includes(name)) {
      throw cannot(`${at}.${name}`, "is not supported by this model's provider; remove it");
    }
  }
}

function turnOf(message: JsonObject, at: string, called: Set<string>): Turn {
  const { role, content } = message;
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", parts: cachedTo(message, textParts(content, `${at}.content`)) };
    case "user":
      return { role, parts: cachedTo(message, partsOf(content, `${at}.content`, userPart)) };
    case "assistant": {
      const calls = callsOf(message.tool_calls, `${at}.tool_calls`);
      for (const { id } of calls) called.add(id);
      return { role, parts: cachedTo(message, [...saidParts(message, at), ...calls]) };
    }
    case "tool": {
      const { tool_call_id: id } = message;
      const idAt = `${at}.tool_call_id`;
      if (typeof id !== "string" || !called.has(id)) {
        throw cannot(idAt, "must be the id of a call that an earlier message has made");
      }
      const parts = partsOf(content, `${at}.content`, resultPart);
      const cache = parts.findLast((part) => part.cache !== null)?.cache ?? null;
      const result = { kind: "result" as const, callId: id, parts, isError: false, cache, at: idAt };
      return { role, parts: cachedTo(message, [result]) };
    }
    default:
      throw cannot(`${at}.role`, "must be system, developer, user, assistant or tool");
  }
}

function saidParts({ content, refusal }: JsonObject, at: string): AssistantPart[] {
  const said = content === null || content === undefined ? [] : textParts(content, `${at}.content`);
  const parts = said.filter(({ text }) => text !== "");
  if (parts.length > 0 || typeof refusal !== "string") return parts;
  return [{ kind: "refusal", text: refusal, cache: null, at: `${at}.refusal` }];
}

function textParts(content: Json | undefined, contentAt: string): TextPart[] {
  return partsOf(content, contentAt, (part, at) => {
    const object = objectOf(part);
    const { type, text, refusal } = object;
    const said = type === "text" ? text : type === "refusal" ? refusal : null;
    if (typeof said !== "string") throw cannot(at, "must be a text part for this model");
    return { ...textPart(said, at), cache: cacheOf(object) };
  });
}

/** Clients such as aider say in Anthropic's words what is to be cached. OpenAI's models cache without being asked. */
function userPart(part: Json, at: string): UserPart {
  if (!isJsonObject(part)) throw cannot(at, "must be a part of a message");
  return { ...uncachedPart(part, at), cache: cacheOf(part) };
}

function uncachedPart(part: JsonObject, at: string): UserPart {
  const { type, text, image_url: image, file } = part;
  if (type === "text" && typeof text === "string") return textPart(text, at);
  if (type === "image_url") {
    if (!isJsonObject(image)) throw cannot(`${at}.image_url`, "must be an object with a url");
    return imagePart(mediaSourceOf(image.url, `${at}.image_url.url`), image.detail, `${at}.image_url`);
  }
  if (type === "input_audio") return audioPart(part.input_audio, `${at}.input_audio`);
  if (type === "file" && isJsonObject(file)) {
    const source = typeof file.file_data === "string" ? dataSourceOf(file.file_data) : null;
    if (source === null) throw cannot(`${at}.file.file_data`, "must be a data URL with base64");
    return { kind: "file", source, filename: textOf(file.filename), cache: null, at: `${at}.file` };
  }
  throw cannot(at, UNSUPPORTED);
}

/** Chat completions have only texts in a result. Other formats have images and files, too, and clients send them to every model. */
function resultPart(value: Json, at: string): ToolResultPart["parts"][number] {
  const part = userPart(value, at);
  if (part.kind === "audio") throw cannot(part.at, "must not be a part of a tool's result");
  return part;
}

function callsOf(calls: Json | undefined, at: string): ToolCallPart[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw cannot(at, "must be an array of calls");
  return calls.map((call: Json, index) => {
    const object = objectOf(call);
    const { id, function: called, extra_content: extra } = object;
    const { name, arguments: input } = objectOf(called);
    if (typeof id !== "string" || typeof name !== "string" || typeof input !== "string") {
      throw cannot(`${at}.${index}`, "must be a call of a function, with an id, a name and arguments");
    }
    const inputAt = `${at}.${index}.function.arguments`;
    const cache = cacheOf(object);
    return { kind: "call", id, name, input, signature: signatureOf(extra), cache, at: inputAt };
  });
}

/** What Google wants back with its call, and nothing else that a client may have put there. Its name was `thoughtSignature` first. */
function signatureOf(extra: Json | undefined): Signature | null {
  const { thought_signature: present, thoughtSignature: former } = objectOf(objectOf(extra).google);
  const thoughtSignature = textOf(present) ?? textOf(former);
  return thoughtSignature === null ? null : { provider: "google", fields: { thoughtSignature } };
}

const TOOL_MEMBERS = new Set(["type", "function", "cache_control", DEFERRED]);
const FUNCTION_MEMBERS = new Set(["name", "description", "parameters", "strict", "cache_control"]);

function toolsOf(value: Json | undefined, ignored: string[]): Tool[] {
  return arrayOf(value).map((element, index) => {
    const tool = objectOf(element);
    const { type, function: called } = tool;
    if (type !== "function" || !isJsonObject(called) || typeof called.name !== "string") {
      throw cannot(`tools.${index}`, "must be a function for this model");
    }
    ignored.push(
      ...otherMembersOf(tool, TOOL_MEMBERS, `tools.${index}`),
      ...otherMembersOf(called, FUNCTION_MEMBERS, `tools.${index}.function`),
    );
    return { name: called.name, ...functionOf(called), cache: cacheOf(tool) ?? cacheOf(called) };
  });
}

/** The tools that the model may use, of which the client may allow some only, and how it is to use them. */
function allowedOf(
  tools: readonly Tool[],
  choice: Json | undefined,
): Pick<Conversation, "tools" | "toolChoice"> {
  const { type, allowed_tools: allowed } = objectOf(choice);
  if (type !== "allowed_tools") return { tools, toolChoice: toolChoiceOf(choice, tools) };
  const { mode, tools: list } = objectOf(allowed);
  const names = new Set(arrayOf(list).map((tool) => objectOf(objectOf(tool).function).name));
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
  const { type, function: called } = objectOf(value);
  const { name } = objectOf(called);
  if (type === "function" && typeof name === "string") {
    if (tools.some((tool) => tool.name === name)) return { kind: "tool", name };
    throw cannot("tool_choice", "must name one of the tools");
  }
  throw cannot("tool_choice", "must be auto, none, required or one function for this model");
}
