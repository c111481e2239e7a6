/** How often each thing may happen in a scope or a walk. */
export interface Budget {
  readonly asks: number;
  readonly requests: number;
  /** Requests that take more than was held for them. */
  readonly overs: number;
  /** Requests with the one idempotency key that there is. */
  readonly keyed: number;
  readonly crashes: number;
  /** Nodes that die with their journals and never return. */
  readonly disks: number;
  /** Messages that the network delivers twice. */
  readonly repeats: number;
  /** Messages that a node sends again while the first is still under way. */
  readonly resends: number;
  /** Messages that the network loses. Beyond this a message is lost by never being delivered. */
  readonly losses: number;
  /** Spenders that an operator releases. */
  readonly releases: number;
  /** Changes of spender in a living process. */
  readonly rotates: number;
  /** How often a reintroduced fault may occur, where it is an event of its own. */
  readonly faults: number;
  /** Times at which a node is cut off: nothing of it is delivered meanwhile. */
  readonly cuts: number;
}

/** Bounds within which everything is tried, in every order. */
export interface Scope extends Partial<Budget> {
  readonly nodes: number;
  readonly credit: number;
  /** What may be held for a request. */
  readonly sizes: readonly number[];
}

export const NOTHING: Budget = {
  asks: 0,
  requests: 0,
  overs: 0,
  keyed: 0,
  crashes: 0,
  disks: 0,
  repeats: 0,
  resends: 0,
  losses: 0,
  releases: 0,
  rotates: 0,
  faults: 1,
  cuts: 0,
};

/** Scopes that are explored to their ends. */
export const SCOPES = {
  /** Asks of one node arrive late, and twice. */
  late: { nodes: 1, credit: 3, sizes: [2], asks: 4, requests: 2, repeats: 1 },
  /** Two nodes want the same credit. */
  share: { nodes: 2, credit: 2, sizes: [2], asks: 4, requests: 2, losses: 1 },
  /** Requests take more than was held for them. */
  beyond: { nodes: 2, credit: 3, sizes: [1], asks: 3, requests: 2, overs: 2 },
  /** A node dies, and returns with its journal. */
  crash: { nodes: 2, credit: 2, sizes: [2], asks: 2, requests: 2, crashes: 1, losses: 1 },
  /** The same twice, while messages of the dead processes are under way. */
  crashes: { nodes: 2, credit: 2, sizes: [2], asks: 2, requests: 2, crashes: 2 },
  /** An operator releases what a living node spends from. */
  release: { nodes: 2, credit: 2, sizes: [1], asks: 3, requests: 2, releases: 1 },
  /** A released node returns with charges. */
  return: { nodes: 2, credit: 2, sizes: [2], asks: 2, requests: 2, releases: 1, crashes: 1 },
  /** A node never returns. */
  gone: { nodes: 2, credit: 2, sizes: [1], asks: 2, requests: 2, releases: 1, disks: 1 },
  /** A node changes its spender while it runs. */
  rotate: { nodes: 2, credit: 2, sizes: [2], asks: 2, requests: 2, rotates: 1, repeats: 1 },
  /** Two attempts with one idempotency key. */
  once: { nodes: 2, credit: 2, sizes: [1], asks: 2, requests: 2, keyed: 2, crashes: 1 },
} as const satisfies Readonly<Record<string, Scope>>;

export type ScopeName = keyof typeof SCOPES;

/** The bounds of random walks: too wide to try everything within them. */
export const WALK: Scope = {
  nodes: 3,
  credit: 14,
  sizes: [1, 2, 3],
  asks: 60,
  requests: 40,
  overs: 6,
  keyed: 4,
  crashes: 5,
  disks: 1,
  repeats: 15,
  resends: 20,
  losses: 40,
  releases: 2,
  rotates: 4,
  cuts: 4,
};

/** Scopes that are explored completely in a second or two. Each fault shows in them or in random walks. */
export const SMALL_SCOPES: Readonly<Record<ScopeName, Scope>> = {
  ...SCOPES,
  late: { ...SCOPES.late, asks: 3 },
  share: { ...SCOPES.share, losses: 0 },
  beyond: { ...SCOPES.beyond, asks: 2 },
  crash: { ...SCOPES.crash, losses: 0 },
  release: { ...SCOPES.release, asks: 2 },
  rotate: { ...SCOPES.rotate, repeats: 0 },
};
