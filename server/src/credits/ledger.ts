import type { AccountId } from "../accounts/account.ts";

export type LedgerEntryId = string & { readonly __id: "ledger-entry" };

/** Money that came into an account, or went out of it. The balance is the sum. */
export interface LedgerEntry {
  readonly id: LedgerEntryId;
  readonly at: Date;
  /** A charge is that of many requests at once: their entries are in the audit log. */
  readonly kind: "grant" | "adjustment" | "charge";
  /** Negative: went out. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
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

/** An account whose balance is not the sum of its ledger, or whose reservations exceed it. */
export interface BalanceMismatch extends Balance {
  readonly accountId: AccountId;
  readonly ledgerNanoUsd: bigint;
}
