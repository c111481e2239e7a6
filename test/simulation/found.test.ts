import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";

vi.mock("lru-cache", async (real) => (await import("./world/small-caches.ts")).smallCaches(await real()));

import { NO_VIOLATION, type Scenario, violationOf } from "./scenario/check.ts";
import * as scenarios from "./scenario/scenarios.ts";
import type { Schedule } from "./scenario/schedule.ts";

interface Found {
  /** Of `scenario/scenarios.ts`. */
  readonly scenario: string;
  /** What went wrong before it was mended. */
  readonly what: string;
  readonly schedule: Schedule;
}

const SCENARIOS = new Map<string, Scenario>(Object.entries(scenarios));
const FOUND: readonly Found[] = JSON.parse(
  readFileSync(new URL("./found-schedules.json", import.meta.url), "utf8"),
);

// Schedules in which something did not hold once, each as short as it could be made.
describe("a failure that a schedule once found", { timeout: 60_000 }, () => {
  it.each(FOUND)("does not happen again: $what", async ({ scenario, schedule }) => {
    const found = SCENARIOS.get(scenario);
    if (found === undefined) throw new Error(`there is no scenario ${scenario}`);
    expect(await violationOf(schedule, found.rules)).toEqual(NO_VIOLATION);
  });
});
