import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/accounts/account.ts";
import type { AdmissionStore } from "../../server/src/admission/admission-store.ts";
import { type Admission, type Limits, type Place, UNLIMITED } from "../../server/src/admission/limits.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;

/** The clock of every store under test. */
let nowMs = 0;

const implementations: Record<string, () => Promise<AdmissionStore>> = {
  memory: async () => new MemoryAdmissionStore(100, () => nowMs),
  ...(REDIS_URL === undefined
    ? {}
    : {
        Redis: async () => {
          const store = new RedisAdmissionStore({
            url: REDIS_URL,
            prefix: `test-${crypto.randomUUID()}`,
            commandTimeoutMs: 2_000,
            onError: () => {},
            nowMs: () => nowMs,
          });
          await store.connect();
          return store;
        },
      }),
};

describe.each(Object.entries(implementations))("limits in %s", (_, open) => {
  let store: AdmissionStore;
  let account: AccountId;

  beforeAll(async () => {
    store = await open();
  });

  beforeEach(async () => {
    nowMs = 1_800_000_000_000 + Math.floor(Math.random() * 1_000);
    account = crypto.randomUUID() as AccountId;
    await store.vouch(account, 1n, await store.epoch(account));
  });

  afterAll(async () => {
    await store.close();
  });

  const admit = (
    limits: Partial<Limits>,
    tokens = 0,
    place: string = crypto.randomUUID(),
  ): Promise<Admission> =>
    store.admit(account, 1n, { limits: { ...UNLIMITED, ...limits }, tokens, place: place as Place });

  async function admitted(count: number, limits: Partial<Limits>, tokens = 0): Promise<number> {
    const outcomes = await Promise.all(Array.from({ length: count }, () => admit(limits, tokens)));
    return outcomes.filter(({ kind }) => kind === "admitted").length;
  }

  it("that there are not let everything through, and nothing by a stale snapshot", async () => {
    expect(await admit({}, 1_000_000)).toMatchObject({
      kind: "admitted",
      rates: { requests: null, tokens: null },
    });
    const demand = { limits: UNLIMITED, tokens: 0, place: "x" as Place };
    expect(await store.admit(account, 0n, demand)).toEqual({ kind: "stale" });
  });

  it("on requests let through exactly as many, however many come at once", async () => {
    expect(await admitted(300, { requestsPerMinute: 100 })).toBe(100);
  });

  it("on requests never let through more in any minute", async () => {
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

  it("tell how long to wait, and let through who has waited that long", async () => {
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

  it("say what is left and when it will all be free again", async () => {
    const limits = { requestsPerMinute: 3, tokensPerMinute: 100 };
    expect(await admit(limits, 30)).toMatchObject({
      rates: { requests: { limit: 3, remaining: 2 }, tokens: { limit: 100, remaining: 70 } },
    });
    nowMs += 30_000;
    const second = await admit(limits, 30);
    if (second.kind !== "admitted") throw new Error(second.kind);
    expect(second.rates.tokens).toMatchObject({ remaining: 40 });
    nowMs += second.rates.tokens?.resetMs ?? 0;
    expect(await admit(limits, 30)).toMatchObject({
      rates: { requests: { remaining: 2 }, tokens: { remaining: 70 } },
    });
  });

  it("on tokens count what is estimated, and then what it was", async () => {
    const limits = { tokensPerMinute: 100 };
    const first = await admit(limits, 90, "first");
    if (first.kind !== "admitted") throw new Error(first.kind);
    expect(await admit(limits, 20)).toMatchObject({ kind: "limited", by: "tokens" });
    await store.release(account, { place: "first" as Place, atS: first.atS, tokensMore: -70 });
    expect(await admit(limits, 20)).toMatchObject({ kind: "admitted", rates: { tokens: { remaining: 60 } } });
    // More than was estimated: the next ones wait for it.
    const third = await admit(limits, 10, "third");
    if (third.kind !== "admitted") throw new Error(third.kind);
    await store.release(account, { place: "third" as Place, atS: third.atS, tokensMore: 500 });
    expect(await admit(limits, 1)).toMatchObject({ kind: "limited", rates: { tokens: { remaining: 0 } } });
    nowMs += 62_000;
    expect((await admit(limits, 1)).kind).toBe("admitted");
  });

  it("on tokens let through what is more than a minute's, when nothing else was", async () => {
    const limits = { tokensPerMinute: 100 };
    expect((await admit(limits, 5_000)).kind).toBe("admitted");
    const refused = await admit(limits, 5_000);
    if (refused.kind !== "limited") throw new Error(refused.kind);
    nowMs += refused.retryAfterMs;
    expect((await admit(limits, 5_000)).kind).toBe("admitted");
  });

  it("on requests at once are free again when one has ended", async () => {
    const limits = { concurrentRequests: 2 };
    const first = await admit(limits, 0, "a");
    await admit(limits, 0, "b");
    expect(await admit(limits)).toMatchObject({ kind: "limited", by: "concurrency" });
    if (first.kind !== "admitted") throw new Error(first.kind);
    await store.release(account, { place: "a" as Place, atS: first.atS, tokensMore: 0 });
    expect(await admitted(5, limits)).toBe(1);
  });

  it("take all or nothing", async () => {
    const limits = { requestsPerMinute: 5, tokensPerMinute: 100, concurrentRequests: 1 };
    const first = await admit(limits, 10, "a");
    for (let turn = 0; turn < 20; turn++) expect((await admit(limits, 10)).kind).toBe("limited");
    if (first.kind !== "admitted") throw new Error(first.kind);
    await store.release(account, { place: "a" as Place, atS: first.atS, tokensMore: 0 });
    expect(await admit(limits, 10)).toMatchObject({
      kind: "admitted",
      rates: { requests: { remaining: 3 }, tokens: { remaining: 80 } },
    });
  });

  it("tell how much is used of them, and take nothing by telling", async () => {
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
    await store.release(account, { place: "a" as Place, atS: first.atS, tokensMore: -25 });
    expect(await store.useOf(account)).toEqual({ requests: 2, tokens: 45, concurrent: 1 });
    expect(await admit(limits, 5)).toMatchObject({
      kind: "admitted",
      rates: { requests: { remaining: 2 }, tokens: { remaining: 950 } },
    });
    const stranger = crypto.randomUUID() as AccountId;
    expect(await store.useOf(stranger)).toEqual({ requests: 0, tokens: 0, concurrent: 0 });
  });

  it("tell that they are free when the next request would find them so", async () => {
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

  it("that there are not have nothing used of them, but for places", async () => {
    await admit({}, 1_000, "a");
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 0, concurrent: 1 });
    await admit({ tokensPerMinute: 500 }, 100, "b");
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 100, concurrent: 2 });
    await store.release(account, { place: "a" as Place, atS: Math.floor(nowMs / 1_000), tokensMore: 0 });
    expect(await store.useOf(account)).toEqual({ requests: 0, tokens: 100, concurrent: 1 });
  });

  it("of one account are no other's", async () => {
    expect(await admitted(5, { requestsPerMinute: 1 })).toBe(1);
    account = crypto.randomUUID() as AccountId;
    await store.vouch(account, 1n, await store.epoch(account));
    expect(await admitted(5, { requestsPerMinute: 1 })).toBe(1);
  });
});

describe.skipIf(REDIS_URL === undefined)("a place in Redis", () => {
  it("is free again when the node that took it has died, and kept as long as it lives", async () => {
    const store = await implementations.Redis?.();
    if (store === undefined) throw new Error("there is no Redis");
    const account = crypto.randomUUID() as AccountId;
    nowMs = Date.now();
    await store.vouch(account, 1n, await store.epoch(account));
    const demand = (place: string) => ({
      limits: { ...UNLIMITED, concurrentRequests: 1 },
      tokens: 0,
      place: place as Place,
    });
    expect((await store.admit(account, 1n, demand("dead"))).kind).toBe("admitted");
    nowMs += 59_000;
    expect((await store.admit(account, 1n, demand("next"))).kind).toBe("limited");
    expect(await store.useOf(account)).toMatchObject({ concurrent: 1 });
    nowMs += 1_000;
    expect(await store.useOf(account)).toMatchObject({ concurrent: 0 });
    // Asking has removed nothing: it is there for who asks what was.
    nowMs -= 1;
    expect(await store.useOf(account)).toMatchObject({ concurrent: 1 });
    nowMs += 1_001;
    expect((await store.admit(account, 1n, demand("next"))).kind).toBe("admitted");
    // Renewed by Redis's own clock, which is behind the tests' here: what was given back is not taken again.
    await store.renew([{ accountId: account, place: "dead" as Place }]);
    await store.release(account, { place: "next" as Place, atS: 0, tokensMore: 0 });
    expect((await store.admit(account, 1n, demand("last"))).kind).toBe("admitted");
    await store.close();
  });
});
