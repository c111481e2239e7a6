import {
  type AssistantPart,
  type Conversation,
  cannot,
  EFFORTS,
  type Effort,
  EMPTY_CONVERSATION,
  type FilePart,
  type ImagePart,
  type OutputFormat,
  type Reasoning,
  type Signature,
  type TextPart,
  type Tool,
  type ToolCallPart,
  type ToolChoice,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { dataSourceOf, mediaSourceOf } from "../../conversation/media.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";

/** What chat completions call the fields of a conversation, where the names differ. */
const NAMES: Conversation["names"] = {
  turns: "messages",
  maxTokens: "max_tokens",
  topP: "top_p",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  toolChoice: "tool_choice",
  parallelToolCalls: "parallel_tool_calls",
  format: "response_format",
  reasoning: "reasoning_effort",
  serviceTier: "service_tier",
  promptCacheKey: "prompt_cache_key",
};

/** Fields that a conversation has, or that say nothing about the answer. */
const READ = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
  "verbosity",
  "service_tier",
  "user",
  "metadata",
  "store",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_retention",
]);

/** Values of other fields that ask for nothing special. */
const NEUTRAL: Readonly<Record<string, (value: Json) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: (value) => isJsonObject(value) && Object.keys(value).length === 0,
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === "text",
};

/**
 * Reads a valid chat request.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed in a conversation.
 */
export function readChatConversation(body: JsonObject): Conversation {
  const tools = toolsOf(body.tools);
  return {
    ...EMPTY_CONVERSATION,
    turns: turnsOf(Array.isArray(body.messages) ? body.messages : []),
    tools,
    toolChoice: toolChoiceOf(body.tool_choice, tools.length > 0),
    parallelToolCalls: typeof body.parallel_tool_calls === "boolean" ? body.parallel_tool_calls : null,
    maxTokens: number(body.max_completion_tokens) ?? number(body.max_tokens),
    temperature: number(body.temperature),
    topP: number(body.top_p),
    presencePenalty: number(body.presence_penalty),
    frequencyPenalty: number(body.frequency_penalty),
    seed: number(body.seed),
    stop: stopsOf(body.stop),
    format: formatOf(body.response_format),
    reasoning: reasoningOf(body.reasoning_effort),
    verbosity: text(body.verbosity),
    serviceTier: text(body.service_tier),
    promptCacheKey: text(body.prompt_cache_key),
    user: text(body.safety_identifier) ?? text(body.user),
    metadata: isJsonObject(body.metadata) ? body.metadata : null,
    names: NAMES,
    others: othersIn(body),
  };
}

function othersIn(body: JsonObject): ReadonlyMap<string, Json> {
  return new Map(
    Object.entries(body).filter((entry): entry is [string, Json] => {
      const [name, value] = entry;
      if (value === undefined || value === null || READ.has(name)) return false;
      const isNeutral = Object.hasOwn(NEUTRAL, name) ? NEUTRAL[name] : undefined;
      return isNeutral?.(value) !== true;
    }),
  );
}

/** What messages may have beside role and content. What is not known might change the answer. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  system: [],
  developer: [],
  user: [],
  // Clients send back what models have said with more than is needed: their thoughts, and members that are null.
  assistant: ["tool_calls", "refusal", "reasoning_content", "reasoning", "annotations"],
  // Some clients repeat the name of the tool.
  tool: ["tool_call_id", "name"],
};

function turnsOf(messages: readonly Json[]): Turn[] {
  const turns: Turn[] = [];
  const called = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    if (!isJsonObject(message)) throw cannot(at, "must be a message");
    requireKnown(message, at);
    turns.push(turnOf(message, at, called));
  }
  return turns;
}

function requireKnown(message: JsonObject, at: string): void {
  const { role } = message;
  const known = typeof role === "string" && Object.hasOwn(MEMBERS, role) ? MEMBERS[role] : undefined;
  if (known === undefined) return;
  for (const [name, value] of Object.entries(message)) {
    if (name === "role" || name === "content" || value === null || value === undefined) continue;
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
      return { role: "system", parts: textParts(content, `${at}.content`) };
    case "user":
      return { role: "user", parts: userParts(content, `${at}.content`) };
    case "assistant": {
      const calls = callsOf(message.tool_calls, `${at}.tool_calls`);
      for (const { id } of calls) called.add(id);
      return { role: "assistant", parts: [...saidParts(message, at), ...calls] };
    }
    case "tool": {
      const { tool_call_id: id } = message;
      const idAt = `${at}.tool_call_id`;
      if (typeof id !== "string" || !called.has(id)) {
        throw cannot(idAt, "must be the id of a call that an earlier message has made");
      }
      const parts = textParts(content, `${at}.content`);
      return {
        role: "tool",
        parts: [{ kind: "result", callId: id, parts, isError: false, cache: null, at: idAt }],
      };
    }
    default:
      throw cannot(`${at}.role`, "must be system, developer, user, assistant or tool");
  }
}

function saidParts({ content, refusal }: JsonObject, at: string): AssistantPart[] {
  const said = content === null || content === undefined ? [] : textParts(content, `${at}.content`);
  const parts = said.filter(({ text: part }) => part !== "");
  if (parts.length > 0 || typeof refusal !== "string") return parts;
  return [{ kind: "refusal", text: refusal, cache: null, at: `${at}.refusal` }];
}

function textParts(content: Json | undefined, at: string): TextPart[] {
  if (typeof content === "string") return [{ kind: "text", text: content, cache: null, at }];
  if (!Array.isArray(content)) throw cannot(at, "must be a text, or an array of texts");
  return content.map((part: Json, index) => {
    const { type, text: ofText, refusal } = isJsonObject(part) ? part : {};
    const said = type === "text" ? ofText : type === "refusal" ? refusal : null;
    if (typeof said !== "string") throw cannot(`${at}.${index}`, "must be a text part for this model");
    return { kind: "text", text: said, cache: null, at: `${at}.${index}` };
  });
}

function userParts(content: Json | undefined, at: string): UserPart[] {
  if (typeof content === "string") return [{ kind: "text", text: content, cache: null, at }];
  if (!Array.isArray(content)) throw cannot(at, "must be a text, or an array of parts");
  return content.map((part: Json, index) => userPart(part, `${at}.${index}`));
}

function userPart(part: Json, at: string): UserPart {
  if (!isJsonObject(part)) throw cannot(at, "must be a part of a message");
  if (part.type === "text" && typeof part.text === "string") {
    return { kind: "text", text: part.text, cache: null, at };
  }
  if (part.type === "image_url" && isJsonObject(part.image_url)) {
    return imagePart(part.image_url, `${at}.image_url`);
  }
  if (part.type === "input_audio" && isJsonObject(part.input_audio)) {
    const { data, format } = part.input_audio;
    if (typeof data !== "string" || (format !== "wav" && format !== "mp3")) {
      throw cannot(`${at}.input_audio`, "must have base64 data, and wav or mp3 as its format");
    }
    return { kind: "audio", data, format, cache: null, at: `${at}.input_audio` };
  }
  if (part.type === "file" && isJsonObject(part.file)) return filePart(part.file, `${at}.file`);
  throw cannot(at, "is not supported by this model");
}

function imagePart({ url, detail }: JsonObject, at: string): ImagePart {
  const source = mediaSourceOf(url, `${at}.url`);
  return { kind: "image", source, detail: text(detail) === "auto" ? null : text(detail), cache: null, at };
}

function filePart({ file_data: data, filename }: JsonObject, at: string): FilePart {
  const source = typeof data === "string" ? dataSourceOf(data) : null;
  if (source === null) throw cannot(`${at}.file_data`, "must be a data URL with base64");
  return { kind: "file", source, filename: text(filename), cache: null, at };
}

function callsOf(calls: Json | undefined, at: string): ToolCallPart[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw cannot(at, "must be an array of calls");
  return calls.map((call: Json, index) => {
    const { id, function: called, extra_content: extra } = isJsonObject(call) ? call : {};
    const { name, arguments: input } = isJsonObject(called) ? called : {};
    if (typeof id !== "string" || typeof name !== "string" || typeof input !== "string") {
      throw cannot(`${at}.${index}`, "must be a call of a function, with an id, a name and arguments");
    }
    const inputAt = `${at}.${index}.function.arguments`;
    return { kind: "call", id, name, input, signature: signatureOf(extra), cache: null, at: inputAt };
  });
}

/** What Google wants back with its call, and nothing else that a client may have put there. */
function signatureOf(extra: Json | undefined): Signature | null {
  const google = isJsonObject(extra) ? extra.google : null;
  const thoughtSignature = isJsonObject(google) ? google.thoughtSignature : null;
  return typeof thoughtSignature === "string" ? { provider: "google", fields: { thoughtSignature } } : null;
}

function toolsOf(value: Json | undefined): Tool[] {
  if (!Array.isArray(value)) return [];
  return value.map((tool: Json, index) => {
    const called = isJsonObject(tool) && tool.type === "function" ? tool.function : null;
    if (!isJsonObject(called) || typeof called.name !== "string") {
      throw cannot(`tools.${index}`, "must be a function for this model");
    }
    const { name, description, parameters, strict } = called;
    return {
      name,
      description: text(description),
      parameters: isJsonObject(parameters) ? parameters : null,
      strict: typeof strict === "boolean" ? strict : null,
      cache: null,
    };
  });
}

function toolChoiceOf(value: Json | undefined, hasTools: boolean): ToolChoice | null {
  if (value === undefined || value === null) return null;
  if (!hasTools && (value === "auto" || value === "none")) return null;
  if (!hasTools) throw cannot("tool_choice", "requires tools");
  if (value === "auto" || value === "none" || value === "required") return { kind: value };
  const called = isJsonObject(value) && value.type === "function" ? value.function : null;
  if (isJsonObject(called) && typeof called.name === "string") return { kind: "tool", name: called.name };
  throw cannot("tool_choice", "must be auto, none, required or one function for this model");
}

function formatOf(value: Json | undefined): OutputFormat | null {
  if (!isJsonObject(value)) return null;
  if (value.type === "text") return { kind: "text" };
  if (value.type === "json_object") return { kind: "json" };
  const format = value.type === "json_schema" ? value.json_schema : null;
  if (!isJsonObject(format)) throw cannot("response_format", "must be text, json_object or json_schema");
  const { schema, name, description, strict } = format;
  return {
    kind: "schema",
    name: text(name),
    description: text(description),
    schema: isJsonObject(schema) ? schema : null,
    strict: typeof strict === "boolean" ? strict : null,
  };
}

function reasoningOf(value: Json | undefined): Reasoning | null {
  if (value === undefined || value === null) return null;
  const effort = EFFORTS.find((known) => known === value);
  if (effort === undefined) throw cannot("reasoning_effort", `must be one of ${EFFORTS.join(", ")}`);
  return { effort: effort satisfies Effort, budgetTokens: null, summary: null };
}

function stopsOf(value: Json | undefined): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((stop): stop is string => typeof stop === "string") : [];
}

function number(value: Json | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function text(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}
