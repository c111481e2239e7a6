import { beforeEach, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { SpenderId } from "../../server/src/contract/ids.ts";
import type { CreditStore } from "../../server/src/credits/credit-store.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { releaseOfOthers, releaseOfUnseen } from "../../server/src/credits/spenders.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

const USD = 1_000_000_000n;
const ALL = { minNanoUsd: 10n * USD, maxNanoUsd: 10n * USD };
const HOUR_MS = 60 * 60_000;
const MAX_DISCONNECTED_MS = 20 * HOUR_MS;
const ACCOUNT = crypto.randomUUID() as AccountId;

let monotonicMs: number;
let passedMs: number;
let database: CreditDatabase;
let onAsked: () => void;
/** What happens while the database answers a heartbeat. */
let onHeartbeat: () => void;
let credits: Credits;

beforeEach(() => {
  [monotonicMs, passedMs] = [0, 0];
  database = new CreditDatabase(() => monotonicMs);
  database.grant(ACCOUNT, 10n * USD);
  onAsked = () => {};
  onHeartbeat = () => {};
  const store = database.storeOf("node");
  const watched: CreditStore = {
    ...store,
    ask: async (ask) => {
      const answer = await store.ask(ask);
      onAsked();
      return answer;
    },
    heartbeat: async (spenders) => {
      const news = await store.heartbeat(spenders);
      onHeartbeat();
      return news;
    },
  };
  credits = new Credits({
    store: watched,
    // It moves on by itself, so that a request asks again.
    monotonicMs: () => (monotonicMs += 100),
    passedMs: () => passedMs,
    maxDisconnectedMs: MAX_DISCONNECTED_MS,
    owesEntries: () => false,
  });
});

describe("a wall clock that is set ahead", () => {
  it("does not end the time for which a request waits for credit that another node has reserved", async () => {
    const other = database.open("other");
    const ask = { accountId: ACCOUNT, spender: other, extraNanoUsd: 0n };
    database.ask({ ...ask, number: 1n, targetNanoUsd: 5n * USD });
    let asks = 0;
    onAsked = () => {
      asks++;
      passedMs += HOUR_MS;
      if (asks === 2) database.ask({ ...ask, number: 2n, targetNanoUsd: 0n });
    };
    const hold = await credits.hold(ACCOUNT, ALL);
    expect(hold.amountNanoUsd).toBe(10n * USD);
    expect(asks).toBe(3);
  });

  it("counts as time without the database only until the database answers a heartbeat", async () => {
    (await credits.hold(ACCOUNT, ALL)).settle(0n);
    passedMs += MAX_DISCONNECTED_MS + 1;
    expect(credits.holdAtOnce(ACCOUNT, ALL)).toBeNull();
    await expect(credits.hold(ACCOUNT, ALL)).rejects.toMatchObject({ code: "server_is_overloaded" });
    await credits.renew();
    expect(credits.holdAtOnce(ACCOUNT, ALL)?.amountNanoUsd).toBe(10n * USD);
  });
});

describe("an answer to a heartbeat that comes late", () => {
  it("tells that the node was seen when it asked, and not that its reserves exist still", async () => {
    (await credits.hold(ACCOUNT, ALL)).settle(0n);
    onHeartbeat = () => {
      passedMs += MAX_DISCONNECTED_MS + 1;
    };
    await credits.renew();
    expect(credits.holdAtOnce(ACCOUNT, ALL)).toBeNull();
    onHeartbeat = () => {};
    await credits.renew();
    expect(credits.holdAtOnce(ACCOUNT, ALL)?.amountNanoUsd).toBe(10n * USD);
  });
});

describe("the credit of nodes that are absent", () => {
  it("is released although that of one can't be, which is tried again", async () => {
    const [locked, free] = [1n as SpenderId, 2n as SpenderId];
    let isLocked = true;
    const released: SpenderId[] = [];
    const release = releaseOfUnseen({
      store: {
        listUnseen: async () => [locked, free].map((id) => ({ id, seenAt: new Date(0) })),
        releaseUnseen: async (id) => {
          if (id === locked && isLocked) throw new Error("an account is locked");
          return true;
        },
      },
      unseenMs: 24 * HOUR_MS,
      monotonicMs: () => monotonicMs,
      onReleased: (id) => released.push(id),
    });
    await release();
    monotonicMs += 120_000;
    await expect(release()).rejects.toThrow("an account is locked");
    expect(released).toEqual([free]);
    isLocked = false;
    await release();
    expect(released).toEqual([free, locked]);
  });
});

describe("the credit of nodes that were taken over", () => {
  it("is released once of each, although that of one can't be, which is tried again", async () => {
    const [locked, free, late] = [1n as SpenderId, 2n as SpenderId, 3n as SpenderId];
    let others = [locked, free];
    let isLocked = true;
    const tried: SpenderId[] = [];
    const release = await releaseOfOthers(
      {
        others: async () => others,
        release: async (id) => {
          tried.push(id);
          if (id === locked && isLocked) throw new Error("an account is locked");
        },
      },
      "other nodes have ended",
    );
    // It has started after the take-over.
    others = [locked, free, late];
    await expect(release()).rejects.toThrow("an account is locked");
    expect(tried).toEqual([locked, free]);
    isLocked = false;
    await release();
    expect(tried).toEqual([locked, free, locked]);
    await release();
    expect(tried).toEqual([locked, free, locked]);
  });
});

describe("the clock of the database, set ahead", () => {
  it("releases credit of no node that another one has not watched unchanged for two minutes", async () => {
    const spender = 1n as SpenderId;
    let seenAt = new Date(0);
    const released: SpenderId[] = [];
    const release = releaseOfUnseen({
      store: {
        listUnseen: async () => [{ id: spender, seenAt }],
        releaseUnseen: async () => true,
      },
      unseenMs: 24 * HOUR_MS,
      monotonicMs: () => monotonicMs,
      onReleased: (id) => released.push(id),
    });
    const releaseAfter = async (ms: number) => {
      monotonicMs += ms;
      await release();
    };
    await releaseAfter(0);
    await releaseAfter(119_999);
    // The node was seen meanwhile.
    seenAt = new Date(1);
    await releaseAfter(1);
    await releaseAfter(119_999);
    expect(released).toEqual([]);
    await releaseAfter(1);
    expect(released).toEqual([spender]);
  });
});
