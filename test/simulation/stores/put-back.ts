/**
 * Faults that the code under test was mended of, or is protected from, put back into the simulated stores: with each of them
 * the simulation must find a schedule in which something does not hold. Otherwise it proves nothing.
 */
export const PUT_BACK_FAULTS = {
  "reserves lapse": "what a node has set aside goes to others after ten minutes, though it may be spent",
  "asks have no numbers": "an ask sets what is granted whatever was asked for since",
  "answers commit apart": "the answer to an idempotency key is not kept in the transaction that charges it",
  "entries are charged again": "a batch that is sent again is charged again",
  "lost slots stay lost": "a renewal takes no concurrency slot again that the store has lost",
  "late admissions take slots": "an admission that arrives after its release takes a slot",
} as const;

export type PutBackFault = keyof typeof PUT_BACK_FAULTS;
export type PutBackFaults = ReadonlySet<PutBackFault>;

export const NO_FAULTS: PutBackFaults = new Set();
