import type { Message, MessageKind, Node, Phase, State } from "./state.ts";
import { nodeAt } from "./state.ts";

/** What a node holds for requests from its present spender. */
export function heldOf({ holds, spender }: Node): number {
  let held = 0;
  for (const hold of holds) if (hold.spender === spender && hold.forgotten === undefined) held += hold.amount;
  return held;
}

/** What a node may still hold. */
export function freeOf(node: Node): number {
  return node.granted - node.settled - heldOf(node);
}

export function post(state: State, message: Omit<Message, "text">): void {
  state.net.push({ ...message, text: JSON.stringify(message) });
}

type Parts = Omit<Message, "to" | "kind" | "node" | "incarnation" | "text">;

export function send(state: State, index: number, kind: MessageKind, parts: Parts): void {
  const { incarnation } = nodeAt(state, index);
  post(state, { to: "db", kind, node: index, incarnation, ...parts });
}

/** Asks that as much be granted, in all. */
export function ask(state: State, index: number, target: number, kind: "ask" | "giveback" = "ask"): void {
  const node = nodeAt(state, index);
  const amount = node.granted - target;
  // Before it is sent, so that nothing is held of what goes back.
  if (target < node.granted && !state.faults.has("count-on-lowered")) node.granted = target;
  node.waits = ++node.number;
  const { spender, number } = node;
  send(state, index, kind, { spender, number, ...(kind === "ask" ? { target } : { amount }) });
}

/** Goes on with another spender, or without one. Holds and lines of the journal go on naming the old one. */
function beginSpender(node: Node, spender: number): void {
  Object.assign(node, { spender, granted: 0, settled: 0, unsure: 0, waits: 0 });
}

/** What a node says, or says again, in the step of its start or of its change of spender in which it is. */
export function messageOfStep({ phase }: Node): "open" | "batch" | "close" {
  if (phase === "replay") return "batch";
  return phase === "close" ? "close" : "open";
}

export function sayStep(state: State, index: number): void {
  const node = nodeAt(state, index);
  const parts: Readonly<Record<"open" | "batch" | "close", Parts>> = {
    open: {},
    batch: { entries: node.journal.slice() },
    close: { below: node.spender },
  };
  const kind = messageOfStep(node);
  send(state, index, kind, parts[kind]);
}

/** What a node makes of an answer. */
export function hear(state: State, index: number, message: Message): void {
  const node = nodeAt(state, index);
  const { faults } = state;
  const turn = (phase: Phase) => {
    node.phase = phase;
    sayStep(state, index);
  };
  const { kind, spender = 0 } = message;
  if (kind === "open" && node.phase === "open") {
    node.spender = spender;
    node.newest = spender;
    turn(node.journal.length > 0 && !faults.has("close-first") ? "replay" : "close");
  } else if (
    kind === "open" &&
    node.phase === "up" &&
    (node.spender === 0 || node.turning === 1) &&
    (spender > node.newest || faults.has("older-answers"))
  ) {
    // Only one that is newer than all it has had: were it an older one, the close would pass over the last.
    beginSpender(node, spender);
    Object.assign(node, { turning: 0, closes: 1, newest: spender });
  } else if (kind === "close") {
    if (node.phase === "close") node.phase = "up";
    // The answer about an earlier change of spender does not count.
    if (message.below === node.spender || faults.has("older-answers")) node.closes = 0;
  } else if (kind === "batch") {
    node.journal = node.journal.filter(({ id }) => message.ids?.includes(id) !== true);
    if (node.phase === "replay") turn("close");
  } else if (spender === node.spender && (message.number === node.number || faults.has("stale-answer"))) {
    node.waits = 0;
    node.unsure = 0;
    if (message.gone === true) {
      beginSpender(node, 0);
      sayStep(state, index);
    } else if (kind === "ask" && message.granted !== undefined) node.granted = message.granted;
  }
}
