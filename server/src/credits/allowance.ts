import type { AccountId } from "../contract/account.ts";
import type { SpenderId } from "../contract/ids.ts";
import type { AskAnswer } from "./credit-store.ts";

/** Credit that is kept for one request while it is being answered. */
export interface Hold {
  readonly amountNanoUsd: bigint;
  /** Which life of this node holds it: named in the request's entry, so that the charge finds its reserve. */
  readonly spender: SpenderId | null;
  /**
   * To be called when the request has ended, with what it cost: 0 when it left no entry. More than the amount is
   * possible. Further calls change nothing.
   */
  settle(costNanoUsd: bigint): void;
}

/** What a request may cost at most, and the least that still buys a useful answer. */
export interface HoldRange {
  readonly minNanoUsd: bigint;
  readonly maxNanoUsd: bigint;
}

/** The answer to an ask, and whether the account had less than was asked for. */
export interface AskOutcome extends AskAnswer {
  readonly isShort: boolean;
}

/** What one of this node's spenders has of an account. Amounts in nano-USD; see docs/explanation/credit.md for the protocol. */
export interface Allowance {
  readonly accountId: AccountId;
  /** In all since the spender began: as the database last answered, or less where this node has asked for less. */
  granted: bigint;
  /** The costs of all requests that have ended. What the database has charged is a part of it. */
  settled: bigint;
  /** Kept for requests that are being answered. */
  held: bigint;
  /** What requests that wait for an answer of the database need. */
  demand: bigint;
  /** Of the last ask. */
  number: bigint;
  /** What the last ask granted beyond what was needed then. */
  extra: bigint;
  /** Whether an answer was lost, so that the database may have set aside more than is counted on here. */
  isUncertain: boolean;
  /** The ask that is under way. */
  asking: Promise<AskOutcome> | null;
  /** The last answer that was short, and when it came. */
  short: { readonly outcome: AskOutcome; readonly atMs: number } | null;
  /** When an ask last failed, and how. */
  failed: { readonly error: unknown; readonly atMs: number } | null;
  usedMs: number;
}

export function newAllowance(accountId: AccountId, nowMs: number): Allowance {
  return {
    accountId,
    granted: 0n,
    settled: 0n,
    held: 0n,
    demand: 0n,
    number: 0n,
    extra: 0n,
    isUncertain: false,
    asking: null,
    short: null,
    failed: null,
    usedMs: nowMs,
  };
}

/** What has been promised: held for requests, or owed for those that have ended. */
export function promisedOf({ settled, held }: Allowance): bigint {
  return settled + held;
}

/** What can be held without asking the database. Negative after requests that cost more than was held for them. */
export function freeOf(allowance: Allowance): bigint {
  return allowance.granted - promisedOf(allowance);
}

/** What stays set aside for requests to come while an account is idle for a short time. */
export function usualExtraOf(allowance: Allowance): bigint {
  const free = freeOf(allowance);
  if (free > allowance.extra) return allowance.extra;
  return free > 0n ? free : 0n;
}

/** One life of this node, with what it has of each account. */
export interface Spender {
  readonly id: SpenderId;
  readonly openedMs: number;
  /** Never made smaller: what is granted and settled counts from the spender's beginning. */
  readonly allowances: Map<AccountId, Allowance>;
  /** Requests that are being answered. */
  holds: number;
  /** Entries with costs that may not be in the database yet. */
  uncommitted: number;
}

/** Whether nothing names the spender any more: it can be closed. */
export function isDrained({ holds, uncommitted }: Spender): boolean {
  return holds === 0 && uncommitted === 0;
}
