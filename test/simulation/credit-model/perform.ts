import { type Action, isUnderWay } from "./actions.ts";
import { applyMessage, closeSpenders } from "./database.ts";
import { ask, hear, heldOf, messageOfStep, post, sayStep, send } from "./node.ts";
import { clone, insert, type Message, type Node, nodeAt, nodeIn, rowOf, type State } from "./state.ts";

/** The state after something has happened. */
export function perform(before: State, action: Action): State {
  const state = clone(before);
  const [name, about, amount = 0, key = 0] = action;
  switch (name) {
    case "deliver":
    case "deliver, and once more later":
    case "lose":
      carry(state, name, about);
      return state;
    case "operator releases spender":
      state.left.releases--;
      closeSpenders(state.db, ({ id }) => id === about);
      insert(state.db.released, about);
      return state;
    case "lapse of spender": {
      state.left.faults--;
      closeSpenders(state.db, ({ id }) => id === about);
      const row = rowOf(before.db, about);
      if (row !== undefined) state.db.spenders.push({ ...row, granted: 0, charged: 0 });
      return state;
    }
  }
  const node = nodeAt(state, about);
  switch (name) {
    case "raise":
      state.left.asks--;
      ask(state, about, node.settled + heldOf(node) + amount);
      break;
    case "lower": {
      state.left.asks--;
      const kind = state.faults.has("blind-giveback") ? "giveback" : "ask";
      ask(state, about, node.settled + heldOf(node), kind);
      break;
    }
    case "give up waiting":
      node.waits = 0;
      node.unsure = 1;
      break;
    case "hold":
      state.left.requests--;
      state.left.keyed -= key;
      node.holds.push({ id: state.nextId++, spender: node.spender, amount, key });
      break;
    case "keep the answer":
      keepAnswer(state, node, amount);
      break;
    case "end":
      endRequest(state, node, amount, key);
      break;
    case "send batch":
      if (isUnderWay(state, about, "batch")) state.left.resends--;
      send(state, about, "batch", { entries: node.journal.slice() });
      break;
    case "say again":
      if (isUnderWay(state, about, messageOfStep(node))) state.left.resends--;
      sayStep(state, about);
      break;
    case "rotate":
      state.left.rotates--;
      node.turning = 1;
      sayStep(state, about);
      break;
    case "close the old":
      send(state, about, "close", { below: node.spender });
      break;
    case "crash":
      state.left.crashes--;
      endProcess(state, about, nodeIn("down", node.incarnation, 0, node.journal));
      break;
    case "die for good":
      state.left.disks--;
      for (const { id } of node.journal) insert(state.lost, id);
      endProcess(state, about, nodeIn("gone", node.incarnation, 0, []));
      break;
    case "start":
      node.incarnation++;
      node.phase = "open";
      sayStep(state, about);
      break;
    case "cut":
      state.left.cuts -= 1 - node.cut;
      node.cut = 1 - node.cut;
      break;
    case "forget what is held":
      state.left.faults--;
      node.holds = node.holds.map((hold) => ({ ...hold, forgotten: 1 }));
      ask(state, about, 0);
      break;
  }
  return state;
}

/** What the network does with a message. */
function carry(state: State, name: "deliver" | "deliver, and once more later" | "lose", at: number): void {
  const message = state.net[at];
  if (message === undefined) throw new Error(`there is no message ${at}`);
  if (name === "deliver, and once more later") state.left.repeats--;
  else state.net.splice(at, 1);
  if (name === "lose") state.left.losses--;
  else if (message.to === "node") hear(state, message.node, message);
  else answer(state, message);
}

function answer(state: State, message: Message): void {
  const { kind, node, incarnation, spender, number } = message;
  const told = applyMessage(state, message);
  const asker = nodeAt(state, node);
  // A process that is gone hears nothing.
  if (asker.incarnation !== incarnation || asker.phase === "down" || asker.phase === "gone") return;
  post(state, { to: "node", kind, node, incarnation, spender, number, ...told });
}

/** One write to the journal: from here on the request is charged. Only then its client sees the end of the answer. */
function endRequest(state: State, node: Node, at: number, real: number): void {
  const [hold] = node.holds.splice(at, 1);
  if (hold === undefined) throw new Error(`there is no hold ${at}`);
  const cost = state.faults.has("cap-at-hold") ? Math.min(real, hold.amount) : real;
  if (hold.spender === node.spender) node.settled += cost;
  node.journal.push({ id: hold.id, spender: hold.spender, cost, real, key: hold.key });
  if (!state.seen.includes(hold.id)) insert(state.seen, hold.id);
  if (real <= hold.amount) return;
  state.left.overs--;
  state.over += real - hold.amount;
}

/** With the fault `answer-before-charge`. */
function keepAnswer(state: State, node: Node, at: number): void {
  const hold = node.holds[at];
  if (hold === undefined) throw new Error(`there is no hold ${at}`);
  node.holds[at] = { ...hold, kept: 1 };
  state.db.key ||= hold.id;
  insert(state.seen, hold.id);
}

/** What the process has sent may still arrive. */
function endProcess(state: State, index: number, left: Node): void {
  state.nodes = state.nodes.with(index, left);
  state.net = state.net.filter(({ to, node }) => to === "db" || node !== index);
}
