import type { Limits } from "../../../server/src/contract/limits.ts";
import type { ReintroducedFaults } from "../stores/reintroduced-faults.ts";
import type { Invariant } from "./invariants.ts";

/** What a kind of run has in common: who is there, what must hold, and how soon. */
export interface Rules {
  readonly accounts: number;
  readonly keysEach: number;
  readonly limits: Limits;
  readonly invariants: ReadonlySet<Invariant>;
  /** Faults that are reintroduced into the stores. */
  readonly faults: ReintroducedFaults;
  readonly answerWithinMs: number;
  /** After the last fault all unused slots are free within this time. */
  readonly slotsFreeWithinMs: number;
  /** After Redis was empty, or a node was cut off from it for longer than its leases, limits hold again within this. */
  readonly limitsHoldWithinMs: number;
  /** Whether requests from before Redis was empty count against the limit of a minute: no node dies that has admitted them. */
  readonly isMinuteKept: boolean;
  /** A node that is cut off from Redis for longer may lose its slots. */
  readonly slotLeaseMs: number;
  /** After the last fault everything has drained within this. */
  readonly drainWithinMs: number;
  /** Whether clients send a request with an idempotency key again that is still being answered. */
  readonly retriesEarly: boolean;
}
