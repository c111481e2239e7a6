import type { AccountId } from "../accounts/account.ts";
import type { CreditReserve } from "../credits/allowance.ts";
import { RESERVED_MS } from "../credits/credits.ts";
import { type Database, inTransaction } from "./database.ts";

/** Beside what is asked for, so much is set aside for requests to come: of what is there, and at most. */
const MORE_SHARE = 10n;
const MORE_NANO_USD = 1_000_000_000n;

/** A node's reservations of credit in Postgres. */
export class PostgresCreditReserve implements CreditReserve {
  readonly #database: Database;
  readonly #nodeId: string;

  constructor(database: Database, nodeId: string) {
    this.#database = database;
    this.#nodeId = nodeId;
  }

  async take(
    accountId: AccountId,
    atLeast: bigint,
  ): Promise<{ readonly taken: bigint; readonly elsewhere: bigint }> {
    return inTransaction(this.#database, async (transaction) => {
      // The account's lock: reservations together never exceed the balance.
      const [account] = await transaction<{ balance: bigint }[]>`
        select balance_nano_usd as balance from accounts where id = ${accountId} for no key update`;
      if (account === undefined) return { taken: 0n, elsewhere: 0n };
      // Of nodes that are gone for good: they spend nothing any more.
      await transaction`
        delete from credit_reservations
        where account_id = ${accountId} and node_id <> ${this.#nodeId}
          and renewed_at < now() - ${RESERVED_MS} * interval '1 millisecond'`;
      const [reserved] = await transaction<{ own: bigint; elsewhere: bigint }[]>`
        select coalesce(sum(amount_nano_usd) filter (where node_id = ${this.#nodeId}), 0)::bigint as own,
               coalesce(sum(amount_nano_usd) filter (where node_id <> ${this.#nodeId}), 0)::bigint as elsewhere
        from credit_reservations where account_id = ${accountId}`;
      const { own, elsewhere } = reserved ?? { own: 0n, elsewhere: 0n };
      const free = account.balance - own - elsewhere;
      const taken = free <= 0n ? 0n : least(free, atLeast + least(free / MORE_SHARE, MORE_NANO_USD));
      if (taken < atLeast && elsewhere > 0n) {
        await transaction`
          update credit_reservations set wanted = true
          where account_id = ${accountId} and node_id <> ${this.#nodeId}`;
      }
      if (taken > 0n) {
        await transaction`
          insert into credit_reservations (account_id, node_id, amount_nano_usd, renewed_at)
          values (${accountId}, ${this.#nodeId}, ${taken}, now())
          on conflict (account_id, node_id) do update set
            amount_nano_usd = credit_reservations.amount_nano_usd + excluded.amount_nano_usd,
            renewed_at = excluded.renewed_at`;
      }
      return { taken, elsewhere };
    });
  }

  async giveBack(accountId: AccountId, amount: bigint): Promise<void> {
    await inTransaction(this.#database, async (transaction) => {
      await transaction`select from accounts where id = ${accountId} for no key update`;
      await transaction`
        update credit_reservations
        set amount_nano_usd = greatest(0, amount_nano_usd - ${amount}), wanted = false
        where account_id = ${accountId} and node_id = ${this.#nodeId}`;
      await transaction`
        delete from credit_reservations
        where account_id = ${accountId} and node_id = ${this.#nodeId} and amount_nano_usd = 0`;
    });
  }

  async giveBackAll(accountId: AccountId): Promise<void> {
    await this.#database`
      delete from credit_reservations where account_id = ${accountId} and node_id = ${this.#nodeId}`;
  }

  async wanted(): Promise<ReadonlySet<AccountId>> {
    // Uses credit_reservations_by_node.
    const rows = await this.#database<{ account_id: AccountId }[]>`
      select account_id from credit_reservations where node_id = ${this.#nodeId} and wanted`;
    return new Set(rows.map((row) => row.account_id));
  }

  async renew(): Promise<void> {
    // None that a batch of entries holds: it is being charged, and renewed the next time.
    await this.#database`
      update credit_reservations set renewed_at = now()
      where node_id = ${this.#nodeId} and account_id in (
        select account_id from credit_reservations where node_id = ${this.#nodeId}
        order by account_id for update skip locked
      )`;
  }

  async clear(): Promise<void> {
    await this.#database`delete from credit_reservations where node_id = ${this.#nodeId}`;
  }
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
