import { describe, expect, it, vi } from "vitest";

vi.mock("lru-cache", async (real) => (await import("./world/small-caches.ts")).smallCaches(await real()));

import { NO_VIOLATION, type Scenario, violationIn } from "./scenario/check.ts";
import * as scenarios from "./scenario/scenarios.ts";

const TIMEOUT_MS = 600_000;

// The code of the server on simulated stores, networks and clocks, under random schedules. `scenario/invariants.ts` lists what
// must hold, `scenario/scenarios.ts` what happens in each of these. A failing schedule is made shorter and printed with what
// replays it. OSTIARY_TEST_SIMULATION_RUNS tries more of them, OSTIARY_TEST_SIMULATION_SEED others.
const SCENARIOS: readonly (readonly [when: string, scenario: Scenario])[] = [
  ["when nothing happens", scenarios.NOTHING_HAPPENS],
  ["when nodes crash", scenarios.NODES_DIE],
  ["when nodes are cut off from the database", scenarios.NODES_ARE_CUT_OFF],
  ["when the database is away", scenarios.DATABASE_IS_AWAY],
  ["when statements arrive late", scenarios.STATEMENTS_ARE_LATE],
  ["when nodes crash that answer requests with idempotency keys", scenarios.KEYS_AND_CRASHES],
  ["when the close of a spender is interrupted", scenarios.CLOSES_ARE_INTERRUPTED],
  ["when processes stand still", scenarios.PROCESSES_STAND_STILL],
  ["when processes stand still for long", scenarios.PROCESSES_STAND_STILL_FOR_LONG],
  ["when the credit of nodes is released", scenarios.CREDIT_IS_RELEASED],
  ["when idempotency keys are answered twice", scenarios.KEYS_ARE_ANSWERED_TWICE],
  ["when disks are full", scenarios.DISKS_ARE_FULL],
  ["when the database is restored", scenarios.DATABASE_IS_RESTORED],
  ["when accounts are locked for long", scenarios.ACCOUNTS_ARE_LOCKED],
  ["when nodes start while accounts are locked", scenarios.NODES_START_BESIDE_LOCKS],
  ["when the database's clock is wrong", scenarios.DATABASE_CLOCK_IS_WRONG],
  ["when the database's clock jumps ahead while keys are answered", scenarios.DATABASE_CLOCK_JUMPS],
  [
    "when messages are lost, and no request is refused for lack of credit that exists",
    scenarios.CREDIT_IS_THERE,
  ],
  ["when credit is granted to accounts whose requests are refused", scenarios.CREDIT_IS_GRANTED],
  [
    "when the database does not answer, and every request is answered in time",
    scenarios.DATABASE_DOES_NOT_ANSWER,
  ],
  ["when answers of Redis are lost", scenarios.REDIS_ANSWERS_ARE_LOST],
  ["when Redis forgets everything", scenarios.REDIS_FORGETS],
  ["when Redis forgets the requests of the last minute", scenarios.REDIS_FORGETS_COUNTS],
  ["when Redis forgets the epochs of accounts", scenarios.REDIS_FORGETS_EPOCHS],
  ["when nodes are cut off from Redis while they send long answers", scenarios.REDIS_IS_CUT_OFF],
  ["when keys are revoked amid faults", scenarios.KEYS_ARE_REVOKED],
  ["when anything may happen", scenarios.ANYTHING_HAPPENS],
];

describe("money, admission and limits are right", { timeout: TIMEOUT_MS }, () => {
  it.each(SCENARIOS)("%s", async (_, scenario) => {
    const violation = await violationIn(scenario);
    // As the message, too: there the schedule's value can be copied.
    expect(violation, violation.join("\n")).toEqual(NO_VIOLATION);
  });

  it("in every scenario that there is", () => {
    expect(new Set(SCENARIOS.map(([, scenario]) => scenario))).toEqual(new Set(Object.values(scenarios)));
  });
});
