import { isJsonObject, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf } from "../../json/members.ts";
import type { Usage } from "../../tokens/token-estimate.ts";
import { checkedUsage, isPlausible, totalUsage } from "../usage-counts.ts";

/**
 * Reads the `usage` object of OpenAI's chat completions.
 *
 * @returns `null` unless its numbers are plausible, and if it does not count the answer: some servers report the tokens of the prompt alone.
 */
export function readUsage(value: unknown): Usage | null {
  return isJsonObject(value) && isReported(value.completion_tokens) ? readUsageSoFar(value) : null;
}

/** As {@link readUsage} of what has no answer, or not yet: an embedding, a failure, or a stream that has not ended. */
export function readUsageSoFar(value: unknown): Usage | null {
  return isJsonObject(value)
    ? usageOf(
        [value.prompt_tokens, value.prompt_tokens_details],
        [value.completion_tokens, value.completion_tokens_details],
        value,
      )
    : null;
}

/** The `usage` object of a chunk of a stream, unread. Moonshot puts it in the choice that has finished. */
export function usageIn({ usage, choices }: JsonObject): unknown {
  if (isJsonObject(usage)) return usage;
  const [choice] = arrayOf(choices);
  return isJsonObject(choice) ? choice.usage : usage;
}

/** Reads the `usage` object of OpenAI's Responses API. @returns as {@link readUsage}. */
export function readResponsesUsage(value: unknown): Usage | null {
  return isJsonObject(value) && isReported(value.output_tokens) ? readResponsesUsageSoFar(value) : null;
}

/** As {@link readResponsesUsage} of a response that has failed, or not ended. */
export function readResponsesUsageSoFar(value: unknown): Usage | null {
  return isJsonObject(value)
    ? usageOf(
        [value.input_tokens, value.input_tokens_details],
        [value.output_tokens, value.output_tokens_details],
        value,
      )
    : null;
}

/**
 * Reads the usage of a response with that of the images that the upstream has generated for it, whose tokens OpenAI counts apart and charges
 * besides.
 *
 * @returns as {@link readResponsesUsage}.
 */
export function readUsageOfResponse({ usage, tool_usage: tools }: JsonObject): Usage | null {
  const own = readResponsesUsage(usage);
  const images = isJsonObject(tools) && isJsonObject(tools.image_gen) ? imageUsage(tools.image_gen) : null;
  const total = images === null ? null : totalUsage([own, images]);
  return total === null ? own : (checkedUsage(total) ?? own);
}

/** Without details, all of the answer is images. */
function imageUsage(value: JsonObject): Usage | null {
  const { output_tokens: produced, output_tokens_details: details } = value;
  const ofAnswer = isJsonObject(details) ? details : { image_tokens: produced };
  return usageOf([value.input_tokens, value.input_tokens_details], [produced, ofAnswer], value);
}

function isReported(count: unknown): boolean {
  return count !== undefined && count !== null;
}

/** Both formats have the same names for the parts of a total. */
function usageOf(
  [promptTokens, ofPrompt]: readonly [unknown, unknown],
  [completionTokens, ofCompletion]: readonly [unknown, unknown],
  { total_tokens: totalTokens, cached_tokens, prompt_cache_hit_tokens }: JsonObject,
): Usage | null {
  const prompt = objectOf(ofPrompt);
  const completion = objectOf(ofCompletion);
  const { reasoning_tokens: reasoningTokens } = completion;
  const apart = reasoningApart({ promptTokens, completionTokens, totalTokens, reasoningTokens });
  return checkedUsage({
    promptTokens,
    completionTokens: apart === 0 ? completionTokens : Number(completionTokens) + apart,
    // Moonshot and DeepSeek have names of their own for it.
    cachedTokens: prompt.cached_tokens ?? cached_tokens ?? prompt_cache_hit_tokens,
    cacheWriteTokens: prompt.cache_write_tokens,
    audioPromptTokens: prompt.audio_tokens,
    imagePromptTokens: prompt.image_tokens,
    reasoningTokens: isReported(reasoningTokens) && reasoningTokens !== 0 ? reasoningTokens : apart,
    audioCompletionTokens: completion.audio_tokens,
    imageCompletionTokens: completion.image_tokens,
  });
}

interface Totals {
  readonly promptTokens: unknown;
  readonly completionTokens: unknown;
  readonly totalTokens: unknown;
  readonly reasoningTokens: unknown;
}

/**
 * The tokens of reasoning that the answer's count does not contain. xAI and Google's API in OpenAI's format count only the answer's text
 * there, but charge for the reasoning, which their total contains. Google tells it in the total alone.
 */
function reasoningApart({ promptTokens, completionTokens, totalTokens, reasoningTokens }: Totals): number {
  if (!isReported(completionTokens) || !isPositive(promptTokens) || !isPositive(totalTokens)) return 0;
  if (!isPlausible(completionTokens)) return 0;
  const apart = Math.max(0, totalTokens - promptTokens - Number(completionTokens));
  return isPositive(reasoningTokens) ? Math.min(apart, reasoningTokens) : apart;
}

function isPositive(count: unknown): count is number {
  return typeof count === "number" && count > 0 && isPlausible(count);
}
