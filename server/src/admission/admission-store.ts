import type { AccountId } from "../contract/account.ts";
import type { Admission, Demand, HeldSlot, LimitUse, Release } from "../contract/limits.ts";
import { Unavailable } from "../errors/failure.ts";

/**
 * What all nodes agree on about an account without asking the database: its version, and what its requests use of its
 * limits.
 *
 * A node decides by a cached snapshot of a key and its account, read at some version. `check` and `admit` refuse the
 * snapshot as stale when a newer version was published, or when the store knows none: then the node reads the database
 * again and commits what it read.
 *
 * The store may forget everything at any time. It must then not believe a node that read the database before the
 * forgetting, for a change may have been published and forgotten since. That is what the epoch is for: taken before
 * the read, passed to `commitRead`, and different once the store has forgotten.
 *
 * Every method throws a {@link AdmissionStoreUnavailable} when the store can't be asked.
 */
export interface AdmissionStore {
  /** Is a snapshot of this version still good? */
  check(accountId: AccountId, version: bigint): Promise<"current" | "stale">;
  /** The same, and all or nothing of what the request demands. */
  admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission>;
  /**
   * To be called for each demand that was admitted, when its request has ended, and for each whose answer was lost,
   * as it may have been admitted. Harmless when repeated, and when the slot was never taken.
   */
  release(accountId: AccountId, release: Release): Promise<void>;
  /**
   * Keeps the concurrency slots of running requests from being taken for those of a dead node, and takes them again
   * where the store has lost them. To be called well within their lease.
   */
  renew(slots: readonly HeldSlot[]): Promise<void>;
  /** For who wants to see how close to its limits an account is. Changes nothing. */
  useOf(accountId: AccountId): Promise<LimitUse>;
  /**
   * To be called after a change was committed and before it is answered. Never lowers the version. Of an account that
   * it does not know the store learns no version by this, for the word may be an old one that comes late; only that
   * what was read before can't be relied on.
   */
  publish(accountId: AccountId, version: bigint): Promise<void>;
  /** To be called before the database is read. */
  epoch(accountId: AccountId): Promise<Epoch>;
  /** Says which version was read since the epoch. @returns `false` when the store has forgotten since. */
  commitRead(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean>;
  /** Calls back when what was learnt from this store can't be relied on any more. */
  onInvalidated(listener: () => void): void;
  /** Calls back when the store answers again and may have forgotten the slots of running requests. */
  onRestored(listener: () => void): void;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type Epoch = string & { readonly __brand: "epoch" };

export class AdmissionStoreUnavailable extends Unavailable {
  override readonly name = "AdmissionStoreUnavailable";
  /** Whether the store may have done what it was asked for, and only its answer was not received. */
  readonly mayBeDone: boolean;

  constructor(message: string, details: { readonly mayBeDone?: boolean; readonly cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.mayBeDone = details.mayBeDone ?? true;
  }
}
