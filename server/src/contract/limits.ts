import type { AccountId } from "./account.ts";

/** Limits on an account's requests; `null`: none. */
export interface Limits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  /** Requests that are being answered at the same time. */
  readonly concurrentRequests: number | null;
}

export const UNLIMITED: Limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };

/** A request's slot among those being answered: unique, and given back when it has ended. */
export type Slot = string & { readonly __brand: "slot" };

/** What a request would take of its account's limits. */
export interface Demand {
  readonly limits: Limits;
  /** Estimated; corrected when it has ended. */
  readonly tokens: number;
  readonly slot: Slot;
}

/** How much of a minute's limit is left. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** Until nothing of it is used any more, if nothing else comes. */
  readonly resetMs: number;
}

/** For each limit that there is. */
export interface Rates {
  readonly requests: Rate | null;
  readonly tokens: Rate | null;
}

/** What an account's requests take of its limits at a moment. Where a minute has no limit nothing is counted: 0. */
export interface LimitUse {
  /** In the last minute. */
  readonly requests: number;
  /** In the last minute; estimated, of requests that have not ended. */
  readonly tokens: number;
  /** Being answered. */
  readonly concurrent: number;
}

export type LimitName = "requests" | "tokens" | "concurrency";

/**
 * The answer to a demand. A limited one has taken nothing; asked again after `retryAfterMs` it is admitted, if nobody
 * else has taken what was free by then.
 */
export type Admission =
  | { readonly kind: "admitted"; readonly rates: Rates; readonly atS: number }
  | { readonly kind: "limited"; readonly by: LimitName; readonly retryAfterMs: number; readonly rates: Rates }
  | { readonly kind: "stale" };

/** What is released when a request has ended. If the store does not hold the slot, the release changes nothing. */
export interface Release {
  readonly slot: Slot;
  /** The second in which it was admitted; `null` when the store's answer was lost, and the store has to know it. */
  readonly atS: number | null;
  /** Tokens that it took more than estimated, or fewer (negative). */
  readonly tokensMore: number;
  /** Whether the request was never served, and so does not count among the requests of its minute. */
  readonly isCancelled: boolean;
  /**
   * Whether an earlier admission or renewal of the slot may still arrive after this release: its answer was lost, and it
   * may wait on a connection that was closed. The store then remembers for a while that the slot has ended, and refuses
   * to take it.
   */
  readonly isContested: boolean;
}

/** A running request's concurrency slot. */
export interface HeldSlot {
  readonly accountId: AccountId;
  readonly slot: Slot;
}

/** A minute of counting is kept by its seconds, the present one and the 60 before it: never is more let through. */
export const WINDOW_S = 60;
/** A slot whose node has died is free again after so long; a living node renews it. */
export const SLOT_LEASE_MS = 60_000;
/** For so long the store remembers that a contested slot has ended: longer than a connection takes to die. */
export const ENDED_REMEMBERED_MS = 2 * SLOT_LEASE_MS;
/** When a slot will be free can't be told. */
export const CONCURRENCY_RETRY_MS = 1_000;
