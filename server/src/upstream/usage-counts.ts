import type { Usage } from "../tokens/token-estimate.ts";

/** No model has a context of this many tokens. A larger count is an upstream's error. */
const MAX_TOKENS = 1_000_000_000;

/** Parts of the totals that are left out where they are 0. */
const PARTS = [
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "audioPromptTokens",
  "imagePromptTokens",
  "reasoningTokens",
  "audioCompletionTokens",
  "imageCompletionTokens",
] as const;

/** Counts as an upstream's answer has them, not yet checked; absent and `null` are 0, except for the prompt's. */
export type ReportedCounts = { readonly [Name in keyof Usage]?: unknown };

/**
 * Checks an upstream's counts. Parts are limited to their total: those of the cache to the prompt together, as a token is read or
 * written, and so are audio and images, as a token is of one medium.
 *
 * @returns `null` unless each count is a plausible number and the prompt's is reported.
 */
export function checkedUsage(reported: ReportedCounts): Usage | null {
  if (reported.promptTokens === undefined || reported.promptTokens === null) return null;
  if (!Object.values(reported).every(isPlausible)) return null;
  // Checked above.
  const count = (name: keyof Usage, max = MAX_TOKENS) => Math.min((reported[name] ?? 0) as number, max);
  const promptTokens = count("promptTokens");
  const completionTokens = count("completionTokens");
  const cachedTokens = count("cachedTokens", promptTokens);
  const cacheWrite1hTokens = count("cacheWrite1hTokens", promptTokens - cachedTokens);
  const audioPromptTokens = count("audioPromptTokens", promptTokens);
  const audioCompletionTokens = count("audioCompletionTokens", completionTokens);
  const parts = {
    cacheWriteTokens: count("cacheWriteTokens", promptTokens - cachedTokens - cacheWrite1hTokens),
    cacheWrite1hTokens,
    audioPromptTokens,
    imagePromptTokens: count("imagePromptTokens", promptTokens - audioPromptTokens),
    reasoningTokens: count("reasoningTokens", completionTokens),
    audioCompletionTokens,
    imageCompletionTokens: count("imageCompletionTokens", completionTokens - audioCompletionTokens),
  };
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {
    promptTokens,
    completionTokens,
    cachedTokens,
  };
  for (const name of PARTS) if (parts[name] > 0) usage[name] = parts[name];
  return usage;
}

/** Whether a count is absent or a whole number that an answer can have. */
export function isPlausible(count: unknown): boolean {
  if (count === undefined || count === null) return true;
  return typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;
}
