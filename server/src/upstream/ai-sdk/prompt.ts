import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { Failure } from "../../errors/failure.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";

const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/=\s]*)$/i;

/**
 * The messages of a chat request, as the AI SDK has them.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed.
 */
export function promptOf(messages: readonly Json[]): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  /** A result names its call; the AI SDK wants the tool's name, too. */
  const toolNames = new Map<string, string>();
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`;
    if (!isJsonObject(message)) throw cannot(path, "must be a message");
    requireKnown(message, path);
    const next = messageOf(message, path, toolNames);
    const last = prompt.at(-1);
    // Results of calls that were made together belong together.
    if (next.role === "tool" && last?.role === "tool") last.content.push(...next.content);
    else prompt.push(next);
  }
  return prompt;
}

/** What messages may have, beside their content. What is not known might change the answer. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  system: [],
  developer: [],
  user: [],
  // What models have said comes back with more than they need: their thoughts, and what is null.
  assistant: ["tool_calls", "refusal", "reasoning_content", "reasoning", "annotations"],
  // Some clients repeat the name of the tool.
  tool: ["tool_call_id", "name"],
};

function requireKnown(message: JsonObject, path: string): void {
  const { role } = message;
  const known = typeof role === "string" && Object.hasOwn(MEMBERS, role) ? MEMBERS[role] : undefined;
  if (known === undefined) return;
  for (const [name, value] of Object.entries(message)) {
    if (name === "role" || name === "content" || value === null || value === undefined) continue;
    if (!known.includes(name))
      throw cannot(`${path}.${name}`, "is not supported by this model's provider; remove it");
  }
}

function messageOf(
  message: JsonObject,
  path: string,
  toolNames: Map<string, string>,
): LanguageModelV4Message {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(message.content, `${path}.content`) };
    case "user":
      return { role: "user", content: userParts(message.content, `${path}.content`) };
    case "assistant": {
      const calls = toolCalls(message.tool_calls, `${path}.tool_calls`);
      for (const { toolCallId, toolName } of calls) toolNames.set(toolCallId, toolName);
      const { content, refusal } = message;
      const said = content === null || content === undefined ? "" : textOf(content, `${path}.content`);
      const text = typeof refusal === "string" && said === "" ? refusal : said;
      const parts: LanguageModelV4TextPart[] = text === "" ? [] : [{ type: "text", text }];
      return { role: "assistant", content: [...parts, ...calls] };
    }
    case "tool":
      return { role: "tool", content: [toolResult(message, path, toolNames)] };
    default:
      throw cannot(`${path}.role`, "must be system, developer, user, assistant or tool");
  }
}

function textOf(content: Json | undefined, path: string): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw cannot(path, "must be a text, or an array of texts");
  const texts = content.map((part: Json, index) => {
    if (isJsonObject(part) && part.type === "text" && typeof part.text === "string") return part.text;
    if (isJsonObject(part) && part.type === "refusal" && typeof part.refusal === "string")
      return part.refusal;
    throw cannot(`${path}.${index}`, "must be a text part for this model");
  });
  return texts.join("\n");
}

function userParts(
  content: Json | undefined,
  path: string,
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw cannot(path, "must be a text, or an array of parts");
  return content.map((part: Json, index) => userPart(part, `${path}.${index}`));
}

function userPart(part: Json, path: string): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (!isJsonObject(part)) throw cannot(path, "must be a part of a message");
  if (part.type === "text" && typeof part.text === "string") return { type: "text", text: part.text };
  if (part.type === "image_url" && isJsonObject(part.image_url)) {
    return imagePart(part.image_url, `${path}.image_url`);
  }
  if (part.type === "input_audio" && isJsonObject(part.input_audio)) {
    const { data, format } = part.input_audio;
    if (typeof data !== "string" || (format !== "wav" && format !== "mp3")) {
      throw cannot(`${path}.input_audio`, "must have base64 data, and wav or mp3 as its format");
    }
    const mediaType = format === "wav" ? "audio/wav" : "audio/mpeg";
    return { type: "file", mediaType, data: { type: "data", data } };
  }
  if (part.type === "file" && isJsonObject(part.file)) return filePart(part.file, `${path}.file`);
  throw cannot(path, "is not supported by this model");
}

function imagePart({ url, detail }: JsonObject, path: string): LanguageModelV4FilePart {
  if (detail !== undefined && detail !== null && detail !== "auto") {
    throw cannot(`${path}.detail`, "is not supported by this model's provider; remove it");
  }
  if (typeof url !== "string") throw cannot(`${path}.url`, "must be a URL");
  const inline = inlineFile(url);
  if (inline !== null) return inline;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw cannot(`${path}.url`, "must be an http(s) URL, or a data URL with base64");
  }
  return { type: "file", mediaType: "image/*", data: { type: "url", url: new URL(url) } };
}

function filePart({ file_data: data, filename }: JsonObject, path: string): LanguageModelV4FilePart {
  const inline = typeof data === "string" ? inlineFile(data) : null;
  if (inline === null) throw cannot(`${path}.file_data`, "must be a data URL with base64");
  return typeof filename === "string" ? { ...inline, filename } : inline;
}

function inlineFile(url: string): LanguageModelV4FilePart | null {
  const [, mediaType, data] = DATA_URL.exec(url) ?? [];
  if (mediaType === undefined || data === undefined) return null;
  return { type: "file", mediaType: mediaType.toLowerCase(), data: { type: "data", data } };
}

function toolCalls(calls: Json | undefined, path: string): LanguageModelV4ToolCallPart[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) throw cannot(path, "must be an array of calls");
  return calls.map((call: Json, index) => {
    const { id, function: called, extra_content: extra } = isJsonObject(call) ? call : {};
    const { name, arguments: input } = isJsonObject(called) ? called : {};
    if (typeof id !== "string" || typeof name !== "string" || typeof input !== "string") {
      throw cannot(`${path}.${index}`, "must be a call of a function, with an id, a name and arguments");
    }
    return {
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input: parsedInput(input, `${path}.${index}.function.arguments`),
      ...signatureOf(extra),
    };
  });
}

/** What Google wants back with its call, and nothing else that a client may have put there. */
function signatureOf(extra: Json | undefined): { providerOptions?: SharedV4ProviderOptions } {
  const google = isJsonObject(extra) ? extra.google : null;
  const signature = isJsonObject(google) ? google.thoughtSignature : null;
  return typeof signature === "string"
    ? { providerOptions: { google: { thoughtSignature: signature } } }
    : {};
}

function parsedInput(text: string, path: string): unknown {
  if (text.trim() === "") return {};
  let input: unknown = null;
  try {
    input = JSON.parse(text);
  } catch {
    // Invalid JSON is refused below, like any value that is not an object.
  }
  if (isJsonObject(input)) return input;
  throw cannot(path, "must be a JSON object");
}

function toolResult(
  message: JsonObject,
  path: string,
  toolNames: ReadonlyMap<string, string>,
): LanguageModelV4ToolResultPart {
  const { tool_call_id: id, content } = message;
  const toolName = typeof id === "string" ? toolNames.get(id) : undefined;
  if (typeof id !== "string" || toolName === undefined) {
    throw cannot(`${path}.tool_call_id`, "must be the id of a call that an earlier message has made");
  }
  const output = { type: "text", value: textOf(content, `${path}.content`) } as const;
  return { type: "tool-result", toolCallId: id, toolName, output };
}

export function cannot(param: string, reason: string): Failure {
  return new Failure("invalid_request", `${param}: ${reason}`, { param });
}
