import { RateLimiterMemory } from "rate-limiter-flexible";
import type { AttemptRule, CounterFactory } from "../accounts/attempts.ts";

export interface AttemptCounters {
  readonly counter: CounterFactory;
  close(): Promise<void>;
}

/** Counters of a single node. */
export function memoryCounters(): AttemptCounters {
  return { counter: (rule) => new RateLimiterMemory(settingsOf(rule)), close: async () => {} };
}

/** A rule in the words of `rate-limiter-flexible`. */
export function settingsOf({ keyPrefix, points, durationS }: AttemptRule) {
  return { keyPrefix, points, duration: durationS };
}
