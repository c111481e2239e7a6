import { describe, expect, it, vi } from "vitest";

vi.mock("lru-cache", async (real) => (await import("./world/small-caches.ts")).smallCaches(await real()));

import { type Scenario, violationWithFault } from "./scenario/check.ts";
import * as scenarios from "./scenario/scenarios.ts";
import { REINTRODUCED_FAULTS, type ReintroducedFault } from "./stores/reintroduced-faults.ts";

const SEED = 1;
const MAX_RUNS = 2_000;

/** In which scenarios each fault shows. */
const WHERE: Readonly<Record<ReintroducedFault, readonly Scenario[]>> = {
  "reserves lapse": [scenarios.NODES_DIE, scenarios.PROCESSES_STAND_STILL_FOR_LONG],
  "asks have no numbers": [scenarios.STATEMENTS_ARE_LATE],
  "answers commit apart": [scenarios.KEYS_AND_CRASHES],
  "entries are charged again": [scenarios.STATEMENTS_ARE_LATE],
  "asks tell no charges": [scenarios.DATABASE_IS_RESTORED],
  "repeated answers stay reserved": [scenarios.KEYS_ARE_ANSWERED_TWICE],
  "times ahead last": [scenarios.DATABASE_CLOCK_IS_WRONG],
  "jumps end leases": [scenarios.DATABASE_CLOCK_JUMPS],
  "lost slots stay lost": [scenarios.REDIS_FORGETS, scenarios.REDIS_IS_CUT_OFF],
  "lost counts stay lost": [scenarios.REDIS_FORGETS_COUNTS],
  "admissions have an old epoch": [scenarios.REDIS_FORGETS_EPOCHS],
  "locked accounts hold up others": [scenarios.ACCOUNTS_ARE_LOCKED, scenarios.NODES_START_BESIDE_LOCKS],
  "closes hold up others": [scenarios.NODES_START_BESIDE_LOCKS],
  "late admissions take slots": [scenarios.REDIS_ANSWERS_ARE_LOST],
};

describe("the simulation detects a reintroduced fault", { timeout: 600_000 }, () => {
  it.each(Object.keys(REINTRODUCED_FAULTS) as ReintroducedFault[])("%s", async (fault) => {
    for (const scenario of WHERE[fault]) {
      const found = await violationWithFault({ ...scenario, runs: MAX_RUNS }, fault, SEED);
      expect(found, REINTRODUCED_FAULTS[fault]).not.toBeNull();
    }
  });
});
