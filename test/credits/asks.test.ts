import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Ask } from "../../server/src/credits/credit-store.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

const USD = 1_000_000_000n;
/** How long the database takes to answer an ask. */
const ASK_MS = 1_000;

let database: CreditDatabase;
let credits: Credits;
let account: AccountId;
let asks: Ask[];

beforeEach(() => {
  vi.useFakeTimers();
  const nowMs = () => performance.now();
  database = new CreditDatabase(nowMs);
  account = crypto.randomUUID() as AccountId;
  asks = [];
  const store = database.storeOf("node");
  credits = new Credits({
    store: {
      ...store,
      ask: async (ask) => {
        asks.push(ask);
        await new Promise((resolve) => setTimeout(resolve, ASK_MS));
        return store.ask(ask);
      },
    },
    monotonicMs: nowMs,
    passedMs: nowMs,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Requests that come together, each of which needs more than what is granted beyond an ask. */
async function holdTogether(requests: number): Promise<readonly string[]> {
  const range = { minNanoUsd: 2n * USD, maxNanoUsd: 2n * USD };
  const outcomes = Array.from({ length: requests }, () =>
    credits.hold(account, range).then(
      () => "held",
      (error: Error) => error.message,
    ),
  );
  await vi.runAllTimersAsync();
  return Promise.all(outcomes);
}

describe("requests that wait for one account's credit", () => {
  it("share the asks, so that all are answered in time by a slow database", async () => {
    database.grant(account, 1_000n * USD);
    expect(await holdTogether(50)).toEqual(Array(50).fill("held"));
    expect(asks.length).toBeLessThanOrEqual(3);
    expect(credits.outstanding().nanoUsd).toBe(100n * USD);
    // No more was asked for than what they need, and the usual extra.
    expect(database.reservedOf(account)).toBeLessThanOrEqual(101n * USD);
  });

  it("get what there is, and the others are refused", async () => {
    database.grant(account, 21n * USD);
    const outcomes = await holdTogether(15);
    expect(outcomes.filter((outcome) => outcome === "held")).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome.includes("credit does not cover"))).toHaveLength(5);
    expect(await holdTogether(1)).toEqual([expect.stringContaining("credit does not cover")]);
    database.grant(account, 2n * USD);
    credits.granted(account);
    expect(await holdTogether(1)).toEqual(["held"]);
  });
});

describe("a hold", () => {
  it("is settled once, whatever it is told afterwards", async () => {
    database.grant(account, 1_000n * USD);
    const range = { minNanoUsd: USD, maxNanoUsd: USD };
    const holding = credits.hold(account, range);
    await vi.runAllTimersAsync();
    const hold = await holding;
    expect(credits.outstanding()).toEqual({ holds: 1, nanoUsd: USD });
    hold.settle(USD / 2n);
    hold.settle(0n);
    expect(credits.outstanding()).toEqual({ holds: 0, nanoUsd: 0n });
  });

  it("asks for no amount that the database can't count", async () => {
    database.grant(account, USD);
    const max = 2n ** 70n;
    const holding = credits.hold(account, { minNanoUsd: max, maxNanoUsd: max }).catch(({ code }) => code);
    await vi.runAllTimersAsync();
    expect(await holding).toBe("credit_balance_exhausted");
    for (const { targetNanoUsd, extraNanoUsd } of asks)
      expect(targetNanoUsd + extraNanoUsd).toBeLessThan(2n ** 63n);
  });
});
