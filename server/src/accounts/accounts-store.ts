import { raiseVersion } from "../admission/versions-store.ts";
import type { Account, AccountId, UserId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { Failure } from "../errors/failure.ts";
import type {
  AccountFilter,
  ChangedAccount,
  CreditGrant,
  GrantOutcome,
  ListedAccount,
} from "./account-admin.ts";
import { type AccountChange, changed, differenceOf, reasonOf } from "./account-change.ts";
import { type AccountRow, accountColumns, accountOf } from "./account-row.ts";
import { recordAction } from "./actions-store.ts";
import type { NewAccount } from "./user.ts";
import { insertAccount, unlessTaken } from "./users-store.ts";

interface ListedRow extends AccountRow {
  users: readonly { id: UserId; email: string }[];
  active_keys: bigint;
  balance_nano_usd: bigint;
}

/** 4.5 billion USD: half of what a bigint holds, so that sums of it can be computed. */
const MAX_BALANCE_NANO_USD = 4_500_000_000_000_000_000n;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Accounts in PostgreSQL. */
export class PostgresAccounts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async findAccount(id: AccountId): Promise<Account | null> {
    const [row] = await this.#database<AccountRow[]>`
      select ${accountColumns(this.#database)} from accounts where id = ${id}`;
    return row === undefined ? null : accountOf(row);
  }

  /** Returns true when there is no account. */
  async isEmpty(): Promise<boolean> {
    const [row] = await this.#database<
      { empty: boolean }[]
    >`select not exists (select from accounts) as empty`;
    return row?.empty ?? false;
  }

  /** Returns accounts in descending order of id. */
  async searchAccounts(
    { search, state, plan }: AccountFilter,
    before: AccountId | null,
    limit: number,
  ): Promise<readonly ListedAccount[]> {
    const sql = this.#database;
    const prefix = `${search.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;
    // Uses accounts_by_name and users_by_email_prefix.
    const matching = UUID.test(search)
      ? sql`accounts.id = ${search}`
      : sql`accounts.id in (
              select id from accounts where lower(name) like ${prefix}
              union
              select account_id from users where email like ${prefix} and account_id is not null
            )`;
    // State and plan alone walk all accounts: half a million of them take 0.15 s.
    const rows = await sql<ListedRow[]>`
      select ${accountColumns(sql)}, ${listedColumns(sql)}
      from accounts
      where true
        ${search === "" ? sql`` : sql`and ${matching}`}
        ${state === null ? sql`` : sql`and accounts.state = ${state}`}
        ${plan === null ? sql`` : sql`and accounts.plan = ${plan}`}
        ${before === null ? sql`` : sql`and accounts.id < ${before}`}
      order by accounts.id desc
      limit ${limit}`;
    return rows.map(listedOf);
  }

  async findListedAccount(id: AccountId): Promise<ListedAccount | null> {
    const sql = this.#database;
    const [row] = await sql<ListedRow[]>`
      select ${accountColumns(sql)}, ${listedColumns(sql)} from accounts where id = ${id}`;
    return row === undefined ? null : listedOf(row);
  }

  /** @returns `null` when the e-mail address is taken. */
  async createAccount(account: NewAccount, by: Actor): Promise<AccountId | null> {
    const created = await unlessTaken(() =>
      inTransaction(this.#database, async (transaction) => {
        await insertAccount(transaction, account);
        await recordAction(transaction, {
          at: account.createdAt,
          by,
          accountId: account.accountId,
          action: "account.create",
          reason: null,
          before: null,
          after: { name: account.accountName, email: account.email, plan: account.plan },
        });
      }),
    );
    return created ? account.accountId : null;
  }

  /**
   * Changes an account, records the change and raises the version, in one transaction. A change without effect is not
   * recorded. @returns `null` when there is no such account.
   */
  async changeAccount(
    id: AccountId,
    change: AccountChange,
    { by, at, reason }: { readonly by: Actor; readonly at: Date; readonly reason: string | null },
  ): Promise<ChangedAccount | null> {
    return inTransaction(this.#database, async (transaction) => {
      const [row] = await transaction<AccountRow[]>`
        select ${accountColumns(transaction)} from accounts where id = ${id} for no key update`;
      if (row === undefined) return null;
      const before = accountOf(row);
      const after = changed(before, change, at);
      const difference = differenceOf(before, after);
      if (difference !== null) {
        await updateAccount(transaction, after);
        await recordAction(transaction, {
          at,
          by,
          accountId: id,
          action: change.action,
          reason: reasonOf(change, reason),
          ...difference,
        });
      }
      // The version is raised even without a change, so that a repeated call repairs a failed publication.
      const version = await raiseVersion(transaction, id);
      const [keys] = await transaction<{ active: bigint }[]>`
        select count(*) as active from keys where account_id = ${id} and state = 'active'`;
      return { before, after, activeKeys: Number(keys?.active ?? 0n), version };
    });
  }

  /** Records a grant completely or not at all. @returns `null` when there is no such account. */
  async grantCredits(grant: CreditGrant, by: Actor): Promise<GrantOutcome | null> {
    return inTransaction(this.#database, async (transaction) => {
      // Locks the account, so that the balance that is recorded is the one before this grant.
      const [account] = await transaction<{ free: bigint; before: bigint }[]>`
        select free_nano_usd as free, balance_nano_usd(accounts) as before
        from accounts where id = ${grant.accountId} for no key update`;
      if (account === undefined) return null;
      const { free, before } = account;
      if (-grant.amountNanoUsd > free) {
        // Nodes release reserved credit that they do not need within about a second.
        await transaction`update credit_reserves set wanted = true where account_id = ${grant.accountId}`;
        return { kind: "short", freeNanoUsd: free };
      }
      await transaction`
        insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
        values (${grant.id}, ${grant.accountId}, ${grant.at}, ${grant.amountNanoUsd > 0n ? "grant" : "adjustment"},
                ${grant.amountNanoUsd}, ${grant.reason})`;
      const after = before + grant.amountNanoUsd;
      if (after > MAX_BALANCE_NANO_USD) {
        throw new Failure("invalid_request", "amountNanoUsd: the balance would exceed the maximum", {
          param: "amountNanoUsd",
        });
      }
      await transaction`
        update accounts set free_nano_usd = free_nano_usd + ${grant.amountNanoUsd} where id = ${grant.accountId}`;
      await recordAction(transaction, {
        at: grant.at,
        by,
        accountId: grant.accountId,
        action: "account.grantCredits",
        reason: grant.reason,
        before: { balanceNanoUsd: before.toString() },
        after: { balanceNanoUsd: after.toString(), amountNanoUsd: grant.amountNanoUsd.toString() },
      });
      return { kind: "booked", balanceNanoUsd: after };
    });
  }
}

async function updateAccount(transaction: Transaction, account: Account): Promise<void> {
  const { suspension, ipRules, limits } = account;
  await transaction`
    update accounts
    set plan = ${account.plan}, state = ${account.state},
        suspended_at = ${suspension?.at ?? null}, suspension_reason = ${suspension?.reason ?? null},
        ip_rules = ${transaction.json([...ipRules.networks])}, ip_rules_mode = ${ipRules.mode},
        requests_per_minute = ${limits.requestsPerMinute}, tokens_per_minute = ${limits.tokensPerMinute},
        concurrent_requests = ${limits.concurrentRequests}
    where id = ${account.id}`;
}

function listedColumns(sql: Database) {
  // Uses users_by_account and keys_active_name_unique.
  return sql`
    (select coalesce(jsonb_agg(jsonb_build_object('id', users.id, 'email', users.email) order by users.id), '[]')
     from users where users.account_id = accounts.id) as users,
    (select count(*) from keys where keys.account_id = accounts.id and keys.state = 'active') as active_keys,
    balance_nano_usd(accounts) as balance_nano_usd`;
}

function listedOf(row: ListedRow): ListedAccount {
  return {
    ...accountOf(row),
    users: row.users,
    activeKeys: Number(row.active_keys),
    balanceNanoUsd: row.balance_nano_usd,
  };
}
