import { beforeEach, describe, expect, it } from "vitest";
import {
  type AccountEpoch,
  type AdmissionStore,
  AdmissionStoreUnavailable,
  type NodeUse,
} from "../../server/src/admission/admission-store.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import {
  type HeldSlot,
  type Limits,
  type Rates,
  type Release,
  type Slot,
  UNLIMITED,
} from "../../server/src/contract/limits.ts";

const ACCOUNT = "5c1e7cb4-3f7c-4b4b-9d53-0b6c8a3b1f10" as AccountId;
const RATE = { limit: 100, remaining: 10, resetMs: 0 };
const LIMITS: Limits = { requestsPerMinute: 10, tokensPerMinute: 100, concurrentRequests: 5 };

/** A store that does what it is asked, and whose answers can be lost. */
class LossyStore {
  /** What was counted again. */
  readonly recounted: NodeUse[] = [];
  atS = 1;
  /** The second from which it counts tokens beyond the estimates of requests that end; `null`: that of their admission. */
  countedFromS: number | null = null;
  /** In which it admits. */
  epoch = "one" as AccountEpoch;
  /** What the account's limits leave; `null`: it is not limited. */
  rates: Rates = { requests: RATE, tokens: RATE };
  readonly slots = new Set<Slot>();
  readonly released: Release[] = [];
  readonly #restored: (() => void)[] = [];
  /** Whether it is asked at all, and whether its answers come. */
  state: "answers" | "loses answers" | "away" = "answers";
  /** The account whose part of the store does not answer. */
  awayFor: AccountId | null = null;

  async admit(_account: AccountId, _version: bigint, { slot }: { slot: Slot }) {
    this.#require(() => this.slots.add(slot));
    const { rates } = this;
    return { kind: "admitted" as const, atS: this.atS, epoch: this.epoch, rates };
  }

  async release(account: AccountId, release: Release): Promise<number | null> {
    if (account === this.awayFor) throw new AdmissionStoreUnavailable("away");
    this.#require(() => {
      this.slots.delete(release.slot);
      this.released.push(release);
    });
    return this.countedFromS;
  }

  async recount(account: AccountId, use: NodeUse): Promise<void> {
    if (account === this.awayFor) throw new AdmissionStoreUnavailable("away");
    this.#require(() => this.recounted.push(use));
  }

  async renew(slots: readonly HeldSlot[]): Promise<void> {
    this.#require(() => {
      for (const { slot } of slots) this.slots.add(slot);
    });
  }

  onRestored(listener: () => void): void {
    this.#restored.push(listener);
  }

  comesBackEmpty(state: LossyStore["state"] = "answers"): void {
    this.slots.clear();
    this.state = state;
    for (const listener of this.#restored) listener();
  }

  #require(act: () => void): void {
    if (this.state === "away") throw new AdmissionStoreUnavailable("away", { mayBeDone: false });
    act();
    if (this.state === "loses answers") throw new AdmissionStoreUnavailable("lost");
  }
}

let store: LossyStore;
let nowMs: number;
let admissions: Admissions;

beforeEach(() => {
  store = new LossyStore();
  nowMs = 0;
  // What admissions ask of a store is no more than this.
  admissions = new Admissions(store as unknown as AdmissionStore, () => nowMs);
});

async function admit(tokens = 20, account = ACCOUNT) {
  const outcome = await admissions.admit(account, 1n, LIMITS, tokens);
  if (outcome.kind !== "admitted") throw new Error(outcome.kind);
  return outcome.request;
}

describe("a request whose admission was not answered", () => {
  it("releases everything it may have taken as soon as the store answers", async () => {
    store.state = "loses answers";
    await expect(admit(500)).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    expect(store.slots.size).toBe(1);
    store.state = "away";
    await admissions.retryReleases();
    expect(store.slots.size).toBe(1);
    store.state = "answers";
    await admissions.retryReleases();
    expect(store.slots.size).toBe(0);
    // No more than the limit was taken, and which second it was the store has to know.
    expect(store.released).toMatchObject([
      { tokensMore: -100, atS: null, isCancelled: true, isContested: true },
    ]);
    await admissions.retryReleases();
    expect(store.released).toHaveLength(1);
  });

  it("releases nothing when the store was never asked", async () => {
    store.state = "away";
    await expect(admit()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    store.state = "answers";
    await admissions.retryReleases();
    expect(store.released).toEqual([]);
  });

  it("is forgotten once no message about its slot can arrive, and when too many such requests are pending", async () => {
    store.state = "loses answers";
    await expect(admit()).rejects.toThrow();
    nowMs += 15 * 60_000;
    store.state = "answers";
    await admissions.retryReleases();
    expect(store.released).toEqual([]);

    store.state = "loses answers";
    for (let number = 0; number < 20_100; number++) await admit().catch(() => {});
    store.state = "answers";
    await admissions.retryReleases();
    expect(store.released).toHaveLength(20_000);
  });
});

describe("a request whose end was not confirmed", () => {
  it("repeats its release until the store confirms it, and releases no more than it took", async () => {
    const request = await admit(20);
    store.state = "away";
    await request.end(5);
    await request.end(5);
    store.state = "loses answers";
    await admissions.retryReleases();
    store.state = "answers";
    await admissions.retryReleases();
    expect(store.slots.size).toBe(0);
    // The store counts only the one that found the slot.
    expect(store.released).toHaveLength(2);
    for (const release of store.released) {
      expect(release).toMatchObject({ tokensMore: -15, atS: 1, isCancelled: false, isContested: true });
    }
  });

  it("is released even if many releases on another part of the store keep failing", async () => {
    const other = crypto.randomUUID() as AccountId;
    const others = await Promise.all(Array.from({ length: 250 }, () => admit(20, other)));
    const request = await admit();
    store.state = "away";
    for (const each of others) await each.end(null);
    await request.end(null);
    store.state = "answers";
    store.awayFor = other;
    for (let second = 0; second < 4; second++) await admissions.retryReleases();
    expect(store.released).toHaveLength(1);
    expect(store.slots.size).toBe(250);
    store.awayFor = null;
    await admissions.retryReleases();
    expect(store.slots.size).toBe(0);
  });

  it("is released once when the store confirms at once", async () => {
    const request = await admit(20);
    await admissions.renew();
    await request.end(null);
    expect(store.released).toMatchObject([{ tokensMore: 0, isCancelled: false, isContested: false }]);
  });

  it("closes its slot against a renewal that may still be in progress", async () => {
    const request = await admit();
    store.state = "loses answers";
    await expect(admissions.renew()).rejects.toThrow();
    store.state = "answers";
    await request.end(null);
    expect(store.released).toMatchObject([{ isContested: true }]);
  });

  it("is no longer renewed", async () => {
    const request = await admit();
    store.state = "away";
    await request.end(null);
    store.state = "answers";
    store.slots.clear();
    await admissions.renew();
    expect(store.slots.size).toBe(0);
  });
});

describe("a running request", () => {
  it("takes its slot again after the store has come back empty", async () => {
    const request = await admit();
    const ended = await admit();
    await ended.end(null);
    store.comesBackEmpty();
    expect(store.slots.size).toBe(1);
    await request.end(null);
    expect(store.slots.size).toBe(0);
  });

  it("releases everything when it is not served after all", async () => {
    const request = await admit(30);
    await request.cancel();
    await request.end(7);
    expect(store.released).toMatchObject([{ tokensMore: -30, atS: 1, isCancelled: true }]);
  });
});

describe("what a node has admitted in the last minute", () => {
  /** Until everything has happened that follows without anybody else. */
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it("is counted again in a store that comes back empty, as it was corrected", async () => {
    const served = await admit(20);
    const cancelled = await admit(30);
    store.atS = 8;
    await admit(40);
    await served.end(25);
    await cancelled.cancel();
    store.comesBackEmpty();
    const seconds = [
      { second: 1, requests: 1, tokens: 25 },
      { second: 8, requests: 1, tokens: 40 },
    ];
    expect(store.recounted).toMatchObject([{ epoch: "one", seconds }]);
  });

  it("is counted again from the end of a request that took more than its estimate after its second had expired", async () => {
    const long = await admit(20);
    store.countedFromS = 70;
    await long.end(65);
    store.comesBackEmpty();
    const [use] = store.recounted;
    expect(use).toMatchObject({ epoch: "one" });
    expect(use?.seconds.at(-1)).toEqual({ second: 70, requests: 0, tokens: 45 });
  });

  it("is counted again by the epoch in which it was admitted", async () => {
    const first = await admit(20);
    store.epoch = "two" as AccountEpoch;
    await admit(30);
    // An answer of the former epoch may come later, and both have admitted in the same second.
    store.epoch = "one" as AccountEpoch;
    await admit(5);
    await first.end(24);
    store.comesBackEmpty();
    expect(store.recounted).toMatchObject([
      { epoch: "two", seconds: [{ second: 1, requests: 1, tokens: 30 }] },
      { epoch: "one", seconds: [{ second: 1, requests: 2, tokens: 29 }] },
    ]);
    expect(store.recounted[0]?.node).toBe(store.recounted[1]?.node);
  });

  it("is forgotten after a minute, and never takes more than a minute's memory", async () => {
    for (store.atS = 1; store.atS <= 500; store.atS++) await admit(1);
    // The clock of another server may be behind.
    for (store.atS = 100; store.atS <= 200; store.atS++) await admit(1);
    store.comesBackEmpty();
    const [use] = store.recounted;
    expect(use?.seconds).toHaveLength(61);
    expect(use?.seconds[0]).toEqual({ second: 140, requests: 1, tokens: 1 });
  });

  it("never takes more than a minute's memory, however often the account gets another epoch", async () => {
    for (store.atS = 1; store.atS <= 500; store.atS++) {
      store.epoch = `epoch ${store.atS}` as AccountEpoch;
      await admit(1);
    }
    store.comesBackEmpty();
    expect(store.recounted).toHaveLength(61);
  });

  it("is known of 20,000 accounts at most, and of others once those are idle for a minute", async () => {
    const admitEach = async (accounts: number) => {
      for (let number = 0; number < accounts; number++) await admit(1, crypto.randomUUID() as AccountId);
    };
    await admit();
    await admitEach(20_099);
    store.comesBackEmpty();
    await nextTurn();
    expect(store.recounted).toHaveLength(20_000);
    // An account that is known stays so in its next epoch.
    store.epoch = "two" as AccountEpoch;
    await admit();
    store.comesBackEmpty();
    await nextTurn();
    expect(store.recounted).toHaveLength(40_001);
    store.atS += 62;
    await admitEach(3);
    store.comesBackEmpty();
    await nextTurn();
    expect(store.recounted).toHaveLength(40_004);
  });

  it("is counted again until the store has confirmed it, and then no more", async () => {
    await admit(20);
    store.comesBackEmpty("loses answers");
    await nextTurn();
    await admissions.recount();
    expect(store.recounted).toHaveLength(2);
    store.state = "answers";
    for (let second = 0; second < 3; second++) await admissions.recount();
    expect(store.recounted).toHaveLength(3);
  });

  it("is counted again for all other accounts if a part of the store does not answer, and for those of that part later", async () => {
    const other = crypto.randomUUID() as AccountId;
    store.awayFor = other;
    await admit(20, other);
    for (let number = 0; number < 1_200; number++) await admit(1, crypto.randomUUID() as AccountId);
    store.comesBackEmpty();
    expect(store.recounted.length).toBeLessThanOrEqual(500);
    await nextTurn();
    expect(store.recounted).toHaveLength(1_200);
    for (let second = 0; second < 3; second++) await admissions.recount();
    expect(store.recounted).toHaveLength(1_200);
    store.awayFor = null;
    await admissions.recount();
    expect(store.recounted).toHaveLength(1_201);
  });

  it("is counted again after another loss, even while it is being counted again after the first", async () => {
    for (let number = 0; number < 600; number++) await admit(1, crypto.randomUUID() as AccountId);
    store.comesBackEmpty("away");
    store.comesBackEmpty();
    // A call meanwhile counts nothing twice.
    await admissions.recount();
    await nextTurn();
    await admissions.recount();
    expect(store.recounted).toHaveLength(600);
  });

  it.each([
    ["requests", { requests: RATE, tokens: null }, { second: 1, requests: 1, tokens: 0 }],
    ["tokens", { requests: null, tokens: RATE }, { second: 1, requests: 0, tokens: 20 }],
  ])("is counted again only where it is limited: %s", async (_, rates, use) => {
    store.rates = rates;
    await admit(20);
    store.comesBackEmpty();
    expect(store.recounted).toMatchObject([{ seconds: [use] }]);
  });
});

describe("a request that came while the account had no limits", () => {
  it("takes back nothing of what requests of the same second count, once the account has some", async () => {
    const memory = new MemoryAdmissionStore(10, () => 0);
    await memory.commitRead(ACCOUNT, 1n, await memory.epoch());
    admissions = new Admissions(memory, () => 0);
    const admitted = async (limits: Limits, tokens: number) => {
      const outcome = await admissions.admit(ACCOUNT, 1n, limits, tokens);
      if (outcome.kind !== "admitted") throw new Error(outcome.kind);
      return outcome.request;
    };
    const before = [await admitted(UNLIMITED, 5_000), await admitted(UNLIMITED, 5_000)] as const;
    const after = await admitted(LIMITS, 60);
    before[0].end(10);
    before[1].cancel();
    expect(await admissions.useOf(ACCOUNT)).toEqual({ requests: 1, tokens: 60, concurrent: 1 });
    after.end(40);
    expect(await admissions.useOf(ACCOUNT)).toEqual({ requests: 1, tokens: 40, concurrent: 0 });
  });

  it("takes back nothing either if its admission was not answered", async () => {
    store.state = "loses answers";
    await expect(admissions.admit(ACCOUNT, 1n, UNLIMITED, 5_000)).rejects.toThrow();
    store.state = "answers";
    await admissions.retryReleases();
    expect(store.released).toMatchObject([{ tokensMore: 0, isCancelled: false, isContested: true }]);
  });
});
