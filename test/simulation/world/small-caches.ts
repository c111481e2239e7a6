import type * as LruCache from "lru-cache";

/** Enough for any scenario. */
const MAX_ITEMS = 256;

/**
 * Takes the place of the package `lru-cache`: the same, but with caches no larger than a scenario needs. A cache takes all its
 * memory when it is made, and a simulated service that is started thousands of times would do little else.
 *
 * @example vi.mock("lru-cache", async (real) => (await import("./world/small-caches.ts")).smallCaches(await real()));
 */
export function smallCaches(real: typeof LruCache): typeof LruCache {
  class SmallCache<Key extends {}, Value extends {}, Context = unknown> extends real.LRUCache<
    Key,
    Value,
    Context
  > {
    constructor(options: LruCache.LRUCache.Options<Key, Value, Context>) {
      super(options.max === undefined ? options : { ...options, max: Math.min(options.max, MAX_ITEMS) });
    }
  }
  return { ...real, LRUCache: SmallCache as typeof real.LRUCache };
}
