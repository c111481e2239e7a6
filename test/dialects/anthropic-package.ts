import { createAnthropic } from "@ai-sdk/anthropic";
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
  Conversation,
  MediaSource,
  ToolChoice,
  ToolResultPart,
  Turn,
  UserPart,
} from "../../server/src/conversation/conversation.ts";

/** A request as the AI SDK's package for Anthropic writes it. */
export interface PackageRequest {
  readonly body: unknown;
  readonly betas: readonly string[];
  /** The settings that it warns of, once each. */
  readonly unsupported: readonly string[];
}

/** Has the package write a conversation. */
export async function writtenByPackage(
  conversation: Conversation,
  model: string,
  stream: boolean,
): Promise<PackageRequest> {
  let body: unknown;
  let betas: readonly string[] = [];
  const capture: typeof fetch = async (_, init) => {
    body = JSON.parse(String(init?.body));
    betas = new Headers(init?.headers).get("anthropic-beta")?.split(",") ?? [];
    return stream
      ? new Response('data: {"type":"message_stop"}\n\n', {
          headers: { "content-type": "text/event-stream" },
        })
      : Response.json(ANSWER);
  };
  const package_ = createAnthropic({ apiKey: "k", baseURL: "https://api.anthropic.com/v1", fetch: capture });
  const written = package_.languageModel(model);
  const options = optionsOf(conversation);
  const warnings = stream
    ? (await firstOf((await written.doStream(options)).stream)).warnings
    : (await written.doGenerate(options)).warnings;
  const unsupported = warnings.flatMap((warning) =>
    warning.type === "unsupported" ? [warning.feature] : [],
  );
  return { body, betas, unsupported: [...new Set(unsupported)] };
}

const ANSWER = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
};

type StreamPart =
  Awaited<
    ReturnType<ReturnType<ReturnType<typeof createAnthropic>["languageModel"]>["doStream"]>
  >["stream"] extends ReadableStream<infer Part>
    ? Part
    : never;

async function firstOf(stream: ReadableStream<StreamPart>) {
  const reader = stream.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  if (value?.type !== "stream-start") throw new Error("the stream does not begin with its warnings");
  return value;
}

function optionsOf(conversation: Conversation): LanguageModelV4CallOptions {
  const { tools, toolChoice, parallelToolCalls, reasoning, format, user } = conversation;
  const hasTools = tools.length > 0;
  const thinking =
    reasoning?.budgetTokens === null
      ? { type: "adaptive" }
      : { type: "enabled", budgetTokens: reasoning?.budgetTokens ?? 0 };
  const anthropic = {
    ...(user === null ? {} : { metadata: { userId: user } }),
    ...(parallelToolCalls === false && hasTools ? { disableParallelToolUse: true } : {}),
    ...(reasoning !== null && reasoning.effort === null ? { thinking } : {}),
  };
  return {
    prompt: promptOf(conversation.turns),
    ...given("maxOutputTokens", conversation.maxTokens),
    ...given("temperature", conversation.temperature),
    ...given("topP", conversation.topP),
    ...given("topK", conversation.topK),
    ...given("reasoning", reasoning?.effort ?? null),
    ...(conversation.stop.length === 0 ? {} : { stopSequences: [...conversation.stop] }),
    ...(hasTools ? { tools: toolsOf(conversation) } : {}),
    ...(hasTools && toolChoice !== null ? { toolChoice: choiceOf(toolChoice) } : {}),
    ...(format?.kind === "schema" && format.schema !== null
      ? { responseFormat: { type: "json", schema: format.schema as JSONSchema7 } }
      : {}),
    providerOptions: { anthropic },
  };
}

function given<Name extends string, Value>(name: Name, value: Value | null) {
  return (value === null ? {} : { [name]: value }) as { [Key in Name]?: Value };
}

function toolsOf({ tools }: Conversation): NonNullable<LanguageModelV4CallOptions["tools"]> {
  return tools.map(({ name, description, parameters, strict, cache }) => ({
    type: "function",
    name,
    ...given("description", description),
    inputSchema: (parameters ?? { type: "object", properties: {} }) as JSONSchema7,
    ...given("strict", strict),
    ...cached(cache),
  }));
}

function choiceOf(choice: ToolChoice): NonNullable<LanguageModelV4CallOptions["toolChoice"]> {
  return choice.kind === "tool" ? { type: "tool", toolName: choice.name } : { type: choice.kind };
}

function promptOf(turns: readonly Turn[]): LanguageModelV4Message[] {
  const names = new Map<string, string>();
  return turns.flatMap((turn) => messagesOf(turn, names));
}

function messagesOf(turn: Turn, names: Map<string, string>): LanguageModelV4Message[] {
  switch (turn.role) {
    case "system":
      return turn.parts.some(({ cache }) => cache !== null)
        ? turn.parts.map(({ text, cache }) => ({ role: "system", content: text, ...cached(cache) }))
        : [{ role: "system", content: turn.parts.map(({ text }) => text).join("\n") }];
    case "user":
      return [{ role: "user", content: turn.parts.map(userPart) }];
    case "assistant":
      for (const part of turn.parts) if (part.kind === "call") names.set(part.id, part.name);
      return assistantMessages(turn.parts);
    case "tool":
      return [{ role: "tool", content: turn.parts.map((part) => resultPart(part, names)) }];
  }
}

function userPart(part: UserPart) {
  const options = cached(part.cache);
  switch (part.kind) {
    case "text":
      return { type: "text" as const, text: part.text, ...options };
    case "audio":
      throw new Error("Anthropic's models take no audio");
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
function assistantMessages(parts: readonly AssistantPart[]): LanguageModelV4Message[] {
  const content = parts.flatMap(assistantPart);
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

function assistantPart(part: AssistantPart): AssistantContent {
  switch (part.kind) {
    case "text":
    case "refusal":
      return [{ type: "text" as const, text: part.text, ...cached(part.cache) }];
    case "reasoning":
      return part.signature?.provider === "anthropic"
        ? [
            {
              type: "reasoning" as const,
              text: part.text,
              providerOptions: { anthropic: { ...part.signature.fields } },
            },
          ]
        : [];
    case "call": {
      const { id: toolCallId, name: toolName, input } = part;
      return [
        {
          type: "tool-call" as const,
          toolCallId,
          toolName,
          input: JSON.parse(input === "" ? "{}" : input),
          ...cached(part.cache),
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
