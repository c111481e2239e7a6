import { describe, expect, it, vi } from "vitest";

vi.mock("lru-cache", async (real) => (await import("./world/small-caches.ts")).smallCaches(await real()));

import { type Scenario, violationWithFault } from "./scenario/check.ts";
import * as scenarios from "./scenario/scenarios.ts";
import { REINTRODUCED_FAULTS, type ReintroducedFault } from "./stores/reintroduced-faults.ts";

const MAX_RUNS = 2_000;

/** Where random schedules begin that show a fault. */
interface Place {
  readonly scenario: Scenario;
  readonly seed: number;
}

/** `seed`: one with which few schedules have to be tried, where it takes many with the first seed. */
function within(scenario: Scenario, seed = 1): Place {
  return { scenario, seed };
}

/** In which scenarios each fault shows. */
const WHERE: Readonly<Record<ReintroducedFault, readonly Place[]>> = {
  "reserves lapse": [within(scenarios.NODES_DIE), within(scenarios.PROCESSES_STAND_STILL_FOR_LONG, 10)],
  "asks have no numbers": [within(scenarios.STATEMENTS_ARE_LATE)],
  "answers commit apart": [within(scenarios.KEYS_AND_CRASHES)],
  "entries are charged again": [within(scenarios.STATEMENTS_ARE_LATE)],
  "asks tell no charges": [within(scenarios.DATABASE_IS_RESTORED, 2)],
  "repeated answers stay reserved": [within(scenarios.KEYS_ARE_ANSWERED_TWICE)],
  "times ahead last": [within(scenarios.DATABASE_CLOCK_IS_WRONG, 8)],
  "jumps end leases": [within(scenarios.DATABASE_CLOCK_JUMPS)],
  "lost slots stay lost": [within(scenarios.REDIS_FORGETS), within(scenarios.REDIS_IS_CUT_OFF)],
  "lost counts stay lost": [within(scenarios.REDIS_FORGETS_COUNTS)],
  "admissions have an old epoch": [within(scenarios.REDIS_FORGETS_EPOCHS)],
  "locked accounts hold up others": [
    within(scenarios.ACCOUNTS_ARE_LOCKED),
    within(scenarios.NODES_START_BESIDE_LOCKS),
  ],
  "closes hold up others": [within(scenarios.NODES_START_BESIDE_LOCKS)],
  "late admissions take slots": [within(scenarios.REDIS_ANSWERS_ARE_LOST)],
};

describe("the simulation detects a reintroduced fault", { timeout: 600_000 }, () => {
  it.each(Object.keys(REINTRODUCED_FAULTS) as ReintroducedFault[])("%s", async (fault) => {
    for (const { scenario, seed } of WHERE[fault]) {
      const found = await violationWithFault({ ...scenario, runs: MAX_RUNS }, fault, seed);
      expect(found, REINTRODUCED_FAULTS[fault]).not.toBeNull();
    }
  });
});
