import type { AccountId } from "./account.ts";

/** Limits on an account's requests; `null`: none. */
export interface Limits {
  /** Requests in 60 seconds. */
  readonly requestsPerMinute: number | null;
  /** Tokens of prompts and answers in 60 seconds. */
  readonly tokensPerMinute: number | null;
  /** Requests that may be answered at the same time. */
  readonly concurrentRequests: number | null;
}

export const UNLIMITED: Limits = { requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null };

/** The unique name of a request's concurrency slot, which is released when the request has ended. */
export type Slot = string & { readonly __brand: "slot" };

/** The amounts that a request takes of its account's limits. */
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
  /** Time until the whole limit is free, if no further request arrives. */
  readonly resetMs: number;
}

/** The rates of the account's limits; `null` for a limit that is not set. */
export interface Rates {
  readonly requests: Rate | null;
  readonly tokens: Rate | null;
}

/** The present use of an account's limits. Requests and tokens are only counted where they are limited. */
export interface LimitUse {
  /** Requests of the last minute. 0 without a limit, because then they are not counted. */
  readonly requests: number;
  /** Tokens of the last minute, estimated for requests that have not ended. 0 without a limit. */
  readonly tokens: number;
  /** Requests that are being answered, counted without a limit, too. */
  readonly concurrent: number;
}

/** The limits of an account, by short names. */
export type LimitName = "requests" | "tokens" | "concurrency";

/** The release of a request that has ended. If the store does not hold the slot, the release changes nothing. */
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

/** Limits use a sliding window of the present second and the 60 before it, so no 60 seconds exceed the limit. */
export const WINDOW_S = 60;
/** A live node renews its slots. The slot of a crashed node expires after this time. */
export const SLOT_LEASE_MS = 60_000;
/**
 * How long the store remembers that a contested slot has ended, and how long a node repeats the release. A command in transit when its
 * connection was closed may arrive for as long as TCP retransmits, about a quarter of an hour.
 */
export const ENDED_REMEMBERED_MS = 15 * 60_000;
/** The service cannot know when a slot becomes free, so a refused request may retry after this time. */
export const CONCURRENCY_RETRY_MS = 1_000;
