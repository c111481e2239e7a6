import type { Account, AccountId, AccountState, Plan, SignedIn, UserId } from "../accounts/account.ts";
import type { NewAccount, NewSession, SignInStore } from "../accounts/sign-in.ts";
import { type Database, violatesUnique } from "./database.ts";

interface SignedInRow {
  user_id: UserId;
  email: string;
  account_id: AccountId;
  name: string;
  plan: Plan;
  state: AccountState;
  created_at: Date;
}

/** Accounts, their users and sessions in Postgres. */
export class PostgresAccounts implements SignInStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async createAccountWithUser(account: NewAccount): Promise<SignedIn | null> {
    try {
      await this.#database.begin(async (transaction) => {
        await transaction`
          insert into accounts (id, name, created_at)
          values (${account.accountId}, ${account.accountName}, ${account.createdAt})`;
        await transaction`
          insert into users (id, account_id, email, password_hash, created_at)
          values (${account.userId}, ${account.accountId}, ${account.email}, ${account.passwordHash}, ${account.createdAt})`;
      });
    } catch (error) {
      if (violatesUnique(error, "users_email_key")) return null;
      throw error;
    }
    return {
      user: { id: account.userId, accountId: account.accountId, email: account.email },
      account: {
        id: account.accountId,
        name: account.accountName,
        plan: "free",
        state: "active",
        createdAt: account.createdAt,
      },
    };
  }

  async findUser(
    email: string,
  ): Promise<{ readonly signedIn: SignedIn; readonly passwordHash: string } | null> {
    const [row] = await this.#database<(SignedInRow & { password_hash: string })[]>`
      select users.id as user_id, users.email, users.password_hash,
             accounts.id as account_id, accounts.name, accounts.plan, accounts.state, accounts.created_at
      from users
      join accounts on accounts.id = users.account_id
      where users.email = ${email}`;
    return row === undefined ? null : { signedIn: signedInOf(row), passwordHash: row.password_hash };
  }

  async createSession(session: NewSession): Promise<void> {
    await this.#database`
      insert into sessions (digest, user_id, created_at, expires_at)
      values (${session.digest}, ${session.userId}, ${session.createdAt}, ${session.expiresAt})`;
    await this
      .#database`delete from sessions where user_id = ${session.userId} and expires_at <= ${session.createdAt}`;
  }

  async findSession(digest: Uint8Array, now: Date): Promise<SignedIn | null> {
    const [row] = await this.#database<SignedInRow[]>`
      select users.id as user_id, users.email,
             accounts.id as account_id, accounts.name, accounts.plan, accounts.state, accounts.created_at
      from sessions
      join users on users.id = sessions.user_id
      join accounts on accounts.id = users.account_id
      where sessions.digest = ${digest} and sessions.expires_at > ${now}`;
    return row === undefined ? null : signedInOf(row);
  }

  async deleteSession(digest: Uint8Array): Promise<void> {
    await this.#database`delete from sessions where digest = ${digest}`;
  }

  async findAccount(id: AccountId): Promise<Account | null> {
    const [row] = await this.#database<Omit<SignedInRow, "user_id" | "email">[]>`
      select id as account_id, name, plan, state, created_at from accounts where id = ${id}`;
    return row === undefined ? null : accountOf(row);
  }

  /** True on a database that nobody has signed up to. */
  async isEmpty(): Promise<boolean> {
    const [row] = await this.#database<
      { empty: boolean }[]
    >`select not exists (select from accounts) as empty`;
    return row?.empty ?? false;
  }
}

function signedInOf(row: SignedInRow): SignedIn {
  return {
    user: { id: row.user_id, accountId: row.account_id, email: row.email },
    account: accountOf(row),
  };
}

function accountOf(row: Omit<SignedInRow, "user_id" | "email">): Account {
  return {
    id: row.account_id,
    name: row.name,
    plan: row.plan,
    state: row.state,
    createdAt: row.created_at,
  };
}
