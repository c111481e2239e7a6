import type { AccountId } from "../contract/account.ts";
import type { LedgerEntryId } from "../contract/ids.ts";
import type { Database } from "../database/database.ts";

/** A change of an account's balance, which is the sum of its entries. */
export interface LedgerEntry {
  readonly id: LedgerEntryId;
  readonly at: Date;
  /**
   * A charge covers many requests, whose entries are in the audit log. It is written in full. What the account did not pay
   * of it is a separate `uncollected` entry with the reason of an {@link Uncollected}.
   */
  readonly kind: "grant" | "adjustment" | "charge" | "uncollected";
  /** Negative for charges. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
}

/** An amount that an account did not pay. */
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
  /** The part of it that nodes have reserved. */
  readonly reservedNanoUsd: bigint;
}

/** An account whose balance is not the sum of its ledger, or is negative. */
export interface BalanceMismatch extends Balance {
  readonly accountId: AccountId;
  readonly ledgerNanoUsd: bigint;
}

/** The credit ledger in Postgres. */
export class PostgresLedger {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async readBalance(accountId: AccountId): Promise<Balance | null> {
    // By the primary key of credit_reserves.
    const [balance] = await this.#database<Balance[]>`
      select free_nano_usd + reserved as "balanceNanoUsd", reserved as "reservedNanoUsd"
      from accounts, lateral (
        select coalesce(sum(granted_nano_usd - charged_nano_usd), 0)::bigint as reserved
        from credit_reserves where credit_reserves.account_id = accounts.id
      ) reserves
      where id = ${accountId}`;
    return balance ?? null;
  }

  /** Lists the entries before `before`, newest first. */
  async listLedger(
    accountId: AccountId,
    before: LedgerEntryId | null,
    limit: number,
  ): Promise<readonly LedgerEntry[]> {
    const sql = this.#database;
    // Walks credit_ledger_by_account.
    return sql<LedgerEntry[]>`
      select id, at, kind, amount_nano_usd as "amountNanoUsd", reason from credit_ledger
      where account_id = ${accountId} ${before === null ? sql`` : sql`and id < ${before}`}
      order by id desc limit ${limit}`;
  }
}
