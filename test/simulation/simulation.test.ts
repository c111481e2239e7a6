import { describe, it, vi } from "vitest";

vi.mock("lru-cache", async (real) => (await import("./world/small-caches.ts")).smallCaches(await real()));

import { checkAll } from "./scenario/check.ts";
import * as scenarios from "./scenario/scenarios.ts";

const TIMEOUT_MS = 600_000;

// The code of the server on simulated stores, networks and clocks, under random schedules. `scenario/referee.ts` lists what
// must hold, `scenario/scenarios.ts` what happens in each of these. A failing schedule is made shorter and printed with what
// replays it. OSTIARY_TEST_SIMULATION_RUNS tries more of them, OSTIARY_TEST_SIMULATION_SEED others.
describe("money, admission and limits are right", { timeout: TIMEOUT_MS }, () => {
  it("when nothing happens", () => checkAll(scenarios.NOTHING_HAPPENS));
  it("when nodes crash", () => checkAll(scenarios.NODES_DIE));
  it("when nodes are cut off from the database", () => checkAll(scenarios.NODES_ARE_CUT_OFF));
  it("when the database is away", () => checkAll(scenarios.DATABASE_IS_AWAY));
  it("when statements arrive late", () => checkAll(scenarios.STATEMENTS_ARE_LATE));
  it("when nodes crash that answer requests with idempotency keys", () =>
    checkAll(scenarios.KEYS_AND_CRASHES));
  it("when messages are lost, and no request is refused for lack of credit that exists", () =>
    checkAll(scenarios.CREDIT_IS_THERE));
  it("when the database does not answer, and every request is answered in time", () =>
    checkAll(scenarios.DATABASE_DOES_NOT_ANSWER));
  it("when answers of Redis are lost", () => checkAll(scenarios.REDIS_ANSWERS_ARE_LOST));
  it("when Redis forgets everything", () => checkAll(scenarios.REDIS_FORGETS));
  it("when nodes are cut off from Redis while they send long answers", () =>
    checkAll(scenarios.REDIS_IS_CUT_OFF));
  it("when keys are revoked amid faults", () => checkAll(scenarios.KEYS_ARE_REVOKED));
  it("when anything may happen", () => checkAll(scenarios.ANYTHING_HAPPENS));
});
