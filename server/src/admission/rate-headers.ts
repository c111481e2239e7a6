import type { Rates } from "../contract/limits.ts";

/** `x-ratelimit-*` as OpenAI sends them: resets are durations (`1s`, `6m0s`, `20ms`), not times. */
export function rateHeaders({ requests, tokens }: Rates): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, rate] of Object.entries({ requests, tokens })) {
    if (rate === null) continue;
    headers[`x-ratelimit-limit-${name}`] = String(rate.limit);
    headers[`x-ratelimit-remaining-${name}`] = String(rate.remaining);
    headers[`x-ratelimit-reset-${name}`] = duration(rate.resetMs);
  }
  return headers;
}

function duration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
