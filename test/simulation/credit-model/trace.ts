import { type Action, actionsOf } from "./actions.ts";
import { perform } from "./perform.ts";
import type { State } from "./state.ts";

/** Describes a run, one line for each step, with the database's state after it. `steps` holds the index of each action taken. */
export function traceOf(first: State, steps: readonly number[]): readonly string[] {
  let state = first;
  return steps.map((which, at) => {
    const action = actionsOf(state)[which];
    if (action === undefined) throw new Error(`nothing like that can happen in step ${at + 1}`);
    const what = inWords(state, action);
    state = perform(state, action);
    const spenders = state.db.spenders.map(({ id, granted, charged }) => `#${id} ${granted}-${charged}`);
    return `  ${String(at + 1).padStart(2)}. ${what.padEnd(78)} | free ${state.db.free}, ${spenders.join(" ")}`;
  });
}

function inWords({ net }: State, [name, about, ...rest]: Action): string {
  switch (name) {
    case "deliver":
    case "deliver, and once more later":
    case "lose": {
      const message = net[about];
      if (message === undefined) return name;
      const { text: _text, to, kind, node, incarnation: _incarnation, ...parts } = message;
      const whose = to === "db" ? `node ${node + 1}'s` : `to node ${node + 1}, answer to`;
      return `${name}: ${whose} ${kind} ${JSON.stringify(parts)}`;
    }
    case "operator releases spender":
    case "lapse of spender":
      return `${name} ${about}`;
    default:
      return `${name} node ${about + 1} ${rest.join(" ")}`;
  }
}
