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
type ReportedCounts = { readonly [Name in keyof Usage]?: unknown };

/**
 * Checks an upstream's counts. Parts are limited to their total: those of the cache to the prompt together, as a token is read or
 * written, and so are audio and images, as a token is of one medium.
 *
 * @returns `null` unless each count is a plausible number and the prompt's is reported.
 */
export function checkedUsage(reported: ReportedCounts): Usage | null {
  if (reported.promptTokens === undefined || reported.promptTokens === null) return null;
  for (const name in reported) if (!isPlausible(reported[name as keyof Usage])) return null;
  const promptTokens = bounded(reported.promptTokens, MAX_TOKENS);
  const completionTokens = bounded(reported.completionTokens, MAX_TOKENS);
  const cachedTokens = bounded(reported.cachedTokens, promptTokens);
  const cacheWrite1hTokens = bounded(reported.cacheWrite1hTokens, promptTokens - cachedTokens);
  const audioPromptTokens = bounded(reported.audioPromptTokens, promptTokens);
  const audioCompletionTokens = bounded(reported.audioCompletionTokens, completionTokens);
  const parts = {
    cacheWriteTokens: bounded(reported.cacheWriteTokens, promptTokens - cachedTokens - cacheWrite1hTokens),
    cacheWrite1hTokens,
    audioPromptTokens,
    imagePromptTokens: bounded(reported.imagePromptTokens, promptTokens - audioPromptTokens),
    reasoningTokens: bounded(reported.reasoningTokens, completionTokens),
    audioCompletionTokens,
    imageCompletionTokens: bounded(reported.imageCompletionTokens, completionTokens - audioCompletionTokens),
  };
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {
    promptTokens,
    completionTokens,
    cachedTokens,
  };
  for (const name of PARTS) if (parts[name] > 0) usage[name] = parts[name];
  return usage;
}

/** The usage of an answer that took several requests or samplings; `null` if that of one of them is unknown, or there are none. */
export function totalUsage([first = null, ...others]: readonly (Usage | null)[]): Usage | null {
  return others.reduce(
    (total, usage) => (total === null || usage === null ? null : added(total, usage)),
    first,
  );
}

function added(one: Usage, other: Usage): Usage {
  const sum: { -readonly [Name in keyof Usage]: Usage[Name] } = { ...one };
  for (const [name, tokens] of Object.entries(other) as [keyof Usage, number][]) {
    sum[name] = (sum[name] ?? 0) + tokens;
  }
  return sum;
}

/** A count that is known to be plausible, or the maximum if it is larger. */
function bounded(count: unknown, max: number): number {
  return Math.min((count ?? 0) as number, max);
}

/** Whether a count is absent or a whole number that an answer can have. */
export function isPlausible(count: unknown): boolean {
  if (count === undefined || count === null) return true;
  return typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;
}
