import type { AccountId } from "../accounts/account.ts";
import type {
  Balance,
  BalanceMismatch,
  LedgerEntry,
  LedgerEntryId,
  LedgerReader,
} from "../credits/ledger.ts";
import type { Database } from "./database.ts";

/** The credit ledger in Postgres. */
export class PostgresLedger implements LedgerReader {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async readBalance(accountId: AccountId): Promise<Balance | null> {
    const [row] = await this.#database<{ balance: bigint; reserved: bigint }[]>`
      select balance_nano_usd as balance,
             (select coalesce(sum(amount_nano_usd), 0)::bigint from credit_reservations
              where credit_reservations.account_id = accounts.id) as reserved
      from accounts where id = ${accountId}`;
    return row === undefined ? null : { balanceNanoUsd: row.balance, reservedNanoUsd: row.reserved };
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

  async findMismatches(limit: number): Promise<readonly BalanceMismatch[]> {
    const rows = await this.#database<{ id: AccountId; balance: bigint; ledger: bigint; reserved: bigint }[]>`
      select accounts.id, accounts.balance_nano_usd as balance, coalesce(ledger.sum, 0)::bigint as ledger,
             coalesce(reservations.sum, 0)::bigint as reserved
      from accounts
      left join (select account_id, sum(amount_nano_usd) from credit_ledger group by 1) ledger
        on ledger.account_id = accounts.id
      left join (select account_id, sum(amount_nano_usd) from credit_reservations group by 1) reservations
        on reservations.account_id = accounts.id
      where accounts.balance_nano_usd <> coalesce(ledger.sum, 0)
         or coalesce(reservations.sum, 0) > greatest(accounts.balance_nano_usd, 0)
      limit ${limit}`;
    return rows.map((row) => ({
      accountId: row.id,
      balanceNanoUsd: row.balance,
      ledgerNanoUsd: row.ledger,
      reservedNanoUsd: row.reserved,
    }));
  }
}
