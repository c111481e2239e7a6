import type { AccountId } from "../contract/account.ts";
import type { LedgerEntryId } from "../contract/ids.ts";

/** Money that came into an account, or went out of it. The balance is the sum. */
export interface LedgerEntry {
  readonly id: LedgerEntryId;
  readonly at: Date;
  /**
   * A charge is that of many requests at once: their entries are in the audit log. It is written in full; what of it the
   * account did not pay stands beside it as uncollected, for the reason of an {@link Uncollected}.
   */
  readonly kind: "grant" | "adjustment" | "charge" | "uncollected";
  /** Negative: went out. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
}

/** What was answered and is not paid. */
export interface Uncollected {
  readonly accountId: AccountId;
  /**
   * `beyond_hold`: it cost more than was held for it, and the account had no more. `released`: the operator had released
   * the credit of its node, and the account had no more. `repeated`: a second answer to one idempotency key.
   * `implausible`: reported by an upstream beyond what the model can do.
   */
  readonly reason: "beyond_hold" | "released" | "repeated" | "implausible";
  readonly amountNanoUsd: bigint;
}

export interface Balance {
  readonly balanceNanoUsd: bigint;
  /** Of it, set aside by nodes for requests that are being answered, or about to come. */
  readonly reservedNanoUsd: bigint;
}

/** Where the ledger is read. */
export interface LedgerReader {
  readBalance(accountId: AccountId): Promise<Balance | null>;
  /** Newest first, before `before`. */
  listLedger(
    accountId: AccountId,
    before: LedgerEntryId | null,
    limit: number,
  ): Promise<readonly LedgerEntry[]>;
}

/** An account whose balance is not the sum of its ledger, or is negative. */
export interface BalanceMismatch extends Balance {
  readonly accountId: AccountId;
  readonly ledgerNanoUsd: bigint;
}
