import { isJsonObject } from "../../json/json.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { checkedUsage, isPlausible } from "../usage-counts.ts";

/**
 * Reads the `usageMetadata` of the Gemini API. What tools that Google runs have returned is a part of the prompt, and thoughts are a
 * part of the answer, though both are counted apart from them.
 *
 * @returns `null` unless its numbers are plausible.
 */
export function readContentUsage(value: unknown): Usage | null {
  if (!isJsonObject(value)) return null;
  const { promptTokenCount, thoughtsTokenCount } = value;
  const prompt = modalitiesOf(value.promptTokensDetails);
  const answer = modalitiesOf(value.candidatesTokensDetails);
  return checkedUsage({
    promptTokens: sumOf(promptTokenCount ?? Number.NaN, value.toolUsePromptTokenCount),
    completionTokens: sumOf(value.candidatesTokenCount, thoughtsTokenCount),
    cachedTokens: value.cachedContentTokenCount,
    reasoningTokens: thoughtsTokenCount,
    audioPromptTokens: prompt.get("AUDIO"),
    imagePromptTokens: prompt.get("IMAGE"),
    audioCompletionTokens: answer.get("AUDIO"),
    imageCompletionTokens: answer.get("IMAGE"),
  });
}

/** Not a number unless both are plausible. Counts of 0 are left out. */
function sumOf(one: unknown, other: unknown): number {
  if (!isPlausible(one) || !isPlausible(other)) return Number.NaN;
  return Number(one ?? 0) + Number(other ?? 0);
}

function modalitiesOf(details: unknown): ReadonlyMap<unknown, unknown> {
  if (!Array.isArray(details)) return new Map();
  return new Map(
    details.filter(isJsonObject).map(({ modality, tokenCount }) => [modality, tokenCount] as const),
  );
}
