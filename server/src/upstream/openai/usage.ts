import { isJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";

/** No model has a context of this many tokens. A larger count is an upstream's error. */
const MAX_TOKENS = 1_000_000_000;

/** Reads OpenAI's `usage` object. @returns `null` unless its numbers are plausible. */
export function readUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  const details = isJsonObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const promptTokens = tokens(value.prompt_tokens);
  const completionTokens = tokens(value.completion_tokens ?? 0);
  const cachedTokens = tokens(details.cached_tokens ?? 0);
  if (promptTokens === null || completionTokens === null || cachedTokens === null) return null;
  return { promptTokens, completionTokens, cachedTokens: Math.min(cachedTokens, promptTokens) };
}

function tokens(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS
    ? value
    : null;
}
