/**
 * Faults that the code under test had or is protected from, reintroduced into the simulated stores. With each of them the
 * simulation must find a schedule that violates a promise. Otherwise it proves nothing.
 */
export const REINTRODUCED_FAULTS = {
  "reserves lapse": "what a node has set aside goes to others after ten minutes, though it may be spent",
  "asks have no numbers": "an ask sets what is granted whatever was asked for since",
  "answers commit apart": "the answer to an idempotency key is not kept in the transaction that charges it",
  "entries are charged again": "a batch that is sent again is charged again",
  "asks tell no charges":
    "a node does not learn what was charged to its reserve for entries of others, which name its spender after a restore",
  "repeated answers stay reserved":
    "what a node has set aside for a second answer to an idempotency key stays so, though the node does not count on it",
  "times ahead last":
    "what was seen by a clock of the database that was ahead counts as seen until that time has come",
  "jumps end leases":
    "claims of idempotency keys end, and answers are forgotten, when the clock of the database jumps ahead",
  "lost slots stay lost": "a renewal takes no concurrency slot again that the store has lost",
  "lost counts stay lost":
    "what nodes have admitted in the last minute is not counted again in a store that has lost it",
  "admissions have an old epoch":
    "a node names its admissions after the epoch of its own last read, which another node's read has ended",
  "locked accounts hold up others":
    "entries of all accounts wait while the database cannot record those of one account, whose rows are locked",
  "closes hold up others":
    "a spender is closed in a transaction that waits for an account whose rows are locked, and keeps the other accounts locked meanwhile",
  "late admissions take slots": "an admission that arrives after its release takes a slot",
} as const;

export type ReintroducedFault = keyof typeof REINTRODUCED_FAULTS;
export type ReintroducedFaults = ReadonlySet<ReintroducedFault>;

export const NO_FAULTS: ReintroducedFaults = new Set();
