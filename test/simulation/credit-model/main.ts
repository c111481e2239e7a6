// The checker as a command. It explores all scopes and walks at random; with a reintroduced fault it prints the shortest trace to a violation.
//   npx tsx test/simulation/credit-model/main.ts [--fault NAME] [--scope NAME] [--walks N] [--seed N] [--max-states N]
import process from "node:process";
import { parseArgs } from "node:util";
import { explore, walk } from "./explore.ts";
import { FAULTS, type FaultName } from "./faults.ts";
import { SCOPES, type ScopeName } from "./scopes.ts";

const WALK_STEPS = 300;

const { values } = parseArgs({
  options: {
    fault: { type: "string" },
    scope: { type: "string" },
    walks: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    "max-states": { type: "string", default: "1000000" },
  },
});

function isFault(name: string): name is FaultName {
  return name in FAULTS;
}

function isScope(name: string): name is ScopeName {
  return name in SCOPES;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** @returns whether there was harm. */
function check(): boolean {
  const { fault, scope } = values;
  if (fault !== undefined && !isFault(fault))
    throw new Error(`There is no fault ${fault}. There are ${Object.keys(FAULTS).join(", ")}.`);
  const faults = new Set(fault === undefined ? [] : [fault]);
  const likely = fault === undefined ? Object.keys(SCOPES) : [FAULTS[fault].scope];
  let states = 0;
  for (const name of scope === undefined ? likely : [scope]) {
    if (!isScope(name))
      throw new Error(`There is no scope ${name}. There are ${Object.keys(SCOPES).join(", ")}.`);
    const explored = explore(SCOPES[name], faults, Number(values["max-states"]));
    states += explored.states;
    const outcome = `depth ${explored.depth}, ${explored.isCut ? "cut short" : "all of them"}`;
    print(
      `${name.padEnd(8)} ${String(explored.states).padStart(8)} states, ${explored.harm?.what ?? outcome}`,
    );
    if (explored.harm !== null) {
      print(explored.harm.trace.join("\n"));
      return true;
    }
  }
  for (let done = 0; done < Number(values.walks); done++) {
    const harm = walk(Number(values.seed) * 1_000_003 + done * 7_919, WALK_STEPS, faults);
    if (harm === null) continue;
    print(`walk ${done}: ${harm.what}\n${harm.trace.slice(-60).join("\n")}`);
    return true;
  }
  print(`no harm in ${states} states and ${values.walks} walks`);
  return false;
}

const isHarmed = check();
process.exitCode = isHarmed === (values.fault !== undefined) ? 0 : 1;
