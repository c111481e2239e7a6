import type { Action } from "./actions.ts";
import { perform } from "./perform.ts";
import { NOTHING } from "./scopes.ts";
import { clone, nodeAt, rowOf, type State } from "./state.ts";

/** So many rounds of asking and answering bring everything to rest. */
const QUIET_ROUNDS = 12;

/** What does not hold in a state; `null`: everything holds. */
export function harmIn(state: State): string | null {
  const harm = loss(state) ?? unpaid(state);
  // With a fault reintroduced only actual losses count: the invariants that prevent them do not hold then.
  return harm ?? (state.faults.size > 0 ? null : brokenPromise(state));
}

/** Money that came from nowhere, or went. */
function loss({ db, credit, cost }: State): string | null {
  if (db.free < 0) return `the balance is overdrawn: free ${db.free}`;
  let aside = 0;
  for (const { id, granted, charged } of db.spenders) {
    if (charged < 0 || charged > granted) return `spender ${id}: charged ${charged} of ${granted}`;
    aside += granted - charged;
  }
  if (db.free + aside !== credit - db.collected)
    return `money came or went: free ${db.free}, set aside ${aside}, collected ${db.collected} of ${credit}`;
  const uncollected = db.uncollected + db.late + db.repeated;
  if (db.collected + uncollected !== cost)
    return `answers committed took ${cost}; in the ledger: collected ${db.collected}, uncollected ${uncollected}`;
  return null;
}

/** An answer that is not paid for. */
function unpaid({ db, over, seen, lost, nodes }: State): string | null {
  if (db.uncollected > over)
    return `${db.uncollected} not collected, though it was held for and was not released (beyond holds: ${over})`;
  if (db.keyedCharged > 1) return "one idempotency key, charged twice";
  const written = new Set([...db.entries, ...lost]);
  for (const { journal, holds } of nodes) for (const { id } of [...journal, ...holds]) written.add(id);
  for (const id of seen) if (!written.has(id)) return `request ${id} was answered and will never be charged`;
  return null;
}

/** Why nothing is lost: a node never counts on more than is granted, and what it has promised is set aside. */
function brokenPromise({ db, nodes, over }: State): string | null {
  for (const { spender, granted } of nodes) {
    const row = rowOf(db, spender);
    if (row !== undefined && granted > row.granted)
      return `a node counts on ${granted}, granted is ${row.granted}`;
  }
  for (const { id, granted, charged } of db.spenders) {
    let promised = 0;
    for (const { journal, holds } of nodes) {
      for (const line of journal)
        if (line.spender === id && !db.entries.includes(line.id)) promised += line.cost;
      for (const hold of holds) if (hold.spender === id) promised += hold.amount;
    }
    if (promised > granted - charged + over)
      return `spender ${id}: ${promised} promised of ${granted - charged}`;
  }
  return null;
}

/** What does not hold once faults have ended: all answers are charged then, and all credit is free. Nodes that never return are released. */
export function harmAfterQuiet(from: State): string | null {
  let state: State = { ...clone(from), left: { ...NOTHING, asks: 99, faults: 0 }, net: [] };
  const go = (...action: Action) => {
    state = perform(state, action);
  };
  for (const [index, { cut }] of state.nodes.entries()) {
    if (cut === 1) go("cut", index);
    if (nodeAt(state, index).phase === "down") go("start", index);
  }
  for (let round = 0; round < QUIET_ROUNDS; round++) {
    for (const index of state.nodes.keys()) for (const action of restActions(state, index)) go(...action);
    while (state.net.length > 0) go("deliver", 0);
  }
  for (const { id, node } of state.db.spenders.slice())
    if (nodeAt(state, node).phase === "gone") go("operator releases spender", id);
  const harm = harmIn(state);
  const due = state.credit - state.db.collected;
  if (harm !== null) return `${harm} (all at rest)`;
  if (state.db.free !== due) return `credit is stuck: free ${state.db.free} of ${due} (all at rest)`;
  const { seen, db, lost } = state;
  const isCharged = seen.every((id) => db.entries.includes(id) || lost.includes(id));
  return isCharged ? null : "an answer was never charged (all at rest)";
}

/** What a node does to come to rest. */
function restActions(state: State, index: number): readonly Action[] {
  const { phase, spender, turning, holds, journal, closes } = nodeAt(state, index);
  if (phase === "gone") return [];
  if (phase !== "up" || spender === 0 || turning === 1)
    return state.net.every(({ node }) => node !== index) ? [["say again", index]] : [];
  // The first of them ends each time.
  const endings = holds.map(({ amount }): Action => ["end", index, 0, amount]);
  if (endings.length + journal.length > 0) return [...endings, ["send batch", index]];
  return closes === 1
    ? [
        ["lower", index],
        ["close the old", index],
      ]
    : [["lower", index]];
}
