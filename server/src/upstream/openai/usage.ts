import { isJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { checkedUsage, type ReportedCounts } from "../usage-counts.ts";

/** Reads the `usage` object of OpenAI's chat completions and embeddings. @returns `null` unless its numbers are plausible. */
export function readUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  return checkedUsage({
    promptTokens: value.prompt_tokens,
    completionTokens: value.completion_tokens,
    ...promptParts(value.prompt_tokens_details),
    ...completionParts(value.completion_tokens_details),
  });
}

/** The parts of a prompt's tokens, by OpenAI's names. */
export function promptParts(details: unknown): ReportedCounts {
  if (!isJsonObject(details)) return {};
  return {
    cachedTokens: details.cached_tokens,
    cacheWriteTokens: details.cache_write_tokens,
    audioPromptTokens: details.audio_tokens,
    imagePromptTokens: details.image_tokens,
  };
}

/** The parts of an answer's tokens, by OpenAI's names. */
export function completionParts(details: unknown): ReportedCounts {
  if (!isJsonObject(details)) return {};
  return {
    reasoningTokens: details.reasoning_tokens,
    audioCompletionTokens: details.audio_tokens,
    imageCompletionTokens: details.image_tokens,
  };
}
