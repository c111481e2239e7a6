import { LRUCache } from "lru-cache";
import { atMost } from "../resources/at-most.ts";
import type { AttemptCounter, AttemptRule, CounterFactory } from "./attempts.ts";

/**
 * The maximum number of names in a counter. Attackers can choose names, so beyond this number the least recently used ones are
 * dropped.
 */
const MAX_NAMES = 100_000;

export interface AttemptCounters {
  readonly counter: CounterFactory;
  close(): Promise<void>;
}

/** Counters of a single node. */
export function memoryCounters(): AttemptCounters {
  return { counter: (rule) => memoryCounter(rule), close: async () => {} };
}

interface Count {
  readonly attempts: number;
  readonly endsMs: number;
}

/**
 * A counter in this process's memory. It sets no timers: each name would have one, and one for longer than 2^31
 * milliseconds (25 days) would go off at once.
 */
export function memoryCounter(
  { points, durationS }: AttemptRule,
  { maxNames = MAX_NAMES, nowMs = () => performance.now() }: { maxNames?: number; nowMs?: () => number } = {},
): AttemptCounter {
  const counts = new LRUCache<string, Count>(atMost(maxNames));
  const current = (name: string): Count | null => {
    const count = counts.get(name);
    return count !== undefined && count.endsMs > nowMs() ? count : null;
  };
  const first = (): Count => ({ attempts: 1, endsMs: nowMs() + durationS * 1_000 });
  return {
    count: async (name) => {
      const before = current(name);
      const count = before === null ? first() : { ...before, attempts: before.attempts + 1 };
      counts.set(name, count);
      return count.attempts > points ? count.endsMs - nowMs() : 0;
    },
    uncount: async (name) => {
      const count = current(name);
      if (count !== null) counts.set(name, { ...count, attempts: Math.max(0, count.attempts - 1) });
    },
    has: async (name) => current(name) !== null,
    remember: async (name) => {
      counts.set(name, first());
    },
    forget: async (name) => {
      counts.delete(name);
    },
  };
}
