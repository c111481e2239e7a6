import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import {
  type AssistantPart,
  cannot,
  type MediaSource,
  type Signature,
  type ToolResultPart,
  type Turn,
  type UserPart,
} from "../../conversation/conversation.ts";
import { type JsonObject, parseJsonObject } from "../../json/json.ts";
import type { ProviderLimits } from "./provider.ts";

type AssistantContent = LanguageModelV4TextPart | LanguageModelV4ReasoningPart | LanguageModelV4ToolCallPart;
type WithOptions = { providerOptions?: SharedV4ProviderOptions };

/**
 * The turns of a conversation, as the AI SDK has them. A provider gets its own signatures back, and no others.
 *
 * @throws {Failure} `invalid_request` naming what can't be expressed.
 */
export function promptOf(
  turns: readonly Turn[],
  { optionsName, hasSystemAnywhere }: Pick<ProviderLimits, "optionsName" | "hasSystemAnywhere">,
): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  /** A result names its call; the AI SDK wants the tool's name, too. */
  const toolNames = new Map<string, string>();
  for (const turn of turns) {
    const last = prompt.at(-1);
    if (turn.role === "system") {
      const isLate = last !== undefined && last.role !== "system";
      prompt.push(isLate && !hasSystemAnywhere ? lateInstructions(turn) : systemMessage(turn));
      continue;
    }
    const next = messageOf(turn, toolNames, optionsName);
    // Results of calls that were made together belong together.
    if (next.role === "tool" && last?.role === "tool") last.content.push(...next.content);
    else prompt.push(next);
  }
  return prompt;
}

type SystemTurn = Extract<Turn, { role: "system" }>;

function systemMessage({ parts }: SystemTurn): LanguageModelV4Message {
  return { role: "system", content: parts.map(({ text }) => text).join("\n") };
}

/** Instructions within a conversation, for providers that take them only at its beginning. */
function lateInstructions({ parts }: SystemTurn): LanguageModelV4Message {
  const text = parts.map((part) => part.text).join("\n");
  return { role: "user", content: [{ type: "text", text: `<system>\n${text}\n</system>` }] };
}

function messageOf(
  turn: Exclude<Turn, SystemTurn>,
  toolNames: Map<string, string>,
  optionsName: string,
): LanguageModelV4Message {
  switch (turn.role) {
    case "user":
      return { role: "user", content: turn.parts.map(userPart) };
    case "assistant": {
      for (const part of turn.parts) if (part.kind === "call") toolNames.set(part.id, part.name);
      return { role: "assistant", content: turn.parts.flatMap((part) => assistantPart(part, optionsName)) };
    }
    case "tool":
      return { role: "tool", content: turn.parts.map((part) => toolResult(part, toolNames)) };
  }
}

function userPart(part: UserPart): LanguageModelV4TextPart | LanguageModelV4FilePart {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "audio": {
      const mediaType = part.format === "wav" ? "audio/wav" : "audio/mpeg";
      return { type: "file", mediaType, data: { type: "data", data: part.data } };
    }
    case "image":
      if (part.detail !== null) {
        throw cannot(`${part.at}.detail`, "is not supported by this model's provider; remove it");
      }
      return filePart(part.source, "image/*");
    case "file": {
      const filename = part.filename === null ? {} : { filename: part.filename };
      return { ...filePart(part.source, "application/pdf"), ...filename };
    }
  }
}

/** @param mediaType That of a file that is named by its URL. */
function filePart(source: MediaSource, mediaType: string): LanguageModelV4FilePart {
  return source.kind === "data"
    ? { type: "file", mediaType: source.mediaType, data: { type: "data", data: source.data } }
    : { type: "file", mediaType, data: { type: "url", url: new URL(source.url) } };
}

function assistantPart(part: AssistantPart, optionsName: string): AssistantContent[] {
  switch (part.kind) {
    case "text":
    case "refusal":
      return [{ type: "text", text: part.text }];
    case "reasoning": {
      // A provider takes thoughts only with its own signature.
      const signed = signatureOptions(part.signature, optionsName);
      return signed === null ? [] : [{ type: "reasoning", text: part.text, ...signed }];
    }
    case "call": {
      const signed = signatureOptions(part.signature, optionsName);
      const { id: toolCallId, name: toolName } = part;
      return [{ type: "tool-call", toolCallId, toolName, input: inputOf(part), ...signed }];
    }
  }
}

function inputOf({ input, at }: { readonly input: string; readonly at: string }): JsonObject {
  const value = input.trim() === "" ? {} : parseJsonObject(input);
  if (value === null) throw cannot(at, "must be a JSON object");
  return value;
}

function toolResult(
  { callId, parts, isError, at }: ToolResultPart,
  toolNames: ReadonlyMap<string, string>,
): LanguageModelV4ToolResultPart {
  const toolName = toolNames.get(callId);
  if (toolName === undefined) throw cannot(at, "must be the id of a call that an earlier message has made");
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  if (texts.length === parts.length) {
    const output = { type: isError ? "error-text" : "text", value: texts.join("\n") } as const;
    return { type: "tool-result", toolCallId: callId, toolName, output };
  }
  const value = parts.map((part) => {
    if (part.kind === "text") return { type: "text" as const, text: part.text };
    return filePart(part.source, part.kind === "image" ? "image/*" : "application/pdf");
  });
  return { type: "tool-result", toolCallId: callId, toolName, output: { type: "content", value } };
}

/** What the provider wants back with a part; `null` if it is not this provider's. */
function signatureOptions(signature: Signature | null, optionsName: string): WithOptions | null {
  if (signature === null || signature.provider !== optionsName) return null;
  return { providerOptions: { [optionsName]: { ...signature.fields } } };
}
