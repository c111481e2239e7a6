import type { Cluster, Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { openAnyRedis } from "../admission/redis-options.ts";
import type { RedisAdmissionStoreOptions } from "../admission/redis-store.ts";
import { type AttemptCounters, memoryCounter } from "./attempt-counters.ts";
import type { AttemptCounter, AttemptRule } from "./attempts.ts";

/** Counters that all nodes share. While Redis is unavailable each node counts for itself, so guessing stays slow. */
export function redisCounters(options: RedisAdmissionStoreOptions): AttemptCounters {
  const redis = openAnyRedis(options.url, options);
  let isClosed = false;
  redis.on("error", (error: Error) => {
    // Closing a connection before it is established causes an error that is expected.
    if (!isClosed) options.onError(error.message);
  });
  return {
    counter: (rule) => insured(redisCounter(redis, options.prefix, rule), memoryCounter(rule)),
    close: async () => {
      isClosed = true;
      redis.disconnect();
    },
  };
}

function redisCounter(
  redis: Redis | Cluster,
  prefix: string,
  { keyPrefix, points, durationS }: AttemptRule,
): AttemptCounter {
  const limiter = new RateLimiterRedis({
    keyPrefix: `${prefix}:${keyPrefix}`,
    points,
    duration: durationS,
    storeClient: redis,
  });
  return {
    count: async (name) => {
      try {
        await limiter.consume(name);
        return 0;
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
        throw refused;
      }
    },
    uncount: async (name) => {
      await limiter.reward(name, 1);
    },
    has: async (name) => (await limiter.get(name)) !== null,
    remember: async (name) => {
      await limiter.set(name, 1, durationS);
    },
    forget: async (name) => {
      await limiter.delete(name);
    },
  };
}

/** Counts in the shared counter, and in the local one while the shared one is unavailable. Both remember names. */
function insured(shared: AttemptCounter, local: AttemptCounter): AttemptCounter {
  return {
    count: (name) => shared.count(name).catch(() => local.count(name)),
    uncount: (name) => shared.uncount(name).catch(() => local.uncount(name)),
    // Only the local counter knows names that were remembered while the shared one was unavailable.
    has: async (name) => (await shared.has(name).catch(() => false)) || local.has(name),
    remember: async (name) => {
      await local.remember(name);
      await shared.remember(name).catch(() => {});
    },
    forget: async (name) => {
      await local.forget(name);
      await shared.forget(name).catch(() => {});
    },
  };
}
