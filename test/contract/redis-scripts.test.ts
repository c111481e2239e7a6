import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Slot } from "../../server/src/contract/limits.ts";
import { openRedisStore } from "./redis-store.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;
const LIMITS = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrentRequests: 5 };

describe.skipIf(REDIS_URL === undefined)("the scripts of a store in Redis", () => {
  let redis: Redis;
  let store: RedisAdmissionStore;

  const openStore = (prefix?: string) =>
    openRedisStore(REDIS_URL ?? "", { nowMs: Date.now, ...(prefix === undefined ? {} : { prefix }) });
  /** Has the store read an account, so that it admits requests. */
  const knownAccount = async () => {
    const account = crypto.randomUUID() as AccountId;
    expect(await store.commitRead(account, 1n, await store.epoch(account))).toBe(true);
    return account;
  };
  const newSlot = () => crypto.randomUUID() as Slot;
  const admit = async (account: AccountId, slot = newSlot()) =>
    (await store.admit(account, 1n, { limits: LIMITS, tokens: 7, slot })).kind;

  beforeAll(async () => {
    redis = new Redis(REDIS_URL ?? "");
    store = await openStore();
  });

  afterAll(async () => {
    redis?.disconnect();
    await store?.close();
  });

  it("are sent again when Redis has forgotten them, and each request is counted once", async () => {
    const account = await knownAccount();
    expect(await admit(account)).toBe("admitted");
    await redis.script("FLUSH");
    expect(await Promise.all([admit(account), admit(account), admit(account)])).toEqual(
      Array(3).fill("admitted"),
    );
    expect(await store.useOf(account)).toEqual({ requests: 4, tokens: 28, concurrent: 4 });
  });

  it("do not renew a slot later than it was asked for, as it may have been released meanwhile", async () => {
    const account = await knownAccount();
    const slot = newSlot();
    expect(await admit(account, slot)).toBe("admitted");
    await store.renew([{ accountId: account, slot }]);
    await redis.script("FLUSH");
    const ended = { slot, atS: null, tokensMore: 0, isCancelled: false, isContested: false };
    const [renewed] = await Promise.allSettled([
      store.renew([{ accountId: account, slot }]),
      store.release(account, ended),
    ]);
    expect(renewed).toMatchObject({ status: "rejected", reason: expect.any(AdmissionStoreUnavailable) });
    expect((await store.useOf(account)).concurrent).toBe(0);
    await store.renew([{ accountId: account, slot: newSlot() }]);
    expect((await store.useOf(account)).concurrent).toBe(1);
  });

  it("take back no more of a second than Redis has counted in it, which may have lost the rest", async () => {
    const prefix = `test-${crypto.randomUUID()}`;
    const other = await openStore(prefix);
    const account = crypto.randomUUID() as AccountId;
    try {
      await other.commitRead(account, 1n, await other.epoch(account));
      const slot = newSlot();
      const admission = await other.admit(account, 1n, { limits: LIMITS, tokens: 7, slot });
      if (admission.kind !== "admitted") throw new Error(`the request is ${admission.kind}`);
      const { atS } = admission;
      await redis.hset(`${prefix}:{${account}}:tokens`, String(atS), "2");
      await other.release(account, { slot, atS, tokensMore: -7, isCancelled: false, isContested: false });
      expect(await other.useOf(account)).toEqual({ requests: 1, tokens: 0, concurrent: 0 });
    } finally {
      await other.close();
    }
  });

  it("count nothing beyond the estimate in a second that Redis has lost, as its node counts the second again", async () => {
    const prefix = `test-${crypto.randomUUID()}`;
    const other = await openStore(prefix);
    const account = crypto.randomUUID() as AccountId;
    try {
      await other.commitRead(account, 1n, await other.epoch(account));
      const slot = newSlot();
      const admission = await other.admit(account, 1n, { limits: LIMITS, tokens: 7, slot });
      if (admission.kind !== "admitted") throw new Error(`the request is ${admission.kind}`);
      await redis.del(`${prefix}:{${account}}:tokens`);
      const served = { slot, atS: admission.atS, tokensMore: 50, isCancelled: false, isContested: false };
      await other.release(account, served);
      expect(await other.useOf(account)).toEqual({ requests: 1, tokens: 0, concurrent: 0 });
    } finally {
      await other.close();
    }
  });

  it("keep nothing of an account for much longer than it counts", async () => {
    const prefix = `test-${crypto.randomUUID()}`;
    let nowMs = 1_800_000_000_000;
    const other = await openRedisStore(REDIS_URL ?? "", { nowMs: () => nowMs, prefix });
    const account = crypto.randomUUID() as AccountId;
    const key = (suffix = "") => `${prefix}:{${account}}${suffix}`;
    const dayS = 86_400;
    /** Requires that a key expires, in seconds from and to, and has it expire sooner: so that it is seen whether something else postpones that. */
    const expectExpiry = async (suffix: string, from: number, to: number) => {
      const ttl = await redis.ttl(key(suffix));
      expect(ttl, suffix).toBeGreaterThan(from - 10);
      expect(ttl, suffix).toBeLessThanOrEqual(to);
      await redis.expire(key(suffix), 20);
    };
    const admitNext = (slot = newSlot()) => other.admit(account, 1n, { limits: LIMITS, tokens: 7, slot });
    const unanswered = (slot: Slot) =>
      other.release(account, { slot, atS: null, tokensMore: 0, isCancelled: true, isContested: true });
    try {
      const epoch = await other.epoch(account);
      await expectExpiry("", dayS, dayS);
      // Of an account without a version.
      await other.publish(account, 1n);
      await expectExpiry("", dayS, dayS);
      await other.commitRead(account, 1n, await other.epoch(account));
      await expectExpiry("", dayS, dayS);
      await other.publish(account, 1n);
      await expectExpiry("", dayS, dayS);
      await other.check(account, 1n);
      await expectExpiry("", dayS, dayS);
      const slot = newSlot();
      await admitNext(slot);
      await expectExpiry("", dayS, dayS);
      for (const suffix of [":requests", ":tokens"]) await expectExpiry(suffix, 61, 120);
      await expectExpiry(":places", 61, 120);
      await other.renew([{ accountId: account, slot }]);
      await expectExpiry(":places", 61, 120);
      await other.recount(account, {
        node: "a",
        epoch,
        seconds: [{ second: nowMs / 1_000, requests: 1, tokens: 1 }],
      });
      for (const suffix of [":requests", ":tokens", ":recounted"]) await expectExpiry(suffix, 61, 120);
      await unanswered(newSlot());
      await expectExpiry(":ended", 900, 3_600);
      expect(await redis.zcard(key(":ended"))).toBe(1);

      for (let seconds = 0; seconds < 200; seconds++) {
        nowMs += 1_000;
        const next = newSlot();
        await admitNext(next);
        await other.release(account, {
          slot: next,
          atS: null,
          tokensMore: 0,
          isCancelled: true,
          isContested: false,
        });
      }
      expect(await redis.hlen(key(":requests"))).toBeLessThan(65);
      expect(await redis.hlen(key(":tokens"))).toBeLessThan(65);
      nowMs += 3_600_000;
      await unanswered(newSlot());
      expect(await redis.zcard(key(":ended"))).toBe(1);
    } finally {
      await other.close();
    }
  });

  it("move the position in the database's history forward, and to another epoch only from the one that was read", async () => {
    const other = await openStore();
    const at = (epoch: string, tick: bigint) => ({ epoch, tick });
    try {
      await other.moveTo(at("first", 5n), at("", 0n));
      expect(await other.position()).toEqual(at("first", 5n));
      // Compared as numbers.
      await other.moveTo(at("first", 10n), at("first", 10n));
      await other.moveTo(at("first", 9n), at("first", 9n));
      expect(await other.position()).toEqual(at("first", 10n));
      await other.moveTo(at("second", 3n), at("first", 10n));
      expect(await other.position()).toEqual(at("second", 3n));
      await other.moveTo(at("first", 11n), at("first", 11n));
      expect(await other.position()).toEqual(at("second", 3n));
    } finally {
      await other.close();
    }
  });

  it("keep the accounts of each epoch of the database apart", async () => {
    const other = await openStore();
    const account = crypto.randomUUID() as AccountId;
    try {
      for (const epoch of ["", "first", "second"]) {
        other.useEpoch(epoch);
        expect(await other.check(account, 5n)).toBe("stale");
        await other.commitRead(account, 5n, await other.epoch(account));
        expect(await other.check(account, 5n)).toBe("current");
      }
      other.useEpoch("");
      expect(await other.check(account, 5n)).toBe("current");
    } finally {
      await other.close();
    }
  });

  it("work on keys whose prefix is longer in bytes than in characters", async () => {
    const other = await openStore(`test-é😀-${crypto.randomUUID()}`);
    const account = crypto.randomUUID() as AccountId;
    try {
      expect(await other.commitRead(account, 1n, await other.epoch(account))).toBe(true);
      expect(await other.check(account, 1n)).toBe("current");
      expect(await other.check(account, 0n)).toBe("stale");
    } finally {
      await other.close();
    }
  });
});
