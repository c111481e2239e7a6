import type { FaultName } from "./faults.ts";
import { type Budget, NOTHING, type Scope } from "./scopes.ts";

/**
 * A row of a spender. What is set aside for it is `granted − charged`; both count from its beginning. `number` is that of the
 * last ask that was applied.
 */
export interface Spender {
  readonly id: number;
  readonly node: number;
  granted: number;
  charged: number;
  number: number;
}

/** Credit that a node keeps for a request that is being answered. */
export interface Hold {
  readonly id: number;
  readonly spender: number;
  readonly amount: number;
  /** 1: the request has the idempotency key. */
  readonly key: number;
  /** Only with reintroduced faults. */
  readonly kept?: 1;
  readonly forgotten?: 1;
}

/** A line of a journal: a request that was answered. */
export interface Line {
  readonly id: number;
  readonly spender: number;
  /** What is to be charged. */
  readonly cost: number;
  /** What the request took. Differs from the cost only with a reintroduced fault. */
  readonly real: number;
  readonly key: number;
}

export type MessageKind = "open" | "ask" | "batch" | "close" | "giveback";

/** A message from a node to the database, or the answer to one. Which parts it has follows from its kind. */
export interface Message {
  readonly to: "db" | "node";
  readonly kind: MessageKind;
  readonly node: number;
  /** Which of the node's processes has sent it. */
  readonly incarnation: number;
  readonly spender?: number | undefined;
  readonly number?: number | undefined;
  readonly target?: number;
  readonly amount?: number;
  readonly entries?: readonly Line[];
  readonly below?: number;
  readonly granted?: number;
  readonly gone?: true;
  readonly ids?: readonly number[];
  /** The message as text, by which equal ones are found. */
  readonly text: string;
}

/** What a node is doing: `open`, `replay` and `close` are the steps of its start, one after the other. */
export type Phase = "open" | "replay" | "close" | "up" | "down" | "gone";

export interface Node {
  phase: Phase;
  incarnation: number;
  /** The spender that it takes holds from; 0: none. */
  spender: number;
  /** The newest spender that this process has had. */
  newest: number;
  /** The number of its last ask. */
  number: number;
  /** What it counts on. Of this `settled` is spent, and the holds are held. */
  granted: number;
  settled: number;
  /** 1: an answer was given up, so more may be granted than it counts on. */
  unsure: number;
  /** The number of the ask whose answer it waits for; 0: none. */
  waits: number;
  /** 1: it has asked for another spender. */
  turning: number;
  /** 1: its former spender is still to be closed. */
  closes: number;
  /** 1: nothing of it is delivered. */
  cut: number;
  holds: Hold[];
  journal: Line[];
}

export interface Database {
  free: number;
  spenders: Spender[];
  /** The id of the next spender. */
  next: number;
  /** Ids of entries that are committed. */
  entries: number[];
  /** Spenders that were released. */
  released: number[];
  /** The request whose answer the idempotency key has; 0: none. */
  key: number;
  collected: number;
  /** What was not collected: because it went beyond holds, came after a release, or was a second answer to the key. */
  uncollected: number;
  late: number;
  repeated: number;
  keyedCharged: number;
}

export interface State {
  readonly faults: ReadonlySet<FaultName>;
  db: Database;
  nodes: Node[];
  net: Message[];
  nextId: number;
  left: { -readonly [Name in keyof Budget]: Budget[Name] };
  readonly credit: number;
  readonly sizes: readonly number[];
  // The following only the checks look at.
  /** What the requests that were committed took. */
  cost: number;
  /** What was taken beyond holds. */
  over: number;
  /** Requests whose answers were seen to end. */
  seen: number[];
  /** Requests whose lines were lost with a disk. */
  lost: number[];
}

export function nodeIn(phase: Phase, incarnation: number, spender: number, journal: Line[]): Node {
  return {
    phase,
    incarnation,
    spender,
    newest: spender,
    number: 0,
    granted: 0,
    settled: 0,
    unsure: 0,
    waits: 0,
    turning: 0,
    closes: 0,
    cut: 0,
    holds: [],
    journal,
  };
}

/** The state in which a scope begins: all nodes run, each with a spender that has nothing. */
export function begin(scope: Scope, faults: ReadonlySet<FaultName>): State {
  const { nodes: count, credit, sizes, ...budget } = scope;
  const spenders = Array.from({ length: count }, (_, node) => ({
    id: node + 1,
    node,
    granted: 0,
    charged: 0,
    number: 0,
  }));
  return {
    faults,
    db: {
      free: credit,
      spenders,
      next: count + 1,
      entries: [],
      released: [],
      key: 0,
      collected: 0,
      uncollected: 0,
      late: 0,
      repeated: 0,
      keyedCharged: 0,
    },
    nodes: spenders.map(({ id }) => nodeIn("up", 0, id, [])),
    net: [],
    nextId: 1,
    left: { ...NOTHING, ...budget },
    credit,
    sizes,
    cost: 0,
    over: 0,
    seen: [],
    lost: [],
  };
}

export function clone(state: State): State {
  const { db, nodes, net, left, seen, lost } = state;
  return {
    ...state,
    db: {
      ...db,
      spenders: db.spenders.map((row) => ({ ...row })),
      entries: db.entries.slice(),
      released: db.released.slice(),
    },
    nodes: nodes.map((node) => ({ ...node, holds: node.holds.slice(), journal: node.journal.slice() })),
    net: net.slice(),
    left: { ...left },
    seen: seen.slice(),
    lost: lost.slice(),
  };
}

/** Adds an id to a list that stays in order. */
export function insert(ids: number[], id: number): void {
  ids.push(id);
  ids.sort((one, other) => one - other);
}

/** The node of an index that is known to be there. */
export function nodeAt(state: State, index: number): Node {
  const node = state.nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index}`);
  return node;
}

export function rowOf(db: Database, id: number): Spender | undefined {
  return db.spenders.find((row) => row.id === id);
}
