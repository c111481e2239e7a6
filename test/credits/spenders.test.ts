import { beforeEach, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

it("a spender that is opened while older ones are being closed keeps its heartbeat, and closes those in between", async () => {
  const database = new CreditDatabase(() => 0);
  const store = database.storeOf("node");
  const heartbeats: (readonly SpenderId[])[] = [];
  const closedBelow: SpenderId[] = [];
  let answerClose = () => {};
  const credits = new Credits({
    store: {
      ...store,
      heartbeat: (spenders) => {
        heartbeats.push(spenders);
        return store.heartbeat(spenders);
      },
      closeBelow: async (id) => {
        closedBelow.push(id);
        const areClosed = await store.closeBelow(id);
        if (closedBelow.length === 1)
          await new Promise<void>((resolve) => {
            answerClose = resolve;
          });
        return areClosed;
      },
    },
    monotonicMs: () => 0,
    passedMs: () => 0,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
  const first = await credits.open();
  const closing = credits.closeOlder();
  await expect.poll(() => closedBelow).toEqual([first]);
  database.releaseAll("node");
  await credits.renew();
  const { spender: second } = credits;
  expect(second).not.toBe(first);
  answerClose();
  await closing;
  await credits.renew();
  expect(heartbeats.at(-1)).toEqual([second]);
  await credits.closeDrained();
  expect(closedBelow).toEqual([first, second]);
});

it("a spender that was closed while it asked for credit holds nothing of what it was granted", async () => {
  const database = new CreditDatabase(() => 0);
  const store = database.storeOf("node");
  const account = crypto.randomUUID() as AccountId;
  database.grant(account, 20n);
  let deliver: (() => void) | null = null;
  const credits = new Credits({
    store: {
      ...store,
      ask: async (asked) => {
        const answer = await store.ask(asked);
        if (deliver === null) await new Promise<void>((resolve) => (deliver = resolve));
        return answer;
      },
    },
    monotonicMs: () => 0,
    passedMs: () => 0,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
  const first = await credits.open();
  const holding = credits.hold(account, { minNanoUsd: 20n, maxNanoUsd: 20n });
  await expect.poll(() => deliver).not.toBeNull();
  database.releaseAll("node");
  await credits.renew();
  (deliver as (() => void) | null)?.();
  const hold = await holding;
  expect(hold.spender).not.toBe(first);
  expect(hold.spender).toBe(credits.spender);
  expect(database.reservedOf(account)).toBe(20n);
});

it("requests whose spender is closed before their ask arrives hold credit of the next one", async () => {
  let nowMs = 0;
  const database = new CreditDatabase(() => nowMs);
  const store = database.storeOf("node");
  const account = crypto.randomUUID() as AccountId;
  database.grant(account, 60n);
  let onAsk = () => void database.releaseAll("node");
  const credits = new Credits({
    store: {
      ...store,
      ask: async (asked) => {
        onAsk();
        onAsk = () => {};
        return store.ask(asked);
      },
    },
    monotonicMs: () => nowMs,
    passedMs: () => nowMs,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
  const first = await credits.open();
  const range = { minNanoUsd: 20n, maxNanoUsd: 20n };
  const holds = await Promise.all([1, 2, 3].map(() => credits.hold(account, range)));
  expect(credits.spender).not.toBe(first);
  expect(holds.map(({ spender }) => spender)).toEqual(Array(3).fill(credits.spender));
  expect(credits.outstanding()).toEqual({ holds: 3, nanoUsd: 60n });
  expect(database.reservedOf(account)).toBe(60n);
  for (const hold of holds) hold.settle(0n);
  // A release that comes too late has nothing left to do.
  nowMs += 11 * 60_000;
  await credits.renew();
  onAsk = () => void database.releaseAll("node");
  await credits.releaseIdle();
  expect(credits.spender).toBeNull();
  expect((await credits.hold(account, range)).amountNanoUsd).toBe(20n);
});

it("the spender of a node that stops is closed once all its charges are in the database, and not before", async () => {
  const database = new CreditDatabase(() => 0);
  const account = crypto.randomUUID() as AccountId;
  database.grant(account, 20n);
  const credits = new Credits({
    store: database.storeOf("node"),
    monotonicMs: () => 0,
    passedMs: () => 0,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
  const spender = await credits.open();
  (await credits.hold(account, { minNanoUsd: 20n, maxNanoUsd: 20n })).settle(20n);
  await credits.stop();
  expect([...database.spenders.keys()]).toEqual([spender]);
  expect(database.reservedOf(account)).toBe(20n);
  credits.committed([{ spender }]);
  await credits.stop();
  expect(database.spenders.size).toBe(0);
});

describe("a spender that was replaced after a day", () => {
  const DAY_MS = 24 * 3_600_000;
  const account = crypto.randomUUID() as AccountId;
  let nowMs: number;
  let database: CreditDatabase;
  let closes: number;
  let credits: Credits;

  beforeEach(() => {
    [nowMs, closes] = [0, 0];
    database = new CreditDatabase(() => nowMs);
    database.grant(account, 100n);
    const store = database.storeOf("node");
    const closeBelow = async (id: SpenderId) => {
      closes++;
      return store.closeBelow(id);
    };
    credits = new Credits({
      store: { ...store, closeBelow },
      monotonicMs: () => nowMs,
      passedMs: () => nowMs,
      maxDisconnectedMs: null,
      owesEntries: () => false,
    });
  });

  /** Replaces the spender of this start, from which nothing older is left. @returns both, and a hold of the first. */
  async function replaced() {
    const first = await credits.open();
    await credits.closeOlder();
    const hold = await credits.hold(account, { minNanoUsd: 10n, maxNanoUsd: 10n });
    nowMs += DAY_MS;
    await credits.renew();
    expect(credits.spender).toBe(first);
    nowMs += 1;
    await credits.renew();
    expect(credits.spender).not.toBe(first);
    return { first, second: credits.spender, hold };
  }

  it("is closed once its requests have ended and their entries are in the database, and only then", async () => {
    const { first, second, hold } = await replaced();
    const open = async () => {
      await credits.closeDrained();
      return [...database.spenders.keys()];
    };
    expect(await open()).toEqual([first, second]);
    hold.settle(4n);
    expect(await open()).toEqual([first, second]);
    credits.committed([{ spender: hold.spender ?? undefined }]);
    expect(await open()).toEqual([second]);
    // The database is not asked again when there is nothing to close.
    const before = closes;
    await open();
    expect(closes).toBe(before);
  });

  it("is closed with the one after it when the node stops", async () => {
    const { hold } = await replaced();
    hold.settle(0n);
    await credits.stop();
    expect(database.spenders.size).toBe(0);
    expect(database.reservedOf(account)).toBe(0n);
  });
});
