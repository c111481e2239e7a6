import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AccountId } from "../contract/account.ts";
import { type EntryId, firstEntryIdAt, timeOfEntry } from "../contract/entry.ts";
import type { LedgerEntryId } from "../contract/ids.ts";
import type { Database } from "../database/database.ts";

/** A change of an account's balance, which is the sum of its entries. */
interface LedgerEntry {
  /** The id of the transaction, a UUID. */
  readonly id: LedgerEntryId;
  /** When the transaction was recorded. */
  readonly at: Date;
  /**
   * A `charge` covers many requests, whose entries are in the audit log. It is written in full; the part that the account did not pay
   * is a row of its own, `uncollected`. A `grant` adds credit, and an `adjustment` takes it back.
   */
  readonly kind: "grant" | "adjustment" | "charge" | "uncollected";
  /** The amount in nano-USD. Charges and adjustments are negative. */
  readonly amountNanoUsd: bigint;
  /**
   * Why the balance changed: `requests` for a charge, and what the operator gave for a grant or an adjustment. Of an `uncollected` amount: `beyond_hold` (the request cost more than was held
   * for it), `released` (the credit of its node had been released), `repeated` (a second answer to one idempotency key) or
   * `implausible` (reported by an upstream beyond what the model can do; at most 1 USD of a request).
   */
  readonly reason: string;
}

/** A line of an account's statement, whose sum over all lines is the balance: a grant, an adjustment, or a day's requests. */
interface StatementLine {
  /** The id of the line, a UUID: that of the transaction, or one that stands for the day. */
  readonly id: LedgerEntryId;
  /** When the transaction was recorded. Of `requests`: when the UTC day begins. */
  readonly at: Date;
  /**
   * A `grant` adds credit, and an `adjustment` takes it back. `requests` sums up all charges that were recorded on a UTC day, less
   * what was not collected of them.
   */
  readonly kind: "grant" | "adjustment" | "requests";
  /** The amount in nano-USD, by which the line changed the balance. Of adjustments and requests it is negative, or 0. */
  readonly amountNanoUsd: bigint;
  /** What the operator gave as the reason of a grant or an adjustment; `requests` for a day's requests. */
  readonly reason: string;
  /** The part of the day's costs that the account did not pay, in nano-USD; 0 for grants and adjustments. */
  readonly uncollectedNanoUsd: bigint;
}

/** An amount that an account did not pay. */
export interface Uncollected {
  readonly accountId: AccountId;
  /**
   * `beyond_hold`: it cost more than was held for it, and the account had no more. `released`: the operator had released
   * the credit of its node, and the account had no more. `repeated`: a second answer to one idempotency key.
   * `implausible`: reported by an upstream beyond what the model can do, at most 1 USD of a request.
   */
  readonly reason: "beyond_hold" | "released" | "repeated" | "implausible";
  readonly amountNanoUsd: bigint;
}

export interface Balance {
  /** The balance in nano-USD, including the reserved part. */
  readonly balanceNanoUsd: bigint;
  /** The part of the balance that nodes have reserved for requests, in nano-USD. */
  readonly reservedNanoUsd: bigint;
}

/** After all days of a statement. */
const LATEST_DAY_MS = Date.UTC(9999);

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

  /**
   * Lists the lines of the statement before `before`, newest first. A day's requests stand above the grants of the day. The work depends
   * on the number of lines, not on the number of charges.
   */
  async listStatement(
    accountId: AccountId,
    before: LedgerEntryId | null,
    limit: number,
  ): Promise<readonly StatementLine[]> {
    const sql = this.#database;
    // Both kinds of ids begin with a time. That of an id which no line has may be beyond what a date of the database can be.
    const end =
      before === null ? null : Math.min(timeOfEntry(String(before) as EntryId).getTime(), LATEST_DAY_MS);
    // One statement, and so one snapshot. Walks credit_ledger_grants, and credit_days_pkey backwards.
    const rows = await sql<(Omit<StatementLine, "id"> & { readonly id: LedgerEntryId | null })[]>`
      (
        select id, at, kind, amount_nano_usd as "amountNanoUsd", reason, 0::bigint as "uncollectedNanoUsd"
        from credit_ledger
        where account_id = ${accountId} and kind in ('grant', 'adjustment')
          ${before === null ? sql`` : sql`and id < ${before}`}
        order by id desc limit ${limit}
      ) union all (
        select null, day, 'requests', charged_nano_usd + uncollected_nano_usd, 'requests', uncollected_nano_usd
        from credit_days
        where account_id = ${accountId}
          ${end === null ? sql`` : sql`and day <= ${new Date(end - DAY_MS)}`}
        order by day desc limit ${limit + 1}
      )`;
    return rows
      .map((row): StatementLine => ({ ...row, id: row.id ?? idOfDay(row.at) }))
      .filter(({ id }) => before === null || id < before)
      .sort((one, other) => (one.id < other.id ? 1 : -1))
      .slice(0, limit);
  }
}

/** The id of a day's line, a UUIDv7: later than any transaction of the day, and earlier than any of the next day. */
function idOfDay(day: Date): LedgerEntryId {
  const lowest = firstEntryIdAt(new Date(day.getTime() + DAY_MS));
  return lowest.replace("-0000-0000-", "-7000-8000-") as LedgerEntryId;
}
