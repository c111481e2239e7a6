import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { backgroundJobs } from "../../server/src/start/background-jobs.ts";

const MINUTE_MS = 60_000;

describe("the background jobs of a node", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("that are due every hour run soon after the start, too, as nodes may be replaced every hour", async () => {
    const jobs = backgroundJobs(pino({ level: "silent" }));
    const runs = { hourly: 0, often: 0 };
    jobs.add(
      { name: "hourly", everyMs: 60 * MINUTE_MS, run: async () => runs.hourly++ },
      { name: "often", everyMs: MINUTE_MS, run: async () => runs.often++ },
    );
    jobs.start();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(runs).toEqual({ hourly: 0, often: 1 });
    await vi.advanceTimersByTimeAsync(9 * MINUTE_MS);
    expect(runs).toEqual({ hourly: 1, often: 10 });
    await vi.advanceTimersByTimeAsync(50 * MINUTE_MS);
    expect(runs).toEqual({ hourly: 2, often: 60 });
    await jobs.stop();
  });

  it("do not run any more once they were stopped", async () => {
    const jobs = backgroundJobs(pino({ level: "silent" }));
    const run = vi.fn(async () => {});
    jobs.add({ name: "hourly", everyMs: 60 * MINUTE_MS, run });
    jobs.start();
    await jobs.stop();
    await vi.advanceTimersByTimeAsync(120 * MINUTE_MS);
    expect(run).not.toHaveBeenCalled();
  });
});
