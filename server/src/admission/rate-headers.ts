import type { Rates } from "../contract/limits.ts";

/** `x-ratelimit-*` as OpenAI sends them: resets are durations (`1s`, `6m0s`, `20ms`), not times. */
export function rateHeaders({ requests, tokens }: Rates): Record<string, string> {
  const headers: Record<string, string> = {};
  if (requests !== null) {
    headers["x-ratelimit-limit-requests"] = String(requests.limit);
    headers["x-ratelimit-remaining-requests"] = String(requests.remaining);
    headers["x-ratelimit-reset-requests"] = duration(requests.resetMs);
  }
  if (tokens !== null) {
    headers["x-ratelimit-limit-tokens"] = String(tokens.limit);
    headers["x-ratelimit-remaining-tokens"] = String(tokens.remaining);
    headers["x-ratelimit-reset-tokens"] = duration(tokens.resetMs);
  }
  return headers;
}

function duration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
