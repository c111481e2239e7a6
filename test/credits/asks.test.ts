import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { Ask } from "../../server/src/credits/credit-store.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

const USD = 1_000_000_000n;
/** How long the database takes to answer an ask, unless a test says otherwise. */
const ASK_MS = 1_000;

let askMs: number;
let isFailing: boolean;
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
  askMs = ASK_MS;
  isFailing = false;
  const store = database.storeOf("node");
  credits = new Credits({
    store: {
      ...store,
      ask: async (ask) => {
        asks.push(ask);
        await new Promise((resolve) => setTimeout(resolve, askMs));
        if (isFailing) throw new Error("the database is away");
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
    credits.forgetShortage(account);
    expect(await holdTogether(1)).toEqual(["held"]);
  });
});

describe("a request that waits for one ask after another", () => {
  it("waits no longer than for one", async () => {
    askMs = 4_500;
    database.grant(account, USD);
    const range = { minNanoUsd: 2n * USD, maxNanoUsd: 2n * USD };
    const outcomeOf = (hold: Promise<unknown>) => {
      const beganMs = performance.now();
      return hold.then(
        () => "held",
        (failure) => [failure.code ?? failure.name, performance.now() - beganMs],
      );
    };
    const first = outcomeOf(credits.hold(account, range));
    await vi.advanceTimersByTimeAsync(100);
    // The ask that is under way was sent before it came, and so can't refuse it.
    const second = outcomeOf(credits.hold(account, range));
    await vi.runAllTimersAsync();
    expect(await first).toEqual(["credit_balance_exhausted", 4_500]);
    expect(await second).toEqual(["Unavailable", 5_000]);
    expect(asks).toHaveLength(2);
  });
});

describe("requests of an account whose ask has failed", () => {
  it("fail at once for a second, and then one of them asks again", async () => {
    database.grant(account, 10n * USD);
    askMs = 0;
    const hold = async () => {
      const holding = credits.hold(account, { minNanoUsd: USD, maxNanoUsd: USD }).then(
        () => "held",
        (error: Error) => error.message,
      );
      await vi.advanceTimersByTimeAsync(0);
      return holding;
    };
    isFailing = true;
    for (let request = 0; request < 5; request++) expect(await hold()).toBe("the database is away");
    isFailing = false;
    await vi.advanceTimersByTimeAsync(999);
    expect(await hold()).toBe("the database is away");
    expect(asks).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await hold()).toBe("held");
    expect(asks).toHaveLength(2);
  });
});

describe("a node that reserves more before it needs it", () => {
  it("asks once a second while the database fails", async () => {
    database.grant(account, 20n * USD);
    const first = credits.hold(account, { minNanoUsd: USD, maxNanoUsd: USD });
    await vi.runAllTimersAsync();
    (await first).settle(USD);
    asks.length = 0;
    isFailing = true;
    askMs = 0;
    // Each leaves less than a half of the usual extra, which is 1 USD.
    const range = { minNanoUsd: 600_000_000n, maxNanoUsd: 600_000_000n };
    for (let request = 0; request < 20; request++) {
      credits.holdAtOnce(account, range)?.settle(0n);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(asks).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    credits.holdAtOnce(account, range)?.settle(0n);
    expect(asks).toHaveLength(2);
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
