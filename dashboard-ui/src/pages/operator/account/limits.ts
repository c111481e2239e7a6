import type { AccountDetails } from "../../../api/types.ts";

export type LimitName = keyof AccountDetails["limits"];

/** Limits as text. Empty means the default of the plan. */
export type WrittenLimits = Readonly<Record<LimitName, string>>;

export const LIMITS: readonly { readonly name: LimitName; readonly label: string }[] = [
  { name: "requestsPerMinute", label: "Requests per minute" },
  { name: "tokensPerMinute", label: "Tokens per minute" },
  { name: "concurrentRequests", label: "Concurrent requests" },
];

const MAX_LIMIT = 1_000_000_000;

export function writtenLimits(limits: AccountDetails["limits"]): WrittenLimits {
  const written = (limit: number | null) => (limit === null ? "" : String(limit));
  return {
    requestsPerMinute: written(limits.requestsPerMinute),
    tokensPerMinute: written(limits.tokensPerMinute),
    concurrentRequests: written(limits.concurrentRequests),
  };
}

/** Between thousands, in any language: a limit has no decimals that these could be. */
const SEPARATORS = /(?<=\d)[.,'’\s](?=\d{3}(?!\d))/g;

/** Whether the text is a limit or empty. */
export function isWritten(text: string): boolean {
  const limit = digitsOf(text);
  return limit === "" || (/^[1-9]\d{0,9}$/.test(limit) && Number(limit) <= MAX_LIMIT);
}

/** `null` means the default of the plan. */
export function limitOf(text: string): number | null {
  const limit = digitsOf(text);
  return limit === "" ? null : Number(limit);
}

const digitsOf = (text: string): string => text.trim().replace(SEPARATORS, "");
