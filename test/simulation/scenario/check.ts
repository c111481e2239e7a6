import process from "node:process";
import fc from "fast-check";
import type { ReintroducedFault } from "../stores/reintroduced-faults.ts";
import { type Menu, schedulesOf } from "./arbitrary.ts";
import type { Rules } from "./rules.ts";
import { inWords, type Schedule } from "./schedule.ts";
import { Simulation } from "./simulation.ts";

/** So many schedules are tried for each test, instead of as many as it says. */
const RUNS = process.env.OSTIARY_TEST_SIMULATION_RUNS;
/** Where random schedules begin. Each run of the tests tries the same ones, so that a change is what makes a difference. */
const SEED = Number(process.env.OSTIARY_TEST_SIMULATION_SEED ?? 1);
/** Replays one schedule, as a failing test names it. */
const REPLAY = process.env.OSTIARY_TEST_SIMULATION_REPLAY;
/** Whether a failing test tells all that happened, and errors have stack traces. */
const IS_TRACED = process.env.OSTIARY_TEST_SIMULATION_TRACE === "1";

/** A kind of schedule, and what must hold in each of them. */
export interface Scenario {
  readonly menu: Menu;
  readonly rules: Rules;
  /** How many schedules are tried. */
  readonly runs: number;
}

/** What a check finds: nothing. */
export const NO_VIOLATION: readonly string[] = [];

/**
 * Tries random schedules.
 *
 * @returns the lines that describe the shortest schedule found in which something does not hold, and what replays it;
 * {@link NO_VIOLATION} when all hold.
 * @throws {Error} when a schedule can't be run, or when none was.
 */
export async function violationIn({ menu, rules, runs }: Scenario): Promise<readonly string[]> {
  const property = fc.asyncProperty(schedulesOf(menu), (schedule) => checkOne(schedule, rules));
  const [seed = SEED, path] = REPLAY?.split("/") ?? [];
  const details = await fc.check(property, {
    numRuns: RUNS === undefined ? runs : Number(RUNS),
    seed: Number(seed),
    ...(path === undefined ? {} : { path }),
  });
  if (!details.failed) {
    if (details.numRuns === 0) throw new Error("no schedule was tried");
    return NO_VIOLATION;
  }
  const [schedule] = details.counterexample ?? [];
  const broken = brokenBy(details.errorInstance);
  if (schedule === undefined) throw broken;
  const trace = IS_TRACED ? (await new Simulation(schedule, rules, true).run()).trace : [];
  return [
    broken.message,
    ...inWords(schedule).split("\n"),
    `Found in run ${details.numRuns}, made shorter ${details.numShrinks} times. The same again:`,
    `  OSTIARY_TEST_SIMULATION_REPLAY=${details.seed}/${details.counterexamplePath}`,
    `As a value: ${JSON.stringify(schedule)}`,
    ...trace,
  ];
}

/** Runs one schedule. @returns what does not hold in it; {@link NO_VIOLATION} when all holds. */
export async function violationOf(schedule: Schedule, rules: Rules): Promise<readonly string[]> {
  try {
    await checkOne(schedule, rules);
    return NO_VIOLATION;
  } catch (error) {
    return [brokenBy(error).message];
  }
}

/**
 * Tries random schedules, always the same ones, with a fault reintroduced into the stores.
 *
 * @returns what does not hold in the first of them that finds it; `null` when all hold.
 */
export async function violationWithFault(
  { menu, rules, runs }: Scenario,
  fault: ReintroducedFault,
  seed: number,
): Promise<{ readonly runs: number; readonly what: string } | null> {
  const faulty = { ...rules, faults: new Set([fault]) };
  const property = fc.asyncProperty(schedulesOf(menu), (schedule) => checkOne(schedule, faulty));
  const details = await fc.check(property, { numRuns: runs, seed, endOnFailure: true });
  if (!details.failed) return null;
  return { runs: details.numRuns, what: brokenBy(details.errorInstance).message };
}

/** Runs one schedule. @throws {BrokenInvariant} */
async function checkOne(schedule: Schedule, rules: Rules): Promise<void> {
  // An error that ends a run is a fault of the simulation. A traced run has its stack trace.
  const { violation } = await new Simulation(schedule, rules, IS_TRACED)
    .run()
    .catch(() => new Simulation(schedule, rules, true).run());
  if (violation !== null)
    throw new BrokenInvariant(
      `${violation.invariant}: ${violation.what}, ${(violation.atMs / 1_000).toFixed(3)} s after the beginning`,
    );
}

/** Something that must hold does not. */
class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}

/** The broken invariant that ended a run. @throws the error when it is another, which is a fault of the simulation. */
function brokenBy(error: unknown): BrokenInvariant {
  if (error instanceof BrokenInvariant) return error;
  throw error instanceof Error ? error : new Error("the run failed", { cause: error });
}
