import { isJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { readUsage } from "../openai/usage.ts";

/** Reads the `usage` object of OpenAI's Responses API. @returns `null` unless its numbers are plausible. */
export function readResponsesUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  const usage = readUsage({
    prompt_tokens: value.input_tokens,
    completion_tokens: value.output_tokens,
    prompt_tokens_details: value.input_tokens_details,
  });
  const details = isJsonObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const { reasoning_tokens: reasoning } = details;
  if (usage === null || typeof reasoning !== "number" || !Number.isInteger(reasoning) || reasoning < 0) {
    return usage;
  }
  return { ...usage, reasoningTokens: Math.min(reasoning, usage.completionTokens) };
}
