import { pino } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { entryClock } from "../../server/src/audit/entry-clock.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { openClocks } from "../../server/src/start/clocks.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.UTC(2026, 10, 25, 12);

/** What the database's clock and the node's show, and what the clock of the node that never jumps does. */
let databaseMs: number;
let nodeMs: number;
let monotonicMs: number;
let clocks: ReturnType<typeof openClocks>;
let timeOfEntry: () => number;

beforeEach(() => {
  [databaseMs, nodeMs, monotonicMs] = [START_MS, START_MS, 0];
  clocks = openClocks({
    databaseNow: async () => new Date(databaseMs),
    now: () => new Date(nodeMs),
    monotonicMs: () => monotonicMs,
    log: pino({ level: "silent" }),
  });
  const { databaseMs: counted, latestMs } = clocks;
  timeOfEntry = entryClock({
    plans: BUILT_IN_PLANS,
    nowMs: () => nodeMs,
    databaseMs: counted,
    latestMs,
    newestDeletedMs: null,
  });
});

describe("the time of an entry", () => {
  it("is the node's, with a clock that is right", async () => {
    expect(timeOfEntry()).toBe(nodeMs);
    await clocks.compare();
    nodeMs += 60_000;
    expect(timeOfEntry()).toBe(nodeMs);
  });

  it("is the database's, with a clock that is known to be ahead", async () => {
    nodeMs += 8 * HOUR_MS;
    await clocks.compare();
    expect(timeOfEntry()).toBe(databaseMs);
    monotonicMs += 1_000;
    expect(timeOfEntry()).toBe(databaseMs + 1_000);
  });

  it("is a day ahead at most, with a clock that has jumped", async () => {
    await clocks.compare();
    nodeMs += 400 * DAY_MS;
    expect(timeOfEntry()).toBe(databaseMs + DAY_MS);
    await clocks.compare();
    expect(timeOfEntry()).toBe(databaseMs);
  });

  it("is right when the computer was asleep for hours", async () => {
    await clocks.compare();
    databaseMs += 10 * HOUR_MS;
    nodeMs += 10 * HOUR_MS;
    expect(timeOfEntry()).toBe(nodeMs);
  });

  it("is within the retention of all plans, with a clock that is far behind", async () => {
    nodeMs -= 400 * DAY_MS;
    await clocks.compare();
    expect(timeOfEntry()).toBeGreaterThan(databaseMs - 30 * DAY_MS);
  });
});
