import process from "node:process";
import { describe, expect, it } from "vitest";
import { explore, type Harm, walk } from "./credit-model/explore.ts";
import { FAULTS, type FaultName } from "./credit-model/faults.ts";
import { SCOPES, type ScopeName, SMALL_SCOPES } from "./credit-model/scopes.ts";

// The protocol by which nodes spend credit, as a model of which every state can be looked at. By default small scopes are
// explored, which takes half a minute; `OSTIARY_TEST_CREDIT_MODEL=whole` explores the whole ones and walks much longer.

const IS_WHOLE = process.env.OSTIARY_TEST_CREDIT_MODEL === "whole";
const MAX_STATES = 1_000_000;
const WALK_STEPS = 300;
const WALKS = IS_WHOLE ? 2_000 : 30;
const TIMEOUT_MS = 20 * 60_000;

const scopes = IS_WHOLE ? SCOPES : SMALL_SCOPES;
const names = Object.keys(SCOPES) as ScopeName[];
const NONE: ReadonlySet<FaultName> = new Set();

/** @returns the first harm that random walks come by. */
function walkFar(faults: ReadonlySet<FaultName>): Harm | null {
  for (let done = 0; done < WALKS; done++) {
    const harm = walk(1_000_003 + done * 7_919, WALK_STEPS, faults);
    if (harm !== null) return harm;
  }
  return null;
}

describe("the credit protocol", () => {
  it.each(names)(
    'keeps its invariants in every state of the scope "%s"',
    (name) => {
      const { states, isCut, harm } = explore(scopes[name], NONE, MAX_STATES);
      expect(harm).toBeNull();
      expect(isCut).toBe(false);
      expect(states).toBeGreaterThan(1_000);
    },
    TIMEOUT_MS,
  );

  it("keeps its invariants in long random walks", () => expect(walkFar(NONE)).toBeNull(), TIMEOUT_MS);
});

describe("the checker of the credit protocol", () => {
  it.each(Object.keys(FAULTS) as FaultName[])(
    "catches the fault %s",
    (name) => {
      const faults = new Set([name]);
      const { scope } = FAULTS[name];
      // Some faults need more than the bounds of a scope allow: walks go further.
      const harm = explore(scopes[scope], faults, MAX_STATES).harm ?? walkFar(faults);
      expect(harm?.trace.length).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
