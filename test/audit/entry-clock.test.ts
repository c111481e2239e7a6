import { pino } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { AuditLog } from "../../server/src/audit/audit-log.ts";
import type { PostgresAuditReader } from "../../server/src/audit/audit-reader.ts";
import type { AsOf } from "../../server/src/audit/cursor.ts";
import { entryClock } from "../../server/src/audit/entry-clock.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import type { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { Reads } from "../../server/src/database/reads.ts";
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

describe("a period of an export", () => {
  const account = "a" as AccountId;

  /** The last batch that is recorded. */
  let head: bigint;

  beforeEach(() => {
    head = 7n;
  });

  /** Exports the entries before a time. @returns how its cursors begin, and the snapshot that was read. */
  async function exportUpTo(toMs: number, cursor: string | null = null) {
    let start = "";
    let snapshot: bigint | null = null;
    const removed = { batches: 0n, upTo: null };
    const reader: Pick<PostgresAuditReader, "asOf" | "exportEntries" | "removed"> = {
      asOf: async () => head as AsOf,
      exportEntries: async ({ cursorStart, asOf }) => {
        start = cursorStart;
        snapshot = asOf;
        return { text: "", count: 0, last: null, searchedTo: null, removed };
      },
      removed: async () => removed,
    };
    const recorder: Pick<Recorder, "flush"> = { flush: async () => {} };
    const log = new AuditLog(
      reader as PostgresAuditReader,
      recorder as Recorder,
      new Reads(() => 0),
      clocks.closedUntilMs,
    );
    const filter = { ...filterOf({}), to: new Date(toMs) };
    const asked = { format: "ndjson", filter, cursor, isProved: false } as const;
    for await (const _ of await log.export(account, asked));
    return { start, snapshot };
  }

  /** Whether its cursors contain a snapshot, because later entries may still fall into it. */
  async function hasSnapshot(toMs: number): Promise<boolean> {
    const { start } = await exportUpTo(toMs);
    // The state of the log, and the digits of the selection.
    const [, state] = /^(7?)\d{20}~$/.exec(start) ?? [];
    expect(state).toBeDefined();
    return state === "7";
  }

  it("that has not passed keeps its snapshot when the export continues, also once it has passed", async () => {
    await clocks.compare();
    const entry = "01936ef4-0000-7000-8000-000000000000";
    const [open, passed] = [clocks.closedUntilMs() + HOUR_MS, clocks.closedUntilMs() - HOUR_MS];
    const [begun, begunLater] = [await exportUpTo(open), await exportUpTo(passed)];
    head = 9n;
    expect(await exportUpTo(open, `${begun.start}${entry}`)).toEqual(begun);
    expect(await exportUpTo(passed, `${begunLater.start}${entry}`)).toEqual({ ...begunLater, snapshot: 9n });
    databaseMs += 2 * HOUR_MS;
    nodeMs += 2 * HOUR_MS;
    await clocks.compare();
    expect(clocks.closedUntilMs()).toBeGreaterThan(open);
    expect(await exportUpTo(open, `${begun.start}${entry}`)).toEqual(begun);
  });

  it("has not passed before the clocks were compared", async () => {
    expect(await hasSnapshot(databaseMs - 1)).toBe(true);
  });

  it.each([
    ["right", 0],
    ["ahead", 8 * HOUR_MS],
    ["behind", -8 * HOUR_MS],
  ])("has passed by the database's clock and by the node's, which is %s", async (_, aheadMs) => {
    nodeMs += aheadMs;
    await clocks.compare();
    const closedUntilMs = Math.min(databaseMs, nodeMs);
    expect(await hasSnapshot(closedUntilMs)).toBe(false);
    expect(await hasSnapshot(closedUntilMs + 1)).toBe(true);
  });

  it("has not passed by a clock that has jumped ahead since", async () => {
    await clocks.compare();
    nodeMs += 8 * HOUR_MS;
    expect(await hasSnapshot(databaseMs + HOUR_MS)).toBe(true);
  });
});
