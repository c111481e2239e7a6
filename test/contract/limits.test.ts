import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Admission, AdmissionStore } from "../../server/src/admission/admission-store.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type Limits, type Release, type Slot, UNLIMITED } from "../../server/src/contract/limits.ts";
import { openRedisStore } from "./redis-store.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;

/** The clock of every store under test. */
let nowMs = 0;

const implementations: Record<string, () => Promise<AdmissionStore>> = {
  memory: async () => new MemoryAdmissionStore(100, () => nowMs),
  ...(REDIS_URL === undefined
    ? {}
    : {
        Redis: () => openRedisStore(REDIS_URL, { nowMs: () => nowMs }),
      }),
};

/** What a request gives back that was served. */
function released(slot: string, atS: number, tokensMore: number): Release {
  return { slot: slot as Slot, atS, tokensMore, isCancelled: false, isContested: false };
}

/** The release of a request whose admission was not confirmed, because the store's answer was lost. */
function unanswered(slot: string, tokens: number): Release {
  return { slot: slot as Slot, atS: null, tokensMore: -tokens, isCancelled: true, isContested: true };
}

describe.each(Object.entries(implementations))("limits in %s", (_, open) => {
  let store: AdmissionStore;
  let account: AccountId;

  beforeAll(async () => {
    store = await open();
  });

  beforeEach(async () => {
    nowMs = 1_800_000_000_000 + Math.floor(Math.random() * 1_000);
    account = crypto.randomUUID() as AccountId;
    await store.commitRead(account, 1n, await store.epoch(account));
  });

  afterAll(async () => {
    await store.close();
  });

  const admit = async (
    limits: Partial<Limits>,
    tokens = 0,
    slot: string = crypto.randomUUID(),
  ): Promise<Admission> =>
    store.admit(account, 1n, { limits: { ...UNLIMITED, ...limits }, tokens, slot: slot as Slot });

  async function admitted(count: number, limits: Partial<Limits>, tokens = 0): Promise<number> {
    const outcomes = await Promise.all(Array.from({ length: count }, () => admit(limits, tokens)));
    return outcomes.filter(({ kind }) => kind === "admitted").length;
  }

  it("that are not set admit every request, except one with a stale snapshot", async () => {
    expect(await admit({}, 1_000_000)).toMatchObject({
      kind: "admitted",
      rates: { requests: null, tokens: null },
    });
    const demand = { limits: UNLIMITED, tokens: 0, slot: "x" as Slot };
    expect(await store.admit(account, 0n, demand)).toEqual({ kind: "stale" });
  });

  it("on requests admit exactly as many, however many arrive concurrently", async () => {
    expect(await admitted(300, { requestsPerMinute: 100 })).toBe(100);
  });

  it("on tokens alone hold for a whole minute, though others send requests meanwhile", async () => {
    const limits = { tokensPerMinute: 100 };
    // The store in memory drops what is idle once a minute.
    nowMs += 3_600_000;
    const first = await admit(limits, 100, "first");
    if (first.kind !== "admitted") throw new Error(first.kind);
    await store.release(account, released("first", first.atS, 0));
    nowMs += 60_000;
    expect(await admit(limits, 50)).toMatchObject({ kind: "limited", by: "tokens" });
  });

  it("on requests never admit more in any 60 seconds", async () => {
    const times: number[] = [];
    const limits = { requestsPerMinute: 10 };
    for (let step = 0; step < 600; step++) {
      nowMs += Math.floor(Math.random() * 900);
      if ((await admit(limits)).kind === "admitted") times.push(nowMs);
    }
    expect(times.length).toBeGreaterThan(30);
    for (const [index, time] of times.entries()) {
      const inMinute = times.slice(index).filter((later) => later < time + 60_000);
      expect(inMinute.length).toBeLessThanOrEqual(10);
    }
  });

  it("report how long to wait, and admit a caller who waited that long", async () => {
    const limits = { requestsPerMinute: 3 };
    for (const gapMs of [0, 7_300, 11_900]) {
      nowMs += gapMs;
      expect((await admit(limits)).kind).toBe("admitted");
    }
    for (let turn = 0; turn < 5; turn++) {
      const refused = await admit(limits);
      if (refused.kind !== "limited") throw new Error(refused.kind);
      expect(refused).toMatchObject({ by: "requests", rates: { requests: { limit: 3, remaining: 0 } } });
      nowMs += refused.retryAfterMs - 1;
      expect((await admit(limits)).kind).toBe("limited");
      nowMs += 1;
      expect((await admit(limits)).kind).toBe("admitted");
    }
  });

  it("report what is left and when all of it is available again", async () => {
    const limits = { requestsPerMinute: 3, tokensPerMinute: 100 };
    // A second leaves a minute after its last moment.
    const resetMs = 61_000 - (nowMs % 1_000);
    expect(await admit(limits, 30)).toMatchObject({
      rates: {
        requests: { limit: 3, remaining: 2, resetMs },
        tokens: { limit: 100, remaining: 70, resetMs },
      },
    });
    nowMs += 30_000;
    expect(await admit(limits, 100)).toMatchObject({
      kind: "limited",
      rates: { requests: { remaining: 2, resetMs: resetMs - 30_000 }, tokens: { resetMs: resetMs - 30_000 } },
    });
    const second = await admit(limits, 30);
    if (second.kind !== "admitted") throw new Error(second.kind);
    expect(second.rates.tokens).toMatchObject({ remaining: 40 });
    nowMs += second.rates.tokens?.resetMs ?? 0;
    expect(await admit(limits, 30)).toMatchObject({
      rates: { requests: { remaining: 2 }, tokens: { remaining: 70 } },
    });
  });

  it("on tokens count the estimate first and the real number after the answer", async () => {
    const limits = { tokensPerMinute: 100 };
    const first = await admit(limits, 90, "first");
    if (first.kind !== "admitted") throw new Error(first.kind);
    expect(await admit(limits, 20)).toMatchObject({ kind: "limited", by: "tokens" });
    await store.release(account, released("first", first.atS, -70));
    expect(await admit(limits, 20)).toMatchObject({ kind: "admitted", rates: { tokens: { remaining: 60 } } });
    // More than was estimated: the next ones wait for it.
    const third = await admit(limits, 10, "third");
    if (third.kind !== "admitted") throw new Error(third.kind);
    await store.release(account, released("third", third.atS, 500));
    expect(await admit(limits, 1)).toMatchObject({ kind: "limited", rates: { tokens: { remaining: 0 } } });
    nowMs += 62_000;
    expect((await admit(limits, 1)).kind).toBe("admitted");
  });

  it("on tokens count from its end what a request took beyond its estimate if its second has expired", async () => {
    const limits = { tokensPerMinute: 100 };
    const long = await admit(limits, 10, "long");
    const short = await admit(limits, 10, "short");
    if (long.kind !== "admitted" || short.kind !== "admitted") throw new Error("refused");
    nowMs = (long.atS + 61) * 1_000;
    await store.release(account, released("short", short.atS, -5));
    expect((await store.useOf(account)).tokens).toBe(0);
    const countedS = await store.release(account, released("long", long.atS, 500));
    // The store in memory does not lose its counts, and so need not tell.
    expect([null, long.atS + 61]).toContain(countedS);
    expect((await store.useOf(account)).tokens).toBe(500);
    await store.release(account, released("long", long.atS, 500));
    nowMs += 60_999;
    expect(await admit(limits, 1)).toMatchObject({ kind: "limited", by: "tokens" });
    nowMs += 1;
    expect((await admit(limits, 1)).kind).toBe("admitted");
  });

  it("on tokens count in the second of its admission what a request took beyond its estimate until that has expired", async () => {
    const limits = { tokensPerMinute: 1_000 };
    const request = await admit(limits, 10, "long");
    if (request.kind !== "admitted") throw new Error("refused");
    nowMs = (request.atS + 61) * 1_000 - 1;
    expect(await store.release(account, released("long", request.atS, 500))).toBeNull();
    expect((await store.useOf(account)).tokens).toBe(510);
    nowMs += 1;
    expect((await store.useOf(account)).tokens).toBe(0);
  });

  it("on tokens admit a request that exceeds the limit by itself when nothing else was used", async () => {
    const limits = { tokensPerMinute: 100 };
    expect((await admit(limits, 5_000)).kind).toBe("admitted");
    const refused = await admit(limits, 5_000);
    if (refused.kind !== "limited") throw new Error(refused.kind);
    nowMs += refused.retryAfterMs;
    expect((await admit(limits, 5_000)).kind).toBe("admitted");
  });

  it("on concurrent requests free a slot when a request ends", async () => {
    const limits = { concurrentRequests: 2 };
    const first = await admit(limits, 0, "a");
    await admit(limits, 0, "b");
    expect(await admit(limits)).toMatchObject({ kind: "limited", by: "concurrency" });
    if (first.kind !== "admitted") throw new Error(first.kind);
    await store.release(account, released("a", first.atS, 0));
    expect(await admitted(5, limits)).toBe(1);
  });

  it("on concurrent requests count one that takes minutes, whatever other accounts do meanwhile", async () => {
    // Later than in the other tests, which share the store: it looks for idle accounts once a minute.
    nowMs += 24 * 60 * 60_000;
    const limits = { concurrentRequests: 1, requestsPerMinute: 5 };
    expect((await admit(limits, 0, "long")).kind).toBe("admitted");
    const stranger = crypto.randomUUID() as AccountId;
    await store.commitRead(stranger, 1n, await store.epoch(stranger));
    for (let turn = 0; turn < 10; turn++) {
      nowMs += 30_000;
      await store.renew([{ accountId: account, slot: "long" as Slot }]);
      await store.admit(stranger, 1n, { limits: UNLIMITED, tokens: 0, slot: `${turn}` as Slot });
    }
    expect(await admit(limits)).toMatchObject({ kind: "limited", by: "concurrency" });
  });

  it("that refuse a request together name the one that it has to wait for longest, and how long", async () => {
    const limits = { requestsPerMinute: 3, tokensPerMinute: 100, concurrentRequests: 3 };
    await admit(limits, 90, "tokens");
    nowMs += 10_000;
    await admit(limits, 0, "next");
    expect(await admit(limits, 20)).toMatchObject({ kind: "limited", by: "tokens" });
    await admit(limits, 0, "last");
    const refused = await admit(limits, 0);
    expect(refused).toMatchObject({ kind: "limited", by: "requests" });
    // As the first request has to leave the minute.
    if (refused.kind === "limited") expect(refused.retryAfterMs).toBeGreaterThan(49_000);
    const later = await admit({ ...limits, requestsPerMinute: 2 }, 20);
    expect(later).toMatchObject({ kind: "limited", by: "requests" });
    if (later.kind === "limited") expect(later.retryAfterMs).toBeGreaterThan(59_000);
    const ofTokens = await admit({ ...limits, requestsPerMinute: 4 }, 20);
    expect(ofTokens).toMatchObject({ kind: "limited", by: "tokens" });
    if (ofTokens.kind === "limited") expect(ofTokens.retryAfterMs).toBeGreaterThan(49_000);
    expect(await admit({ ...limits, requestsPerMinute: 4 }, 5)).toMatchObject({
      kind: "limited",
      by: "concurrency",
      retryAfterMs: 1_000,
    });
  });

  it("that refuse a request for as long as each other name the requests", async () => {
    const limits = { requestsPerMinute: 1, tokensPerMinute: 10, concurrentRequests: 1 };
    await admit(limits, 10);
    expect(await admit(limits, 10)).toMatchObject({ kind: "limited", by: "requests" });
  });

  it("take capacity from all limits or from none", async () => {
    const limits = { requestsPerMinute: 5, tokensPerMinute: 100, concurrentRequests: 1 };
    const first = await admit(limits, 10, "a");
    for (let turn = 0; turn < 20; turn++) expect((await admit(limits, 10)).kind).toBe("limited");
    if (first.kind !== "admitted") throw new Error(first.kind);
    await store.release(account, released("a", first.atS, 0));
    expect(await admit(limits, 10)).toMatchObject({
      kind: "admitted",
      rates: { requests: { remaining: 3 }, tokens: { remaining: 80 } },
    });
  });

  it("report how much is used, without using any", async () => {
    const limits = { requestsPerMinute: 5, tokensPerMinute: 1_000, concurrentRequests: 2 };
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 0, concurrent: 0 });
    const first = await admit(limits, 30, "a");
    await admit(limits, 40, "b");
    if (first.kind !== "admitted") throw new Error(first.kind);
    for (let turn = 0; turn < 20; turn++) {
      expect(await store.useOf(account)).toEqual({ requests: 2, tokens: 70, concurrent: 2 });
    }
    // What was refused has taken nothing.
    expect((await admit(limits, 40)).kind).toBe("limited");
    expect(await store.useOf(account)).toEqual({ requests: 2, tokens: 70, concurrent: 2 });
    await store.release(account, released("a", first.atS, -25));
    expect(await store.useOf(account)).toEqual({ requests: 2, tokens: 45, concurrent: 1 });
    expect(await admit(limits, 5)).toMatchObject({
      kind: "admitted",
      rates: { requests: { remaining: 2 }, tokens: { remaining: 950 } },
    });
    const stranger = crypto.randomUUID() as AccountId;
    expect(await store.useOf(stranger)).toEqual({ requests: 0, tokens: 0, concurrent: 0 });
  });

  it("report that they are free when the next request would be admitted", async () => {
    const limits = { requestsPerMinute: 3, tokensPerMinute: 100 };
    nowMs -= nowMs % 1_000;
    await admit(limits, 10, "a");
    nowMs += 30_000;
    await admit(limits, 20, "b");
    nowMs += 30_999;
    expect(await store.useOf(account)).toMatchObject({ requests: 2, tokens: 30 });
    nowMs += 1;
    expect(await store.useOf(account)).toMatchObject({ requests: 1, tokens: 20 });
    nowMs += 30_000;
    expect(await store.useOf(account)).toMatchObject({ requests: 0, tokens: 0 });
  });

  it("that are not set report no use, except for concurrency slots", async () => {
    await admit({}, 1_000, "a");
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 0, concurrent: 1 });
    await admit({ tokensPerMinute: 500 }, 100, "b");
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 100, concurrent: 2 });
    await store.release(account, released("a", Math.floor(nowMs / 1_000), 0));
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 100, concurrent: 1 });
  });

  it("release what a request took once, however often its end is reported", async () => {
    const limits = { requestsPerMinute: 5, tokensPerMinute: 100, concurrentRequests: 2 };
    const first = await admit(limits, 50, "a");
    if (first.kind !== "admitted") throw new Error(first.kind);
    for (let turn = 0; turn < 5; turn++) await store.release(account, released("a", first.atS, -20));
    expect(await store.useOf(account)).toEqual({ requests: 1, tokens: 30, concurrent: 0 });
  });

  it("release nothing for a slot that was never taken", async () => {
    const limits = { requestsPerMinute: 5, tokensPerMinute: 100, concurrentRequests: 2 };
    await admit(limits, 50, "a");
    await store.release(account, released("unknown", Math.floor(nowMs / 1_000), -20));
    await store.release(account, unanswered("also unknown", 20));
    expect(await store.useOf(account)).toEqual({ requests: 1, tokens: 50, concurrent: 1 });
  });

  it("release everything of a request whose admission was not answered", async () => {
    const limits = { requestsPerMinute: 5, tokensPerMinute: 100, concurrentRequests: 2 };
    await admit(limits, 10, "a");
    nowMs += 7_000;
    await admit(limits, 50, "b");
    nowMs += 9_000;
    for (let turn = 0; turn < 3; turn++) await store.release(account, unanswered("b", 50));
    expect(await store.useOf(account)).toEqual({ requests: 1, tokens: 10, concurrent: 1 });
    expect(await admit(limits, 90)).toMatchObject({
      kind: "admitted",
      rates: { requests: { remaining: 3 }, tokens: { remaining: 0 } },
    });
  });

  it("of one account do not affect another", async () => {
    expect(await admitted(5, { requestsPerMinute: 1 })).toBe(1);
    account = crypto.randomUUID() as AccountId;
    await store.commitRead(account, 1n, await store.epoch(account));
    expect(await admitted(5, { requestsPerMinute: 1 })).toBe(1);
  });
});

describe.skipIf(REDIS_URL === undefined)("a concurrency slot in Redis", () => {
  const limits = { ...UNLIMITED, concurrentRequests: 1 };
  let store: AdmissionStore;
  let account: AccountId;

  beforeAll(async () => {
    const opened = await implementations.Redis?.();
    if (opened === undefined) throw new Error("there is no Redis");
    store = opened;
  });

  beforeEach(async () => {
    nowMs = 1_800_000_000_000;
    account = crypto.randomUUID() as AccountId;
    await store.commitRead(account, 1n, await store.epoch(account));
  });

  afterAll(async () => {
    await store.close();
  });

  const admit = async (slot: string, tokens = 0) =>
    (await store.admit(account, 1n, { limits, tokens, slot: slot as Slot })).kind;
  const renew = (slot: string) => store.renew([{ accountId: account, slot: slot as Slot }]);
  const concurrent = async () => (await store.useOf(account)).concurrent;

  it("is freed when its node has died, and kept as long as the node lives", async () => {
    expect(await admit("dead")).toBe("admitted");
    nowMs += 59_000;
    expect(await admit("next")).toBe("limited");
    expect(await concurrent()).toBe(1);
    nowMs += 1_000;
    expect(await concurrent()).toBe(0);
    // Asking has removed nothing: it is there for who asks what was.
    nowMs -= 1;
    expect(await concurrent()).toBe(1);
    nowMs += 1_001;
    expect(await admit("next")).toBe("admitted");
    nowMs += 50_000;
    await renew("next");
    nowMs += 50_000;
    expect(await admit("last")).toBe("limited");
  });

  it("and what a minute's limit has counted end in time after a clock that was an hour ahead was set back", async () => {
    const perMinute = { ...UNLIMITED, requestsPerMinute: 2 };
    const ask = async (slot: string) =>
      (await store.admit(account, 1n, { limits: perMinute, tokens: 0, slot: slot as Slot })).kind;
    nowMs += 3_600_000;
    for (const slot of ["a", "b"]) expect(await ask(slot)).toBe("admitted");
    // As after a failover to a server whose clock is behind.
    nowMs -= 2_000;
    expect(await ask("c")).toBe("limited");
    nowMs -= 3_598_000;
    expect((await store.useOf(account)).requests).toBe(0);
    for (const slot of ["d", "e"]) expect(await ask(slot)).toBe("admitted");
    expect(await ask("f")).toBe("limited");
  });

  it("is freed a minute after a clock that was an hour ahead was set back, if its node has died", async () => {
    nowMs += 3_600_000;
    expect(await admit("dead")).toBe("admitted");
    expect(await admit("refused")).toBe("limited");
    nowMs -= 3_600_000;
    expect(await admit("next")).toBe("limited");
    nowMs += 59_999;
    expect(await admit("next")).toBe("limited");
    nowMs += 1;
    expect(await admit("next")).toBe("admitted");
  });

  it("that was lost is taken again by a renewal, and counts against new requests", async () => {
    expect(await admit("cut off")).toBe("admitted");
    // Its node could not renew it, and another request took what was free.
    nowMs += 61_000;
    expect(await admit("other")).toBe("admitted");
    await renew("cut off");
    expect(await concurrent()).toBe(2);
    expect(await admit("third")).toBe("limited");
    // Running requests continue; no other is admitted until there are fewer than the limit.
    await store.release(account, released("other", Math.floor(nowMs / 1_000), 0));
    expect(await admit("third")).toBe("limited");
    await store.release(account, released("cut off", 0, 0));
    expect(await admit("third")).toBe("admitted");
  });

  it("is not taken by a renewal that arrives after its release", async () => {
    expect(await admit("slow")).toBe("admitted");
    const atS = Math.floor(nowMs / 1_000);
    await store.release(account, { ...released("slow", atS, 0), isContested: true });
    nowMs += 100_000;
    await renew("slow");
    expect(await concurrent()).toBe(0);
    expect(await admit("next")).toBe("admitted");
  });

  it("is not taken by an admission that arrives after its release", async () => {
    await store.release(account, unanswered("late", 5));
    expect(await admit("late")).toBe("stale");
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 0, concurrent: 0 });
    expect(await admit("next")).toBe("admitted");
  });

  it("is not taken by an admission or a renewal that arrives a quarter of an hour after its release", async () => {
    for (const slot of ["late", "slow"]) await store.release(account, unanswered(slot, 5));
    nowMs += 15 * 60_000 - 1;
    // A release forgets what has been remembered for long enough.
    await store.release(account, unanswered("other", 5));
    await renew("slow");
    expect(await admit("late")).toBe("stale");
    expect(await concurrent()).toBe(0);
  });

  it("is released with what its request took when that is repeated, which counts nothing again once the minute is over", async () => {
    const tokens = { ...UNLIMITED, tokensPerMinute: 100 };
    const admission = await store.admit(account, 1n, { limits: tokens, tokens: 10, slot: "long" as Slot });
    if (admission.kind !== "admitted") throw new Error("refused");
    nowMs = (admission.atS + 61) * 1_000;
    const repeated = { ...released("long", admission.atS, 500), isContested: true };
    expect(await store.release(account, repeated)).toBeNull();
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 0, concurrent: 0 });
  });

  it("returns the second from which what its request took beyond the estimate counts", async () => {
    const tokens = { ...UNLIMITED, tokensPerMinute: 100 };
    const admission = await store.admit(account, 1n, { limits: tokens, tokens: 10, slot: "long" as Slot });
    if (admission.kind !== "admitted") throw new Error("refused");
    nowMs = (admission.atS + 70) * 1_000;
    expect(await store.release(account, released("long", admission.atS, 500))).toBe(admission.atS + 70);
  });

  it("is renewed together with thousands of others", async () => {
    const slots = Array.from({ length: 3_500 }, (_, index) => `slot-${index}` as Slot);
    await store.renew(slots.map((slot) => ({ accountId: account, slot })));
    expect(await concurrent()).toBe(3_500);
  });
});
