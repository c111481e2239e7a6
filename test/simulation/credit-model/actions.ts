import { freeOf, heldOf, messageOfStep } from "./node.ts";
import type { Message, MessageKind, Node, State } from "./state.ts";
import { nodeAt } from "./state.ts";

/** Something that can happen in a state: its name, what it is about (a node, a message or a spender), and how much. */
export type Action = readonly [name: ActionName, about: number, amount?: number, key?: number];

export type ActionName =
  | "deliver"
  | "lose"
  | "deliver, and once more later"
  | "cut"
  | "start"
  | "crash"
  | "die for good"
  | "say again"
  | "raise"
  | "lower"
  | "rotate"
  | "forget what is held"
  | "close the old"
  | "hold"
  | "give up waiting"
  | "keep the answer"
  | "end"
  | "send batch"
  | "operator releases spender"
  | "lapse of spender";

/** Whether a message of this kind, from the node's present process, is under way, or the answer to one. */
export function isUnderWay({ net, nodes }: State, index: number, kind: MessageKind): boolean {
  const incarnation = nodes[index]?.incarnation;
  return net.some(
    (message) => message.kind === kind && message.node === index && message.incarnation === incarnation,
  );
}

/** All that can happen in a state, always in the same order. */
export function actionsOf(state: State): readonly Action[] {
  const actions: Action[] = [];
  addDeliveries(state, actions);
  for (const [index, node] of state.nodes.entries()) addActionsOf(state, index, node, actions);
  for (const { id, granted, charged } of state.db.spenders) {
    if (granted <= charged) continue;
    if (state.left.releases > 0) actions.push(["operator releases spender", id]);
    if (state.left.faults > 0 && state.faults.has("lapse-by-time")) actions.push(["lapse of spender", id]);
  }
  return actions;
}

function addDeliveries(state: State, actions: Action[]): void {
  const { left } = state;
  const said = new Set<string>();
  for (const [at, message] of state.net.entries()) {
    // Of equal messages it makes no difference which one is delivered.
    if (nodeAt(state, message.node).cut === 1 || said.has(message.text)) continue;
    said.add(message.text);
    actions.push(["deliver", at]);
    if (left.losses > 0) actions.push(["lose", at]);
    if (left.repeats > 0 && isRequest(message)) actions.push(["deliver, and once more later", at]);
  }
}

function isRequest({ to }: Message): boolean {
  return to === "db";
}

function addActionsOf(state: State, index: number, node: Node, actions: Action[]): void {
  const { left } = state;
  if (node.phase === "gone") return;
  if (left.cuts > 0 || node.cut === 1) actions.push(["cut", index]);
  if (node.phase === "down") {
    actions.push(["start", index]);
    return;
  }
  if (left.crashes > 0) actions.push(["crash", index]);
  if (left.disks > 0) actions.push(["die for good", index]);
  const mayBeSaid = (kind: MessageKind) => !isUnderWay(state, index, kind) || left.resends > 0;
  const isReady = node.phase === "up" && node.spender !== 0 && node.turning === 0;
  if (!isReady && mayBeSaid(messageOfStep(node))) actions.push(["say again", index]);
  if (node.phase !== "up") return;
  if (isReady) addSpending(state, index, node, actions);
  if (node.waits > 0) actions.push(["give up waiting", index]);
  addEndings(state, index, node, actions);
  if (node.journal.length > 0 && mayBeSaid("batch")) actions.push(["send batch", index]);
}

/** What a node does that has a spender to take from. */
function addSpending(state: State, index: number, node: Node, actions: Action[]): void {
  const { left, sizes, credit, db, faults } = state;
  const used = node.settled + heldOf(node);
  const [size = 1] = sizes;
  const steps = sizes.length > 1 || 2 * size > credit ? sizes : [size, 2 * size];
  const mayAsk = node.waits === 0 && left.asks > 0;
  if (mayAsk) for (const step of steps) actions.push(["raise", index, step]);
  if (mayAsk && (node.granted > used || node.unsure === 1)) actions.push(["lower", index]);
  if (left.rotates > 0) actions.push(["rotate", index]);
  if (left.faults > 0 && faults.has("forget-held") && heldOf(node) > 0)
    actions.push(["forget what is held", index]);
  const isOfPresent = ({ spender }: { readonly spender: number }) => spender === node.spender;
  const isDrained = node.holds.every(isOfPresent) && node.journal.every(isOfPresent);
  if (
    node.closes === 1 &&
    (isDrained || faults.has("close-undrained")) &&
    (!isUnderWay(state, index, "close") || left.resends > 0)
  )
    actions.push(["close the old", index]);
  const free = freeOf(node);
  const affordable = left.requests > 0 ? sizes.filter((one) => one <= free) : [];
  for (const one of affordable) actions.push(["hold", index, one, 0]);
  // Claims run out, so another attempt may begin at any time before there is an answer.
  if (left.keyed > 0 && db.key === 0) for (const one of affordable) actions.push(["hold", index, one, 1]);
}

function addEndings({ left, faults }: State, index: number, { holds }: Node, actions: Action[]): void {
  for (const [at, hold] of holds.entries()) {
    if (hold.key === 1 && faults.has("answer-before-charge") && hold.kept === undefined) {
      actions.push(["keep the answer", index, at]);
      continue;
    }
    actions.push(["end", index, at, hold.amount]);
    if (hold.amount > 1) actions.push(["end", index, at, hold.amount - 1]);
    if (left.overs > 0) actions.push(["end", index, at, hold.amount + 1]);
  }
}
