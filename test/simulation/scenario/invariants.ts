/** What must hold, by the names under which it is reported. */
export const INVARIANTS = {
  "no overdraft": "no statement would leave less than nothing anywhere: the database has nothing to refuse",
  "recorded once": "each answer whose last byte went out has exactly one entry, and was charged what it took",
  "recorded soon":
    "what was answered is in the database within a bounded time, unless rows of its own account are locked",
  starts: "a process that is started serves, whatever rows of accounts are locked",
  "refused for want": "a request is refused for want of credit only if its account has too little",
  "refused for reserves":
    "a request is told that others have reserved its account's credit only if the account has enough for it",
  "refused for locks":
    "a request is told that the service is overloaded or not available only while rows of its account are locked",
  "refused for free": "what was refused is not charged",
  "key charged once": "an idempotency key that was answered is charged exactly once, and others at most once",
  "answered once": "all whole answers to an idempotency key are the same one",
  "keys come free":
    "a request is told that its idempotency key is in use only while an attempt is answered, or for minutes afterwards",
  "balances reconcile":
    "an account's balance is the sum of its ledger, and its charges are what its entries cost",
  "paid for":
    "all that was held for is paid: nothing is uncollected but second answers to an idempotency key, and no more than was released of a node",
  "no more unpaid than lost":
    "what is uncollected, but for second answers to an idempotency key, is no more than was released of a node or lost by the database",
  "revoked at once": "no request is admitted that began after its key's revocation was answered",
  "requests at once": "an account never has more requests answered at once than its limit",
  "requests a minute": "in no 60 seconds more requests are admitted than a minute's limit",
  "refused for the minute":
    "a request is refused for a minute's limit only if as many were admitted in the minute",
  "answered in time": "each request is answered within a bounded time",
  "slots come free": "when faults have ended no account is kept out by slots that nobody uses",
  "all drains": "when faults have ended nothing stays held, set aside, claimed, open or unwritten",
} as const;

export type Invariant = keyof typeof INVARIANTS;

export interface Violation {
  readonly invariant: Invariant;
  readonly atMs: number;
  readonly what: string;
}
