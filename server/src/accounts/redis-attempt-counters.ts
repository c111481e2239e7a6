import type { Cluster, Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { openAnyRedis } from "../admission/redis-options.ts";
import type { RedisAdmissionStoreOptions } from "../admission/redis-store.ts";
import { type AttemptCounters, memoryCounter } from "./attempt-counters.ts";
import type { AttemptCounter, AttemptRule } from "./attempts.ts";

/**
 * Counters that all nodes share. Each node counts its own attempts, too, and goes by them where Redis does not answer: a node allows no more attempts
 * than the rule while Redis comes and goes.
 */
export function redisCounters(options: RedisAdmissionStoreOptions): AttemptCounters {
  const redis = openAnyRedis(options.url, options);
  let isClosed = false;
  redis.on("error", (error: Error) => {
    // Closing a connection before it is established causes an error that is expected.
    if (!isClosed) options.onError(error.message);
  });
  return {
    counter: (rule) => redisCounter(redis, options.prefix, rule),
    close: async () => {
      isClosed = true;
      redis.disconnect();
    },
  };
}

/** A counter in Redis, and one in memory for when Redis does not answer. Both have every attempt and name. */
function redisCounter(redis: Redis | Cluster, prefix: string, rule: AttemptRule): AttemptCounter {
  const { keyPrefix, points, durationS } = rule;
  const shared = new RateLimiterRedis({
    keyPrefix: `${prefix}:${keyPrefix}`,
    points,
    duration: durationS,
    storeClient: redis,
  });
  const local = memoryCounter(rule);
  return {
    count: async (name) => {
      const own = local.count(name);
      try {
        await shared.consume(name);
        return 0;
      } catch (refused) {
        return refused instanceof RateLimiterRes ? refused.msBeforeNext : own;
      }
    },
    uncount: async (name) => {
      await local.uncount(name);
      await shared.reward(name, 1).catch(() => {});
    },
    has: async (name) => {
      const found = await shared.get(name).catch(() => null);
      // Only the local counter knows names that were remembered while Redis was unavailable.
      return found !== null || local.has(name);
    },
    remember: async (name) => {
      await local.remember(name);
      await shared.set(name, 1, durationS).catch(() => {});
    },
    forget: async (name) => {
      await local.forget(name);
      await shared.delete(name).catch(() => {});
    },
  };
}
