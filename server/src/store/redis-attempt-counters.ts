import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import type { RedisAdmissionStoreOptions } from "../admission/redis-store.ts";
import { type AttemptCounters, settingsOf } from "./attempt-counters.ts";

/** Counters that all nodes share. While Redis is away each node counts for itself: guessing stays slow. */
export function redisCounters(options: RedisAdmissionStoreOptions): AttemptCounters {
  const redis = new Redis(options.url, {
    commandTimeout: options.commandTimeoutMs,
    connectTimeout: options.commandTimeoutMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
  });
  let isClosed = false;
  redis.on("error", (error: Error) => {
    // What a connection says that is closed before it was made is no news.
    if (!isClosed) options.onError(error.message);
  });
  return {
    counter: (rule) =>
      new RateLimiterRedis({
        ...settingsOf(rule),
        keyPrefix: `${options.prefix}:${rule.keyPrefix}`,
        storeClient: redis,
        insuranceLimiter: new RateLimiterMemory(settingsOf(rule)),
      }),
    close: async () => {
      isClosed = true;
      redis.disconnect();
    },
  };
}
