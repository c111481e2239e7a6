import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Slot } from "../../server/src/contract/limits.ts";
import { openRedisStore } from "./redis-store.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;
const LIMITS = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrentRequests: 5 };

describe.skipIf(REDIS_URL === undefined)("a key of the service to which something else has written", () => {
  const prefix = `test-${crypto.randomUUID()}`;
  const told: string[] = [];
  let redis: Redis;
  let store: RedisAdmissionStore;

  beforeAll(async () => {
    redis = new Redis(REDIS_URL ?? "");
    store = await openRedisStore(REDIS_URL ?? "", {
      nowMs: Date.now,
      prefix,
      onError: (message) => told.push(message),
    });
  });

  beforeEach(() => {
    told.length = 0;
  });

  afterAll(async () => {
    redis?.disconnect();
    await store?.close();
  });

  it.each(["", ":requests", ":tokens", ":places", ":ended"])("is named to operators: %s", async (part) => {
    const account = crypto.randomUUID() as AccountId;
    const slot = crypto.randomUUID() as Slot;
    const admit = async () => {
      const isRead = await store.commitRead(account, 1n, await store.epoch(account));
      return isRead && (await store.admit(account, 1n, { limits: LIMITS, tokens: 1, slot })).kind;
    };
    const key = `${prefix}:{${account}}${part}`;
    expect(await admit()).toBe("admitted");
    expect(told).toEqual([]);
    await redis.set(key, "a value of another program");
    await expect(admit()).rejects.toThrow(AdmissionStoreUnavailable);
    expect(told).toEqual([expect.stringContaining(`${prefix}:{${account}}`)]);
    expect(told.join()).not.toContain("another program");
    await redis.del(key);
    expect(await admit()).toBe("admitted");
  });
});
