import type { JsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";

/** The `usage` of the Messages API. Its `input_tokens` are neither read from the cache nor written to it. */
export function messagesUsageOf(usage: Usage): JsonObject {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage;
  const for5m = usage.cacheWriteTokens ?? 0;
  const for1h = usage.cacheWrite1hTokens ?? 0;
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - for5m - for1h),
    cache_creation_input_tokens: for5m + for1h,
    cache_read_input_tokens: cachedTokens,
    cache_creation: { ephemeral_5m_input_tokens: for5m, ephemeral_1h_input_tokens: for1h },
    output_tokens: completionTokens,
    ...(reasoningTokens === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    server_tool_use: null,
    service_tier: null,
  };
}
