import { v7 as uuidv7 } from "uuid";
import { type Account, NO_IP_RULES, NO_OVERRIDES, type UserId } from "../contract/account.ts";
import type { ActionState, Actor, NewAction } from "../contract/action.ts";
import { type Database, inTransaction, type Transaction, violatesUnique } from "../database/database.ts";
import { deleteInBatches } from "../database/delete-in-batches.ts";
import { type AccountRow, accountColumns, accountOf } from "./account-row.ts";
import { recordAction } from "./actions-store.ts";
import type { FoundSession, NewSession, UserChange } from "./sign-in.ts";
import type { ClientInfo, ListedSession, NewAccount, NewUser, SessionId, SignedIn } from "./user.ts";

/** A user's row with that of their account, whose columns are all null for an operator. */
export interface SignedInRow extends AccountRow {
  readonly userId: UserId;
  readonly email: string;
  readonly role: SignedIn["role"];
}

/** The columns that {@link signedInOf} reads. */
export function signedInColumns(sql: Database) {
  return sql`users.id as "userId", users.email, users.role, ${accountColumns(sql)}`;
}

/** The maximum number of sessions of a user. Those that were seen last are kept. */
const MAX_SESSIONS = 1_000;

/** Users and their sessions in PostgreSQL. */
export class PostgresUsers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @returns `null` when the e-mail address is taken. */
  async createAccountWithUser(account: NewAccount, clientInfo: ClientInfo): Promise<SignedIn | null> {
    const { userId: id, email, accountId, accountName: name, plan, createdAt } = account;
    const by = { userId: id, managementToken: null, sourceIp: clientInfo.sourceIp };
    const signUp = { action: "user.signUp", after: { name, email } } as const;
    if (!(await createAccount(this.#database, account, by, signUp))) return null;
    const fresh = { id: accountId, name, plan, createdAt, ipRules: NO_IP_RULES, limits: NO_OVERRIDES };
    return { role: "owner", user: { id, email }, account: { ...fresh, state: "active", suspension: null } };
  }

  /** @returns `false` when the e-mail address is taken. */
  createOperator({ userId, email, passwordHash, createdAt }: NewUser): Promise<boolean> {
    return unlessTaken(
      () => this.#database`
        insert into users (id, role, email, password_hash, created_at)
        values (${userId}, 'operator', ${email}, ${passwordHash}, ${createdAt})`,
    );
  }

  async findUser(
    email: string,
  ): Promise<{ readonly signedIn: SignedIn; readonly passwordHash: string } | null> {
    // Uses users_email_key.
    const [row] = await this.#database<(SignedInRow & { passwordHash: string })[]>`
      select ${signedInColumns(this.#database)}, users.password_hash as "passwordHash"
      from users
      left join accounts on accounts.id = users.account_id
      where users.email = ${email}`;
    return row === undefined ? null : { signedIn: signedInOf(row), passwordHash: row.passwordHash };
  }

  async findPasswordHash(userId: UserId): Promise<string | null> {
    const [row] = await this.#database<{ password_hash: string }[]>`
      select password_hash from users where id = ${userId}`;
    return row?.password_hash ?? null;
  }

  /**
   * Replaces the verified password, ends all sessions of the user, revokes their management tokens if asked to, and begins
   * `session`, in one transaction.
   *
   * @returns how many tokens were revoked; `null` when the verified password is no longer the current one.
   */
  async changePassword(
    userId: UserId,
    { verified, next }: { readonly verified: string; readonly next: string },
    session: NewSession | null,
    change: UserChange & { readonly revokeTokens: boolean },
  ): Promise<number | null> {
    return inTransaction(this.#database, async (transaction) => {
      const { count } = await transaction`
        update users set password_hash = ${next} where id = ${userId} and password_hash = ${verified}`;
      if (count === 0) return null;
      await transaction`delete from sessions where user_id = ${userId}`;
      if (session !== null) await insertSession(transaction, session, next);
      // Uses management_tokens_by_user.
      const { count: revokedTokens } = await transaction`
        update management_tokens set revoked_at = ${change.at}
        where user_id = ${userId} and revoked_at is null and ${change.revokeTokens}`;
      const more = revokedTokens === 0 ? {} : { revokedTokens };
      await recordForUser(transaction, userId, change, (email) => ({ email, ...more }));
      return revokedTokens;
    });
  }

  /** Ends the sessions of the user that have expired or are too many. @returns `false` when the verified password is no longer the current one. */
  async createSession(session: NewSession, verifiedHash: string): Promise<boolean> {
    const isCreated = await insertSession(this.#database, session, verifiedHash);
    const { userId, digest, createdAt } = session;
    // Uses sessions_by_user.
    await this.#database`
      delete from sessions
      where user_id = ${userId} and digest <> ${digest}
        and (expires_at <= ${createdAt} or digest in (
          select digest from sessions
          where user_id = ${userId} and digest <> ${digest}
          order by last_seen_at desc nulls last, created_at desc
          offset ${MAX_SESSIONS - 1}))`;
    return isCreated;
  }

  /** Finds a session that has not expired, and notes its use to the minute. */
  async findSession(digest: Uint8Array, now: Date): Promise<FoundSession | null> {
    // Uses sessions_pkey. Written at most once a minute for each session.
    const [row] = await this.#database<(SignedInRow & { session: SessionId; seen_long_ago: boolean })[]>`
      select sessions.id as session,
             coalesce(sessions.last_seen_at, sessions.created_at) < ${now}::timestamptz - interval '1 minute'
               as seen_long_ago,
             ${signedInColumns(this.#database)}
      from sessions
      join users on users.id = sessions.user_id
      left join accounts on accounts.id = users.account_id
      where sessions.digest = ${digest} and sessions.expires_at > ${now}`;
    if (row === undefined) return null;
    if (row.seen_long_ago) {
      await this.#database`update sessions set last_seen_at = ${now} where digest = ${digest}`;
    }
    return { id: row.session, signedIn: signedInOf(row) };
  }

  async listSessions(userId: UserId, now: Date): Promise<readonly ListedSession[]> {
    // Uses sessions_by_user.
    return this.#database<ListedSession[]>`
      select id, created_at as "createdAt", coalesce(last_seen_at, created_at) as "lastSeenAt",
             expires_at as "expiresAt", host(source_ip) as "sourceIp", user_agent as "userAgent"
      from sessions
      where user_id = ${userId} and expires_at > ${now}
      order by last_seen_at desc nulls last, created_at desc
      limit ${MAX_SESSIONS}`;
  }

  /** @returns `false` when the user has no such session. */
  async deleteSession(userId: UserId, id: SessionId): Promise<boolean> {
    const { count } = await this.#database`delete from sessions where id = ${id} and user_id = ${userId}`;
    return count > 0;
  }

  async deleteSessions(userId: UserId, change: UserChange): Promise<void> {
    await inTransaction(this.#database, async (transaction) => {
      await transaction`delete from sessions where user_id = ${userId}`;
      await recordForUser(transaction, userId, change, (email) => ({ email }));
    });
  }
}

/**
 * Deletes sessions that expired an hour ago, with the addresses and browsers that they had: their users may never sign in again. Any node may run
 * this at any time.
 */
export async function dropExpiredSessions(database: Database, now: Date): Promise<void> {
  // A scan: the table is small.
  await deleteInBatches(database, {
    from: "sessions",
    where: database`expires_at < ${now}::timestamptz - interval '1 hour'`,
  });
}

/** The lock orders this against a change of the password, which then either ends the session or prevents it. */
async function insertSession(
  sql: Database | Transaction,
  session: NewSession,
  verifiedHash: string,
): Promise<boolean> {
  const { count } = await sql`
    insert into sessions (id, digest, user_id, created_at, last_seen_at, expires_at, source_ip, user_agent)
    select ${session.id}::uuid, ${session.digest}::bytea, id, ${session.createdAt}::timestamptz,
           ${session.createdAt}::timestamptz, ${session.expiresAt}::timestamptz, ${session.sourceIp}::inet,
           ${session.userAgent}::text
    from users
    where id = ${session.userId} and password_hash = ${verifiedHash}
    for share`;
  return count > 0;
}

/** Records an action of a user in the trail of their account. `after` is called with the user's address. */
export async function recordForUser(
  transaction: Transaction,
  userId: UserId,
  action: Pick<NewAction, "by" | "at" | "action"> & Partial<Pick<NewAction, "before">>,
  after: (email: string | null) => ActionState,
): Promise<void> {
  const [user] = await transaction<{ email: string; accountId: Account["id"] | null }[]>`
    select email, account_id as "accountId" from users where id = ${userId}`;
  const accountId = user?.accountId ?? null;
  await recordAction(transaction, { ...action, accountId, after: after(user?.email ?? null) });
}

/** Creates an account with its first user and starting credit, and records it. @returns `false` when the e-mail address is taken. */
export function createAccount(
  database: Database,
  account: NewAccount,
  by: Actor,
  action: Pick<NewAction, "action" | "after">,
): Promise<boolean> {
  const { accountId, accountName, plan, createdAt: at, startingCreditsNanoUsd: credits } = account;
  const create = async (transaction: Transaction) => {
    await transaction`
      insert into accounts (id, name, plan, free_nano_usd, created_at)
      values (${accountId}, ${accountName}, ${plan}, ${credits}, ${at})`;
    if (credits > 0n) {
      await transaction`
        insert into credit_ledger (id, account_id, at, kind, amount_nano_usd, reason)
        values (${uuidv7()}, ${accountId}, ${at}, 'grant', ${credits}, 'starting credits')`;
    }
    await transaction`
      insert into users (id, account_id, email, password_hash, created_at)
      values (${account.userId}, ${accountId}, ${account.email}, ${account.passwordHash}, ${at})`;
    await recordAction(transaction, { at, by, accountId, ...action });
  };
  return unlessTaken(() => inTransaction(database, create));
}

/** @returns `false` when the e-mail address is taken. */
async function unlessTaken(insert: () => PromiseLike<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (violatesUnique(error, "users_email_key")) return false;
    throw error;
  }
}

export function signedInOf(row: SignedInRow): SignedIn {
  const user = { id: row.userId, email: row.email };
  return row.role === "operator"
    ? { role: "operator", user }
    : { role: "owner", user, account: accountOf(row) };
}
