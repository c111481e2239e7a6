import type { AccountId } from "../contract/account.ts";
import type { LedgerEntryId } from "../contract/ids.ts";
import type { Database } from "../database/database.ts";
import type { Balance, LedgerEntry, LedgerReader } from "./ledger.ts";

/** The credit ledger in Postgres. */
export class PostgresLedger implements LedgerReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async readBalance(accountId: AccountId): Promise<Balance | null> {
    // By the primary key of credit_reserves.
    const [row] = await this.#database<{ free: bigint; reserved: bigint }[]>`
      select free_nano_usd as free,
             (select coalesce(sum(granted_nano_usd - charged_nano_usd), 0)::bigint from credit_reserves
              where credit_reserves.account_id = accounts.id) as reserved
      from accounts where id = ${accountId}`;
    return row === undefined
      ? null
      : { balanceNanoUsd: row.free + row.reserved, reservedNanoUsd: row.reserved };
  }

  async listLedger(
    accountId: AccountId,
    before: LedgerEntryId | null,
    limit: number,
  ): Promise<readonly LedgerEntry[]> {
    const sql = this.#database;
    // Walks credit_ledger_by_account.
    const rows = await sql<
      {
        id: LedgerEntryId;
        at: Date;
        kind: LedgerEntry["kind"];
        amount_nano_usd: bigint;
        reason: string;
      }[]
    >`
      select id, at, kind, amount_nano_usd, reason from credit_ledger
      where account_id = ${accountId} ${before === null ? sql`` : sql`and id < ${before}`}
      order by id desc limit ${limit}`;
    return rows.map(({ amount_nano_usd: amountNanoUsd, ...row }) => ({ ...row, amountNanoUsd }));
  }
}
