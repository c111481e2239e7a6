import { type Action, type ActionName, actionsOf } from "./actions.ts";
import type { FaultName } from "./faults.ts";
import { harmAfterQuiet, harmIn } from "./invariants.ts";
import { perform } from "./perform.ts";
import { type Scope, WALK } from "./scopes.ts";
import { begin, type State } from "./state.ts";
import { keyOf } from "./state-key.ts";
import { traceOf } from "./trace.ts";

/** In one state of so many it is looked whether everything drains from there: that takes much longer than the other checks. */
const QUIET_EVERY = 40;

export interface Harm {
  readonly what: string;
  /** What led to it, step by step, for people to read. */
  readonly trace: readonly string[];
}

export interface Exploration {
  readonly states: number;
  /** The longest way to a state. */
  readonly depth: number;
  /** Whether there were more states than were to be looked at. */
  readonly isCut: boolean;
  readonly harm: Harm | null;
}

/** Looks at every state of a scope, the nearest first, until there is harm: the way to it is the shortest. */
export function explore(scope: Scope, faults: ReadonlySet<FaultName>, maxStates: number): Exploration {
  const first = begin(scope, faults);
  const known = new Set([keyOf(first)]);
  // Of each state the one that it was reached from, and by which of its actions.
  const from = [-1];
  const by = [0];
  const wayTo = (state: number): readonly number[] => {
    const steps: number[] = [];
    for (let at = state; (from[at] ?? -1) >= 0; at = from[at] ?? -1) steps.unshift(by[at] ?? 0);
    return steps;
  };
  let level: (readonly [State, number])[] = [[first, 0]];
  let depth = 0;
  for (; ; depth++) {
    const next: (readonly [State, number])[] = [];
    for (const [state, at] of level) {
      for (const [which, action] of actionsOf(state).entries()) {
        const reached = perform(state, action);
        const key = keyOf(reached);
        if (known.has(key)) continue;
        const isQuietDue = faults.size === 0 && known.size % QUIET_EVERY === 0;
        const what = harmIn(reached) ?? (isQuietDue ? harmAfterQuiet(reached) : null);
        known.add(key);
        const states = known.size;
        if (what !== null)
          return {
            states,
            depth,
            isCut: false,
            harm: { what, trace: traceOf(first, [...wayTo(at), which]) },
          };
        if (states >= maxStates) return { states, depth, isCut: true, harm: null };
        by.push(which);
        next.push([reached, from.push(at) - 1]);
      }
    }
    if (next.length === 0) return { states: known.size, depth, isCut: false, harm: null };
    level = next;
  }
}

/** Taken less often in walks, so that a walk gets somewhere. */
const RARE: ReadonlySet<ActionName> = new Set<ActionName>([
  "crash",
  "die for good",
  "operator releases spender",
  "lapse of spender",
  "rotate",
  "lose",
  "cut",
  "lower",
  "forget what is held",
]);

/** Goes far out at random. @returns the harm that it came by; `null`: there was none. */
export function walk(seed: number, steps: number, faults: ReadonlySet<FaultName>): Harm | null {
  const below = xorshift(seed);
  const first = begin(WALK, faults);
  const taken: number[] = [];
  for (let state = first; ; ) {
    const all = actionsOf(state);
    let which = below(all.length);
    if (isRare(all[which]) && below(4) > 0) which = below(all.length);
    const action = all[which];
    if (action === undefined) throw new Error("nothing can happen any more");
    state = perform(state, action);
    const isLast = taken.push(which) === steps;
    const what = harmIn(state) ?? (isLast ? harmAfterQuiet(state) : null);
    if (what !== null) return { what, trace: traceOf(first, taken) };
    if (isLast) return null;
  }
}

function isRare(action: Action | undefined): boolean {
  return action !== undefined && RARE.has(action[0]);
}

/** Whole numbers from 0 up to, and without, an end. */
function xorshift(seed: number): (end: number) => number {
  let x = seed >>> 0 || 1;
  return (end) => {
    x ^= x << 13;
    x >>>= 0;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x % end;
  };
}
