import { createAnthropic } from "@ai-sdk/anthropic";
import type { JSONSchema7, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Conversation } from "../../server/src/conversation/conversation.ts";
import { choiceOf, given, promptOf, toolsOf } from "./package-call.ts";

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
    prompt: promptOf(conversation.turns, "anthropic"),
    ...given("maxOutputTokens", conversation.maxTokens),
    ...given("temperature", conversation.temperature),
    ...given("topP", conversation.topP),
    ...given("topK", conversation.topK),
    ...given("reasoning", reasoning?.effort ?? null),
    ...(conversation.stop.length === 0 ? {} : { stopSequences: [...conversation.stop] }),
    ...(hasTools ? { tools: toolsOf(tools) } : {}),
    ...(hasTools && toolChoice !== null ? { toolChoice: choiceOf(toolChoice) } : {}),
    ...(format?.kind === "schema" && format.schema !== null
      ? { responseFormat: { type: "json", schema: format.schema as JSONSchema7 } }
      : {}),
    providerOptions: { anthropic },
  };
}
