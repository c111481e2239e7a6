import type { AccountId } from "../contract/account.ts";
import type { Demand, HeldSlot, LimitName, LimitUse, Rates, Release } from "../contract/limits.ts";
import { Unavailable } from "../errors/failure.ts";

/**
 * The state of accounts that all nodes share without asking the database: the version of each account, and the use of its
 * limits.
 *
 * A node decides by a cached snapshot of a key and its account, read at some version. `check` and `admit` refuse the
 * snapshot as stale when a newer version was published, or when the store knows none. The node then reads the database
 * again and commits the read.
 *
 * The store may lose everything at any time. It must then reject a read from before the loss, because a change may have
 * been published and lost since. The epoch detects this: a node takes it before the read and passes it to `commitRead`,
 * and it changes when the store loses its data.
 *
 * Every method throws {@link AdmissionStoreUnavailable} when the store cannot be reached. What a request needs is answered without a promise by a
 * store that need not wait, because promises are a tenth of what a request costs.
 */
export interface AdmissionStore {
  /** Returns whether a snapshot of this version is current. */
  check(accountId: AccountId, version: bigint): Promise<"current" | "stale">;
  /** Checks the version, and takes all of the demand or nothing. */
  admit(accountId: AccountId, version: bigint, demand: Demand): Admission | Promise<Admission>;
  /**
   * Must be called once the request of an admitted demand has ended, and for a demand whose answer was lost, because it
   * may have been admitted. Repeating it, or releasing a slot that was never taken, changes nothing. `null`: it is done already.
   *
   * Tokens beyond the estimate count in the second of the admission or, if it has expired, from now.
   *
   * @returns the second from which they count, if it is not the one of the admission. A store that does not lose what it counts need not tell.
   */
  release(accountId: AccountId, release: Release): Promise<number | null> | null;
  /**
   * Extends the leases of running requests' concurrency slots, and takes the slots again where the store has lost them.
   * Must be called well within their lease.
   */
  renew(slots: readonly HeldSlot[]): Promise<void>;
  /**
   * Counts what a node has admitted again if the store has lost it: the account has another epoch now, or none. Repeating it changes
   * nothing. An epoch that alone was evicted or deleted counts as lost, too: for a minute the account then has less of its limits.
   */
  recount(accountId: AccountId, use: NodeUse): Promise<void>;
  /** Returns how much of its limits the account uses. */
  useOf(accountId: AccountId): Promise<LimitUse>;
  /**
   * Must be called after a change was committed and before it is answered. It never lowers the version. For an unknown
   * account the store does not remember the version, because the publication may be an old one that arrives late; it only
   * rejects reads from before it.
   */
  publish(accountId: AccountId, version: bigint): Promise<void>;
  /** Returns the present epoch. Must be called before the database is read. */
  epoch(accountId: AccountId): Promise<AccountEpoch>;
  /** Commits the version that was read after the epoch. @returns `false` when the store has lost its data since. */
  commitRead(accountId: AccountId, version: bigint, epoch: AccountEpoch): Promise<boolean>;
  /** Registers a listener that is called when earlier answers of this store are no longer reliable. */
  onInvalidated(listener: () => void): void;
  /** Registers a listener that is called when the store answers again and may have lost the slots of running requests. */
  onRestored(listener: () => void): void;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Identifies what the store has remembered of an account without a loss. It has nothing to do with the epoch of the database. */
export type AccountEpoch = string & { readonly __brand: "epoch" };

/**
 * The answer to a demand. A limited demand has taken nothing. A retry after `retryAfterMs` succeeds unless another request of the
 * account used the capacity.
 */
export type Admission =
  | {
      readonly kind: "admitted";
      readonly rates: Rates;
      /** The second of the store's clock in which it was admitted. */
      readonly atS: number;
      /** The epoch of the account in which the store counts it; `null` of a store that does not lose what it counts. */
      readonly epoch: AccountEpoch | null;
    }
  | { readonly kind: "limited"; readonly by: LimitName; readonly retryAfterMs: number; readonly rates: Rates }
  | { readonly kind: "stale" };

/** What was admitted in a second of the store's clock. Requests and tokens are only counted where they are limited. */
export interface UseOfSecond {
  readonly second: number;
  readonly requests: number;
  readonly tokens: number;
}

/** What a node has admitted of an account's requests in the last minute, in one epoch of the account. */
export interface NodeUse {
  /** Identifies the process of the node. */
  readonly node: string;
  readonly epoch: AccountEpoch;
  readonly seconds: readonly UseOfSecond[];
}

export class AdmissionStoreUnavailable extends Unavailable {
  override readonly name = "AdmissionStoreUnavailable";
  /** Whether the store may have executed the command although its answer was not received. */
  readonly mayBeDone: boolean;
  /** Whether the store answers, and refuses the command or the connection. */
  readonly isRefused: boolean;

  constructor(
    message: string,
    details: { readonly mayBeDone?: boolean; readonly isRefused?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.mayBeDone = details.mayBeDone ?? true;
    this.isRefused = details.isRefused ?? false;
  }
}
