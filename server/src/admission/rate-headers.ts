import type { Rate, Rates } from "../contract/limits.ts";
import type { ResponseHeaders } from "../errors/response-headers.ts";

/** `x-ratelimit-*` as OpenAI sends them: resets are durations (`1s`, `6m0s`, `20ms`), not times. A limit that is not set has none. */
export function rateHeaders({ requests, tokens }: Rates): readonly ResponseHeaders[] {
  return [ofRequests(requests), ofTokens(tokens)];
}

// Literals: V8 has to describe an object whose names are put together for each answer.
function ofRequests(rate: Rate | null): ResponseHeaders {
  if (rate === null) return {};
  return {
    "x-ratelimit-limit-requests": String(rate.limit),
    "x-ratelimit-remaining-requests": String(rate.remaining),
    "x-ratelimit-reset-requests": duration(rate.resetMs),
  };
}

function ofTokens(rate: Rate | null): ResponseHeaders {
  if (rate === null) return {};
  return {
    "x-ratelimit-limit-tokens": String(rate.limit),
    "x-ratelimit-remaining-tokens": String(rate.remaining),
    "x-ratelimit-reset-tokens": duration(rate.resetMs),
  };
}

function duration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
