import pino from "pino";
import { describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { Overload } from "../../server/src/overload/overload.ts";

const TICK_MS = 20;
const LARGE = "large" as AccountId;
const SMALL = "small" as AccountId;
/** Requests that come in each tick: more than the process serves. */
const MANY = 300;

/** An overloaded process of which nothing is left to accept, after a period in which only a large account sent requests. */
function overloaded(waitingOf: Partial<Record<AccountId, number>>): Overload {
  let nowMs = 0;
  const waiting = Object.values(waitingOf).reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const overload = new Overload({
    monotonicMs: () => nowMs,
    log: pino({ level: "silent" }),
    turnShares: {
      waiting,
      waitedMs: 300,
      waitingOf: (account: AccountId) => waitingOf[account] ?? 0,
      mayTurnsBeLong: false,
    },
  });
  for (let tick = 0; tick < 100; tick++) {
    nowMs += TICK_MS;
    overload.tick();
    for (let request = 0; request < MANY; request++) overload.refusalOnArrival(() => LARGE, true);
    for (let request = 0; request < 20; request++) overload.served();
  }
  expect(overload.isOverloaded).toBe(true);
  expect(overload.refusalOnArrival(() => LARGE, true)).not.toBeNull();
  return overload;
}

/** Whether it accepts a request of an account, or of a client whose key is not known (`null`). */
const accepts = (overload: Overload, account: AccountId | null) =>
  overload.refusalOnArrival(() => account, true) === null;

describe("an overloaded process whose backlog is full", () => {
  it("accepts a request of an account that has sent nothing, and none of a client without a known key", () => {
    const overload = overloaded({ [LARGE]: 1_000 });
    expect(accepts(overload, null)).toBe(false);
    expect(accepts(overload, SMALL)).toBe(true);
    expect(accepts(overload, null)).toBe(false);
  });

  it("accepts no request of an account that has more than its part of the backlog, though it has sent nothing lately", () => {
    expect(accepts(overloaded({ [LARGE]: 500, [SMALL]: 500 }), SMALL)).toBe(false);
    expect(accepts(overloaded({ [LARGE]: 999, [SMALL]: 1 }), SMALL)).toBe(true);
  });
});
