import type { Logger } from "pino";
import type { RedisAdmissionStore } from "../admission/redis-store.ts";

/** Whether Redis may evict keys when its memory is full. */
export interface RedisMemoryWatch {
  /** Whether Redis may drop counts of limits before their time; `null` when it does not say. */
  readonly mayEvict: boolean | null;
  /** Asks Redis again. Call it regularly, because the setting can be changed at run time. */
  check(): Promise<void>;
}

/**
 * Logs an error when Redis may evict. An evicted key lifts a limit: an account whose counts are gone begins again at zero.
 * Nothing else is harmed, as the store may forget everything at any time. So the service starts all the same: the setting
 * often belongs to the provider of the Redis, and a refusal would turn an inexact limit into an outage.
 */
export function watchRedisMemory(redis: Pick<RedisAdmissionStore, "memory">, log: Logger): RedisMemoryWatch {
  let mayEvict: boolean | null = null;
  return {
    get mayEvict() {
      return mayEvict;
    },
    check: async () => {
      const memory = await redis.memory();
      if (memory?.mayEvict === true && mayEvict !== true) {
        log.error(
          { part: "redis", policy: memory.policy },
          `Redis may evict keys (maxmemory is set and maxmemory-policy is ${memory.policy}), which would lift rate limits. Set maxmemory-policy to noeviction.`,
        );
      } else if (mayEvict === true && memory?.mayEvict === false) {
        log.info({ part: "redis" }, "Redis no longer evicts keys");
      }
      mayEvict = memory?.mayEvict ?? null;
    },
  };
}
