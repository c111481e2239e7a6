import type {
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { Json, JsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { readUsage } from "../openai/usage.ts";

/** What all parts of one answer have in common. */
export interface AnswerHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

/** A whole answer as OpenAI has it. */
export function completionOf(result: LanguageModelV4GenerateResult, head: AnswerHead): JsonObject {
  let text = "";
  let reasoning = "";
  const calls: JsonObject[] = [];
  for (const part of result.content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call" && part.providerExecuted !== true) {
      calls.push({
        id: part.toolCallId,
        type: "function",
        function: { name: part.toolName, arguments: part.input },
        ...extraOf(part.providerMetadata),
      });
    }
  }
  const message: JsonObject = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : (result.structuredOutputText ?? text),
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const finish = finishOf(result.finishReason, calls.length > 0);
  return {
    id: head.id,
    object: "chat.completion",
    created: head.created,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: openAiUsage(result.usage),
  };
}

/** What a model's server wants back with a call of a tool: Google's thought signature. */
export function extraOf(metadata: SharedV4ProviderMetadata | undefined): JsonObject {
  const signature = metadata?.google?.thoughtSignature;
  return typeof signature === "string" ? { extra_content: { google: { thoughtSignature: signature } } } : {};
}

export function finishOf({ unified }: LanguageModelV4FinishReason, hasCalls: boolean): string {
  if (unified === "length") return "length";
  if (unified === "content-filter") return "content_filter";
  // Some servers finish calls of tools like any other answer.
  return unified === "tool-calls" || hasCalls ? "tool_calls" : "stop";
}

/** OpenAI's `prompt_tokens` include those of the cache; `completion_tokens` those of reasoning. */
export function openAiUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): JsonObject | null {
  const parts = (inputTokens.noCache ?? 0) + (inputTokens.cacheRead ?? 0) + (inputTokens.cacheWrite ?? 0);
  const prompt = inputTokens.total ?? (parts > 0 ? parts : undefined);
  const completion = outputTokens.total;
  if (prompt === undefined && completion === undefined) return null;
  const written = inputTokens.cacheWrite ?? 0;
  const usage: Record<string, Json> = {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    total_tokens: (prompt ?? 0) + (completion ?? 0),
    prompt_tokens_details: {
      cached_tokens: inputTokens.cacheRead ?? 0,
      ...(written > 0 ? { cache_write_tokens: written } : {}),
    },
    completion_tokens_details: { reasoning_tokens: outputTokens.reasoning ?? 0 },
  };
  return usage;
}

/** The usage, validated like any upstream's. */
export function usageOf(usage: LanguageModelV4Usage): Usage | null {
  return readUsage(openAiUsage(usage));
}
