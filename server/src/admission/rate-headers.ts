import type { Rate, Rates } from "./limits.ts";

/** `x-ratelimit-*` as OpenAI sends them: resets are durations (`1s`, `6m0s`, `20ms`), not times. */
export function rateHeaders({ requests, tokens }: Rates): Record<string, string> {
  return { ...headersOf("requests", requests), ...headersOf("tokens", tokens) };
}

function headersOf(what: "requests" | "tokens", rate: Rate | null): Record<string, string> {
  if (rate === null) return {};
  return {
    [`x-ratelimit-limit-${what}`]: String(rate.limit),
    [`x-ratelimit-remaining-${what}`]: String(rate.remaining),
    [`x-ratelimit-reset-${what}`]: duration(rate.resetMs),
  };
}

function duration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
