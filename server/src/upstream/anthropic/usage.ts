import { isJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { checkedUsage, isPlausible } from "../usage-counts.ts";

/**
 * Reads the `usage` object of Anthropic's Messages API: of a whole answer, or that of a stream's `message_start` overwritten with the
 * fields of its `message_delta`. Its `input_tokens` are neither read from nor written to the cache, so that the prompt is the sum of
 * all three.
 *
 * @returns `null` unless its numbers are plausible.
 */
export function readMessagesUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  const details = isJsonObject(value.cache_creation) ? value.cache_creation : {};
  const { thinking_tokens: reasoningTokens } = isJsonObject(value.output_tokens_details)
    ? value.output_tokens_details
    : {};
  const input = count(value.input_tokens);
  const cached = count(value.cache_read_input_tokens ?? 0);
  const for5m = count(details.ephemeral_5m_input_tokens ?? 0);
  const for1h = count(details.ephemeral_1h_input_tokens ?? 0);
  const total = count(value.cache_creation_input_tokens ?? 0);
  if (input === null || cached === null || for5m === null || for1h === null || total === null) return null;
  if (count(value.output_tokens) === null) return null;
  // Some servers that speak this API tell only the total, others only its parts.
  const written = Math.max(total, for5m + for1h);
  return checkedUsage({
    promptTokens: input + cached + written,
    completionTokens: value.output_tokens,
    cachedTokens: cached,
    cacheWriteTokens: written - for1h,
    cacheWrite1hTokens: for1h,
    reasoningTokens,
  });
}

function count(value: unknown): number | null {
  return typeof value === "number" && isPlausible(value) ? value : null;
}
