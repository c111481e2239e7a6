import type { AccountId } from "../contract/account.ts";
import type { SpenderId } from "../contract/ids.ts";
import type { AskAnswer } from "./credit-store.ts";

/** Credit that is held for one request while it is being answered. */
export interface Hold {
  readonly amountNanoUsd: bigint;
  /** The spender that holds it. The request's entry names it, so that the charge finds its reserve. */
  readonly spender: SpenderId | null;
  /**
   * Call it when the request has ended, with its cost: 0 if it left no entry. The cost may exceed the amount.
   * Further calls have no effect.
   */
  settle(costNanoUsd: bigint): void;
}

/** The maximum cost of a request, and the minimum that pays for a useful answer. */
export interface HoldRange {
  readonly minNanoUsd: bigint;
  readonly maxNanoUsd: bigint;
}

/** The answer to an ask, and whether the account had less than the target. */
export interface AskOutcome extends AskAnswer {
  /** The number of the ask. */
  readonly number: bigint;
  readonly isShort: boolean;
}

/** The credit of an account that one of this node's spenders has reserved, in nano-USD. docs/explanation/credit.md describes the protocol. */
export class Allowance {
  readonly accountId: AccountId;
  /** The total since the spender was opened: the database's last answer, or less if this node has released some since. */
  granted = 0n;
  /** The cost of all requests that have ended, whether or not the database has charged it yet, or what it has charged if that is more. */
  settled = 0n;
  /** The sum of the holds of requests that are being answered. */
  held = 0n;
  /** The sum that requests need that wait for the database. */
  demand = 0n;
  /** The sequence number of the last ask. */
  number = 0n;
  /** The credit that the last ask granted beyond its target. */
  extra = 0n;
  /** Whether an answer was lost, so that the database may have reserved more than this node counts on. */
  isUncertain = false;
  /** The ask that is under way. */
  asking: Promise<AskOutcome> | null = null;
  /** The last answer that was short, and when it came. */
  short: { readonly outcome: AskOutcome; readonly atMs: number } | null = null;
  /** When the next ask is due if asks that were short are sent at their regular pace (the generic cell rate algorithm). */
  shortAsksMs = 0;
  /** When an ask last failed, and how. */
  failed: { readonly error: unknown; readonly atMs: number } | null = null;
  /** When a hold was last made or settled, by the clock that never jumps. */
  usedMs: number;

  constructor(accountId: AccountId, nowMs: number) {
    this.accountId = accountId;
    this.usedMs = nowMs;
  }

  /** The sum of what is held for requests and what ended requests cost. */
  get promised(): bigint {
    return this.settled + this.held;
  }

  /** The credit that can be held without asking the database. It is negative after requests that cost more than their holds. */
  get free(): bigint {
    return this.granted - this.promised;
  }

  /** The credit that stays reserved for later requests while an account is idle for a short time. */
  get usualExtra(): bigint {
    if (this.free > this.extra) return this.extra;
    return this.free > 0n ? this.free : 0n;
  }
}

/** The credit that one start of this node has reserved, by account. */
export interface Spender {
  readonly id: SpenderId;
  readonly openedMs: number;
  /** Allowances are never removed: what is granted and settled counts from the opening of the spender. */
  readonly allowances: Map<AccountId, Allowance>;
  /** The number of requests with a hold that are being answered. */
  holds: number;
  /** The number of entries with costs that may not be in the database yet. */
  uncommitted: number;
}

/** Whether the spender can be closed: neither a request nor an uncommitted entry refers to it. */
export function isDrained({ holds, uncommitted }: Spender): boolean {
  return holds === 0 && uncommitted === 0;
}
