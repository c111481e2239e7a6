import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { HoldRange } from "../../server/src/credits/allowance.ts";
import { Credits } from "../../server/src/credits/credits.ts";
import { CreditDatabase } from "../simulation/stores/credit-database.ts";

/** After this long without a heartbeat a node counts as absent. */
const ABSENT_MS = 61_000;

let database: CreditDatabase;
let account: AccountId;
let here: Credits;
let other: Credits;
let nowMs: () => number;
/** How many asks the database has answered. */
let asks: number;

beforeEach(async () => {
  vi.useFakeTimers();
  nowMs = () => performance.now();
  asks = 0;
  database = new CreditDatabase(nowMs);
  account = crypto.randomUUID() as AccountId;
  here = nodeNamed("here");
  other = nodeNamed("other");
  await Promise.all([here.open(), other.open()]);
});

afterEach(() => {
  vi.useRealTimers();
});

function nodeNamed(nodeId: string): Credits {
  const store = database.storeOf(nodeId);
  return new Credits({
    store: {
      ...store,
      ask: (asked) => {
        asks++;
        return store.ask(asked);
      },
    },
    monotonicMs: nowMs,
    passedMs: nowMs,
    maxDisconnectedMs: null,
    owesEntries: () => false,
  });
}

/** How a request for this much ends on this node, and how long it waits. */
async function ask(range: HoldRange): Promise<{ readonly outcome: string; readonly waitedMs: number }> {
  const beganMs = nowMs();
  const asked = here.hold(account, range).then(
    ({ amountNanoUsd }) => `held ${amountNanoUsd}`,
    (failure: { readonly code: string; readonly retryAfterMs: number | null }) =>
      failure.retryAfterMs === null ? failure.code : `${failure.code}, again in ${failure.retryAfterMs} ms`,
  );
  const ended = asked.then((outcome) => ({ outcome, waitedMs: nowMs() - beganMs }));
  await vi.runAllTimersAsync();
  return ended;
}

/** The other node answers a request for which it holds this much. */
const holdElsewhere = (amount: bigint) => other.hold(account, { minNanoUsd: amount, maxNanoUsd: amount });

describe("a request for which the account has too little", () => {
  const range = { minNanoUsd: 20n, maxNanoUsd: 100n };

  it("is refused with 402 at once, also while other nodes hold a part of the rest", async () => {
    database.grant(account, 19n);
    await holdElsewhere(10n);
    expect(await ask(range)).toEqual({ outcome: "credit_balance_exhausted", waitedMs: 0 });
  });

  it("is refused with 402 when a node that is absent holds the rest", async () => {
    database.grant(account, 19n);
    await holdElsewhere(19n);
    vi.advanceTimersByTime(ABSENT_MS);
    expect(await ask(range)).toEqual({ outcome: "credit_balance_exhausted", waitedMs: 0 });
  });
});

describe("requests of an account that has too little", () => {
  it("ask the database four times a second, however many they are", async () => {
    const range = { minNanoUsd: 20n, maxNanoUsd: 20n };
    for (let request = 0; request < 50; request++) await ask(range);
    expect(asks).toBe(4);
    for (let ms = 0; ms < 1_000; ms += 10) {
      vi.advanceTimersByTime(10);
      await ask(range);
    }
    expect(asks).toBe(8);
  });
});

describe("a request that is paid for in part", () => {
  it("keeps all that it holds reserved, however long it takes", async () => {
    database.grant(account, 100n);
    const hold = await here.hold(account, { minNanoUsd: 10n, maxNanoUsd: 500n });
    expect(hold.amountNanoUsd).toBe(100n);
    vi.advanceTimersByTime(60_000);
    await here.renew();
    await here.releaseIdle();
    expect(database.reservedOf(account)).toBe(100n);
  });
});

describe("requests that wait for credit which other nodes may release", () => {
  it("share their asks, whenever they came", async () => {
    const range = { minNanoUsd: 50n, maxNanoUsd: 50n };
    database.grant(account, 100n);
    await holdElsewhere(80n);
    asks = 0;
    const outcomes: Promise<string>[] = [];
    for (let request = 0; request < 20; request++) {
      outcomes.push(
        here.hold(account, range).then(
          () => "held",
          ({ code }) => code,
        ),
      );
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.runAllTimersAsync();
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["server_is_overloaded"]));
    // Each waits for 2.5 seconds, and one of them asks every quarter of a second.
    expect(asks).toBeLessThan(20);
  });
});

describe("credit that is granted after requests were refused for lack of it", () => {
  it("pays the next request, however many were refused just before", async () => {
    const range = { minNanoUsd: 20n, maxNanoUsd: 20n };
    database.grant(account, 1n);
    // More than ask the database within a second.
    for (let refused = 0; refused < 8; refused++)
      expect(await ask(range)).toEqual({ outcome: "credit_balance_exhausted", waitedMs: 0 });
    database.grant(account, 19n);
    here.forgetShortage(account);
    expect(await ask(range)).toEqual({ outcome: "held 20", waitedMs: 0 });
  });

  it("is asked for as often as before, when it is too little again", async () => {
    const range = { minNanoUsd: 20n, maxNanoUsd: 20n };
    database.grant(account, 1n);
    for (let refused = 0; refused < 8; refused++) await ask(range);
    database.grant(account, 1n);
    here.forgetShortage(account);
    // The first of them finds that it is too little. It may be granted more on another node, which this one is not told.
    await ask(range);
    database.grant(account, 18n);
    expect(await ask(range)).toEqual({ outcome: "held 20", waitedMs: 0 });
  });
});

describe("a request for which the account may have enough", () => {
  const range = { minNanoUsd: 20n, maxNanoUsd: 100n };

  it("waits for what running nodes may release, and is to be sent again", async () => {
    database.grant(account, 20n);
    await holdElsewhere(10n);
    const { outcome, waitedMs } = await ask(range);
    expect(outcome).toBe("server_is_overloaded, again in 1000 ms");
    expect(waitedMs).toBeGreaterThan(2_000);
  });

  it("is refused at once when only an absent node has reserved enough", async () => {
    database.grant(account, 39n);
    // With the usual extra of a tenth it reserves 33.
    await holdElsewhere(30n);
    vi.advanceTimersByTime(ABSENT_MS);
    const third = nodeNamed("third");
    await third.hold(account, { minNanoUsd: 6n, maxNanoUsd: 6n });
    expect(await ask(range)).toEqual({ outcome: "server_is_overloaded, again in 30000 ms", waitedMs: 0 });
  });
});
