import process from "node:process";
import fc from "fast-check";
import type { ReintroducedFault } from "../stores/reintroduced-faults.ts";
import { type Menu, schedulesOf } from "./arbitrary.ts";
import { inWords, type Schedule } from "./schedule.ts";
import { type Rules, Simulation } from "./simulation.ts";

/** So many schedules are tried for each test, instead of as many as it says. */
const RUNS = process.env.OSTIARY_TEST_SIMULATION_RUNS;
/** Where random schedules begin. Each run of the tests tries the same ones, so that a change is what makes a difference. */
const SEED = Number(process.env.OSTIARY_TEST_SIMULATION_SEED ?? 1);
/** Replays one schedule, as a failing test names it. */
const REPLAY = process.env.OSTIARY_TEST_SIMULATION_REPLAY;
/** Whether a failing test tells all that happened. */
const IS_TRACED = process.env.OSTIARY_TEST_SIMULATION_TRACE === "1";

/** A kind of schedule, and what must hold in each of them. */
export interface Scenario {
  readonly menu: Menu;
  readonly rules: Rules;
  /** How many schedules are tried. */
  readonly runs: number;
}

/** Tries random schedules. @throws {Error} telling the shortest one found in which something does not hold. */
export async function checkAll({ menu, rules, runs }: Scenario): Promise<void> {
  const property = fc.asyncProperty(schedulesOf(menu), (schedule) => checkOne(schedule, rules));
  const [seed = SEED, path] = REPLAY?.split("/") ?? [];
  const details = await fc.check(property, {
    numRuns: RUNS === undefined ? runs : Number(RUNS),
    seed: Number(seed),
    ...(path === undefined ? {} : { path }),
  });
  if (!details.failed) return;
  const [schedule] = details.counterexample ?? [];
  const broken = details.errorInstance instanceof Error ? details.errorInstance : null;
  if (schedule === undefined || !(broken instanceof BrokenInvariant))
    throw broken ?? new Error("the run failed", { cause: details.errorInstance });
  const trace = IS_TRACED ? (await new Simulation(schedule, rules, true).run()).trace : [];
  throw new Error(
    [
      broken.message,
      inWords(schedule),
      `Found in run ${details.numRuns}, made shorter ${details.numShrinks} times. The same again:`,
      `  OSTIARY_TEST_SIMULATION_REPLAY=${details.seed}/${details.counterexamplePath}`,
      `As a value: ${JSON.stringify(schedule)}`,
      ...trace,
    ].join("\n"),
  );
}

/**
 * Tries random schedules, always the same ones, with a fault reintroduced into the stores.
 *
 * @returns what does not hold in the first of them that finds it; `null` when all hold.
 */
export async function findPutBack(
  { menu, rules, runs }: Scenario,
  fault: ReintroducedFault,
  seed: number,
): Promise<{ readonly runs: number; readonly what: string } | null> {
  const faulty = { ...rules, faults: new Set([fault]) };
  const property = fc.asyncProperty(schedulesOf(menu), (schedule) => checkOne(schedule, faulty));
  const details = await fc.check(property, { numRuns: runs, seed, endOnFailure: true });
  if (!details.failed) return null;
  const what = details.errorInstance instanceof Error ? details.errorInstance.message : "";
  return { runs: details.numRuns, what };
}

/** Runs one schedule. @throws {BrokenInvariant} */
export async function checkOne(schedule: Schedule, rules: Rules): Promise<void> {
  const { violation } = await new Simulation(schedule, rules).run();
  if (violation !== null)
    throw new BrokenInvariant(
      `${violation.invariant}: ${violation.what}, ${(violation.atMs / 1_000).toFixed(3)} s after the beginning`,
    );
}

/** Something that must hold does not. */
export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}
