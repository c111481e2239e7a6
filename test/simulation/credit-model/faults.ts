import type { ScopeName } from "./scopes.ts";

/** A fault that can be reintroduced into the protocol, to show that the checker catches it. */
export interface ReintroducedFault {
  /** The scope in which it is looked for. */
  readonly scope: ScopeName;
  readonly what: string;
}

/** All faults that can be reintroduced. Each removes one rule of the protocol. */
export const FAULTS = {
  "lapse-by-time": {
    scope: "share",
    what: "What a node has set aside goes to others after a time, though it may be spent by then.",
  },
  "forget-held": {
    scope: "share",
    what: "A node that was cut off forgets what it holds for requests, and frees it in the database.",
  },
  "blind-giveback": { scope: "share", what: "A give-back subtracts, whenever it arrives." },
  unnumbered: {
    scope: "share",
    what: "An ask sets what is set aside whatever was asked for since: a late one undoes a newer one.",
  },
  "stale-answer": { scope: "share", what: "A node believes the answer to an older ask." },
  "count-on-lowered": {
    scope: "share",
    what: "A node counts on what it gives back until the answer is there.",
  },
  "close-all": {
    scope: "crashes",
    what: "The close at start ends all spenders of the node but its own, not only those that are older than its own.",
  },
  "close-first": {
    scope: "crash",
    what: "A start gives the leftover back before the journal is replayed.",
  },
  "older-answers": {
    scope: "rotate",
    what: "A node takes the answer to an older open or close for the one that it waits for.",
  },
  "close-undrained": {
    scope: "rotate",
    what: "A spender that was replaced is closed though requests still draw on it.",
  },
  "blind-debit": {
    scope: "return",
    what: "A charge is taken from the balance whether the credit is there or not.",
  },
  recharge: { scope: "late", what: "A batch that is sent again is charged again." },
  "cap-at-hold": { scope: "beyond", what: "What a request took beyond its hold is forgotten." },
  "answer-before-charge": {
    scope: "once",
    what: "The answer of a request with an idempotency key is kept before its line is in the journal.",
  },
  "charge-repeats": {
    scope: "once",
    what: "Two attempts with one idempotency key, after a claim was taken over, are both charged.",
  },
} as const satisfies Readonly<Record<string, ReintroducedFault>>;

export type FaultName = keyof typeof FAULTS;
