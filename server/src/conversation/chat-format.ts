import type { JsonObject } from "../json/json.ts";
import type { Usage } from "../tokens/token-estimate.ts";

/** The `usage` of a chat completion. */
export function chatUsageOf(usage: Usage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, audioPromptTokens: heard = 0 } = usage;
  const written = (usage.cacheWriteTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      ...(written > 0 ? { cache_write_tokens: written } : {}),
      ...(heard > 0 ? { audio_tokens: heard } : {}),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  };
}
