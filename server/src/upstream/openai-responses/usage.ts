import { isJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { completionParts, promptParts } from "../openai/usage.ts";
import { checkedUsage } from "../usage-counts.ts";

/** Reads the `usage` object of OpenAI's Responses API. @returns `null` unless its numbers are plausible. */
export function readResponsesUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  return checkedUsage({
    promptTokens: value.input_tokens,
    completionTokens: value.output_tokens,
    ...promptParts(value.input_tokens_details),
    ...completionParts(value.output_tokens_details),
  });
}
