import type { Usage } from "../tokens/token-estimate.ts";

/** No model has a context of this many tokens. A larger count is an upstream's error. */
const MAX_TOKENS = 1_000_000_000;

/** Counts as an upstream's answer has them, not yet checked; absent and `null` are 0, except for the prompt's. */
export type ReportedCounts = { readonly [Name in keyof Usage]?: unknown };

/**
 * Checks an upstream's counts. Parts are limited to their total: those of the cache to the prompt together, as a token is read or
 * written, and so are audio and images, as a token is of one medium.
 *
 * @returns `null` unless each count is a plausible number and the prompt's is told.
 */
export function checkedUsage(reported: ReportedCounts): Usage | null {
  if (reported.promptTokens === undefined || reported.promptTokens === null) return null;
  if (!Object.values(reported).every(isPlausible)) return null;
  // Checked above.
  const count = (name: keyof Usage) => (reported[name] ?? 0) as number;
  const promptTokens = count("promptTokens");
  const completionTokens = count("completionTokens");
  const cachedTokens = Math.min(count("cachedTokens"), promptTokens);
  const cacheWrite1hTokens = Math.min(count("cacheWrite1hTokens"), promptTokens - cachedTokens);
  const maxCacheWrite = promptTokens - cachedTokens - cacheWrite1hTokens;
  const audioPromptTokens = Math.min(count("audioPromptTokens"), promptTokens);
  const audioCompletionTokens = Math.min(count("audioCompletionTokens"), completionTokens);
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {
    promptTokens,
    completionTokens,
    cachedTokens,
  };
  // Parts that are 0 are left out.
  const add = (name: keyof Usage, tokens: number) => {
    if (tokens > 0) usage[name] = tokens;
  };
  add("cacheWriteTokens", Math.min(count("cacheWriteTokens"), maxCacheWrite));
  add("cacheWrite1hTokens", cacheWrite1hTokens);
  add("audioPromptTokens", audioPromptTokens);
  add("imagePromptTokens", Math.min(count("imagePromptTokens"), promptTokens - audioPromptTokens));
  add("reasoningTokens", Math.min(count("reasoningTokens"), completionTokens));
  add("audioCompletionTokens", audioCompletionTokens);
  const maxImages = completionTokens - audioCompletionTokens;
  add("imageCompletionTokens", Math.min(count("imageCompletionTokens"), maxImages));
  return usage;
}

/** Whether a count is absent or a whole number that an answer can have. */
export function isPlausible(count: unknown): boolean {
  if (count === undefined || count === null) return true;
  return typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;
}
