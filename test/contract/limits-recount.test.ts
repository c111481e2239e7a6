import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type {
  AccountEpoch,
  AdmissionStore,
  UseOfSecond,
} from "../../server/src/admission/admission-store.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Slot } from "../../server/src/contract/limits.ts";
import { openRedisStore } from "./redis-store.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;

/** The clock of every store under test. */
let nowMs = 0;

describe.skipIf(REDIS_URL === undefined)("what nodes have admitted in the last minute", () => {
  const limits = { requestsPerMinute: 10, tokensPerMinute: 1_000, concurrentRequests: null };
  let store: AdmissionStore;
  let account: AccountId;
  let epoch: AccountEpoch;

  beforeAll(async () => {
    store = await openRedisStore(REDIS_URL ?? "", { nowMs: () => nowMs });
  });

  beforeEach(async () => {
    nowMs = 1_800_000_000_000;
    account = crypto.randomUUID() as AccountId;
    epoch = await store.epoch(account);
    await store.commitRead(account, 1n, epoch);
  });

  afterAll(async () => {
    await store.close();
  });

  const admit = async (tokens: number) =>
    (await store.admit(account, 1n, { limits, tokens, slot: crypto.randomUUID() as Slot })).kind;
  const use = async () => {
    const { requests, tokens } = await store.useOf(account);
    return { requests, tokens };
  };
  const recount = (node: string, of: AccountEpoch, ...seconds: UseOfSecond[]) =>
    store.recount(account, { node, epoch: of, seconds });
  const present = () => Math.floor(nowMs / 1_000);
  const lost = "lost" as AccountEpoch;

  it("is counted again once for each node if Redis has lost it", async () => {
    await admit(10);
    for (let turn = 0; turn < 3; turn++) {
      await recount("a", lost, { second: present() - 5, requests: 3, tokens: 100 });
      await recount("b", lost, { second: present() - 5, requests: 2, tokens: 50 });
    }
    expect(await use()).toEqual({ requests: 6, tokens: 160 });
    for (let number = 0; number < 4; number++) expect(await admit(10)).toBe("admitted");
    expect(await admit(10)).toBe("limited");
    // Each second leaves as it would have.
    nowMs += 56_000;
    expect(await use()).toEqual({ requests: 5, tokens: 50 });
    expect(await admit(10)).toBe("admitted");
  });

  it("leaves in its order, though it is counted again after what came later", async () => {
    for (let number = 0; number < 9; number++) await admit(10);
    await recount("a", lost, { second: present() - 40, requests: 1, tokens: 10 });
    const refused = await store.admit(account, 1n, { limits, tokens: 10, slot: "refused" as Slot });
    expect(refused).toMatchObject({ kind: "limited", by: "requests", retryAfterMs: 21_000 });
  });

  it("is not counted again if Redis still has it", async () => {
    await admit(10);
    await recount("a", epoch, { second: present(), requests: 1, tokens: 10 });
    expect(await use()).toEqual({ requests: 1, tokens: 10 });
  });

  it("is counted again if it was lost once more", async () => {
    await recount("a", lost, { second: present(), requests: 2, tokens: 20 });
    await recount("a", "later" as AccountEpoch, { second: present(), requests: 1, tokens: 10 });
    expect(await use()).toEqual({ requests: 3, tokens: 30 });
  });

  it("is counted again of an account that Redis does not know", async () => {
    account = crypto.randomUUID() as AccountId;
    await recount("a", lost, { second: present(), requests: 2, tokens: 0 });
    expect(await use()).toEqual({ requests: 2, tokens: 0 });
    expect(await admit(0)).toBe("stale");
  });

  it("is not counted again after its minute, or by a clock that was ahead", async () => {
    await recount("a", lost, { second: present() - 61, requests: 2, tokens: 20 });
    await recount("b", lost, { second: present() + 61, requests: 2, tokens: 20 });
    expect(await use()).toEqual({ requests: 0, tokens: 0 });
    nowMs += 30_000;
    expect(await use()).toEqual({ requests: 0, tokens: 0 });
  });

  it("takes nothing from what others have admitted if a node has given back more than it has counted in a second", async () => {
    await admit(10);
    await recount("a", lost, { second: present(), requests: -1, tokens: -10 });
    expect(await use()).toEqual({ requests: 1, tokens: 10 });
  });
});

describe.skipIf(REDIS_URL === undefined)("what a node has admitted in the last minute", () => {
  const limits = { requestsPerMinute: 100, tokensPerMinute: 1_000, concurrentRequests: null };
  const url = REDIS_URL ?? "";
  let prefix: string;
  let account: AccountId;
  /** The key of the account's version and epoch. */
  let key: string;
  let redis: Redis;
  let stores: readonly [RedisAdmissionStore, RedisAdmissionStore];
  let first: Admissions;
  let second: Admissions;

  beforeEach(async () => {
    nowMs = 1_800_000_000_000;
    prefix = `test-${crypto.randomUUID()}`;
    account = crypto.randomUUID() as AccountId;
    key = `${prefix}:{${account}}`;
    redis = new Redis(url);
    const open = () => openRedisStore(url, { nowMs: () => nowMs, prefix });
    stores = [await open(), await open()];
    [first, second] = [new Admissions(stores[0]), new Admissions(stores[1])];
    expect(await readBy(first)).toBe(true);
  });

  afterEach(async () => {
    redis.disconnect();
    for (const store of stores) await store.close();
  });

  const readBy = async (node: Admissions) => node.commitRead(account, 1n, await node.epoch(account));
  const admitBy = async (node: Admissions) => (await node.admit(account, 1n, limits, 10)).kind;

  it("is counted once even if another node has begun the epoch of its admissions", async () => {
    expect(await admitBy(first)).toBe("admitted");
    expect(await redis.del(key)).toBe(1);
    expect(await readBy(second)).toBe(true);
    // What was admitted before may count twice, for a minute.
    nowMs += 62_000;
    for (let number = 0; number < 3; number++) expect(await admitBy(first)).toBe("admitted");
    stores[0].restored();
    expect(await stores[0].useOf(account)).toMatchObject({ requests: 3, tokens: 30 });
  });

  it("is counted once even if the account's version would have expired meanwhile", async () => {
    expect(await admitBy(first)).toBe("admitted");
    await redis.expire(key, 30);
    expect(await admitBy(first)).toBe("admitted");
    // A minute passes.
    if ((await redis.ttl(key)) <= 60) await redis.del(key);
    expect(await readBy(second)).toBe(true);
    stores[0].restored();
    expect(await stores[0].useOf(account)).toMatchObject({ requests: 2, tokens: 20 });
  });
});
