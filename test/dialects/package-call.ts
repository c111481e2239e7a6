import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type {
  AssistantPart,
  CacheTtl,
  MediaSource,
  Signature,
  Tool,
  ToolChoice,
  ToolResultPart,
  Turn,
  UserPart,
} from "../../server/src/conversation/conversation.ts";

// Conversations as the packages of the AI SDK have them, to compare what they write with what the service writes.

export function given<Name extends string, Value>(name: Name, value: Value | null) {
  return (value === null ? {} : { [name]: value }) as { [Key in Name]?: Value };
}

export function toolsOf(tools: readonly Tool[]): NonNullable<LanguageModelV4CallOptions["tools"]> {
  return tools.map(({ name, description, parameters, strict, cache }) => ({
    type: "function",
    name,
    ...given("description", description),
    inputSchema: (parameters ?? { type: "object", properties: {} }) as JSONSchema7,
    ...given("strict", strict),
    ...cached(cache),
  }));
}

export function choiceOf(choice: ToolChoice): NonNullable<LanguageModelV4CallOptions["toolChoice"]> {
  return choice.kind === "tool" ? { type: "tool", toolName: choice.name } : { type: choice.kind };
}

/** @param provider The one whose signatures its package gets. */
export function promptOf(turns: readonly Turn[], provider: string): LanguageModelV4Message[] {
  const names = new Map<string, string>();
  return turns.flatMap((turn) => messagesOf(turn, names, provider));
}

function messagesOf(turn: Turn, names: Map<string, string>, provider: string): LanguageModelV4Message[] {
  switch (turn.role) {
    case "system":
      return turn.parts.some(({ cache }) => cache !== null)
        ? turn.parts.map(({ text, cache }) => ({ role: "system", content: text, ...cached(cache) }))
        : [{ role: "system", content: turn.parts.map(({ text }) => text).join("\n") }];
    case "user":
      return [{ role: "user", content: turn.parts.map(userPart) }];
    case "assistant":
      for (const part of turn.parts) if (part.kind === "call") names.set(part.id, part.name);
      return assistantMessages(turn.parts, provider);
    case "tool":
      return [{ role: "tool", content: turn.parts.map((part) => resultPart(part, names)) }];
  }
}

function userPart(part: UserPart) {
  const options = cached(part.cache);
  switch (part.kind) {
    case "text":
      return { type: "text" as const, text: part.text, ...options };
    case "audio": {
      const mediaType = part.format === "wav" ? "audio/wav" : "audio/mpeg";
      return { type: "file" as const, mediaType, data: { type: "data" as const, data: part.data } };
    }
    case "image":
      return { ...filePart(part.source, "image/*"), ...options };
    case "file":
      return { ...filePart(part.source, "application/pdf"), ...given("filename", part.filename), ...options };
  }
}

function filePart(source: MediaSource, mediaType: string): LanguageModelV4FilePart {
  return source.kind === "data"
    ? { type: "file", mediaType: source.mediaType, data: { type: "data", data: source.data } }
    : { type: "file", mediaType, data: { type: "url", url: new URL(source.url) } };
}

/** A message with nothing but thoughts of other models is none. */
function assistantMessages(parts: readonly AssistantPart[], provider: string): LanguageModelV4Message[] {
  const content = parts.flatMap((part) => assistantPart(part, provider));
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

function assistantPart(part: AssistantPart, provider: string): AssistantContent {
  switch (part.kind) {
    case "text":
    case "refusal":
      return [{ type: "text" as const, text: part.text, ...cached(part.cache) }];
    case "reasoning": {
      const signed = signedBy(part.signature, provider);
      return signed === null
        ? []
        : [{ type: "reasoning" as const, text: part.text, providerOptions: signed }];
    }
    case "image":
      return [
        {
          ...filePart(part.source, "image/*"),
          ...given("providerOptions", signedBy(part.signature, provider)),
        },
      ];
    case "call": {
      const { id: toolCallId, name: toolName, input } = part;
      return [
        {
          type: "tool-call" as const,
          toolCallId,
          toolName,
          input: JSON.parse(input === "" ? "{}" : input),
          ...cached(part.cache),
          ...given("providerOptions", signedBy(part.signature, provider)),
        },
      ];
    }
  }
}

function resultPart({ callId, parts, isError, cache }: ToolResultPart, names: ReadonlyMap<string, string>) {
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  const value = parts.map((part) =>
    part.kind === "text"
      ? { type: "text" as const, text: part.text }
      : filePart(part.source, part.kind === "image" ? "image/*" : "application/pdf"),
  );
  return {
    type: "tool-result" as const,
    toolCallId: callId,
    toolName: names.get(callId) ?? "",
    output:
      texts.length === parts.length
        ? { type: isError ? ("error-text" as const) : ("text" as const), value: texts.join("\n") }
        : { type: "content" as const, value },
    ...cached(cache),
  };
}

function cached(ttl: CacheTtl | null): { providerOptions?: SharedV4ProviderOptions } {
  return ttl === null ? {} : { providerOptions: { anthropic: { cacheControl: { type: "ephemeral", ttl } } } };
}

function signedBy(signature: Signature | null, provider: string): SharedV4ProviderOptions | null {
  return signature?.provider === provider ? { [provider]: { ...signature.fields } } : null;
}
