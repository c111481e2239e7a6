import type { UserId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { TokenUuid } from "../contract/ids.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { accountColumns } from "./account-row.ts";
import { recordAction } from "./actions-store.ts";
import type { ManagementToken, NewManagementToken } from "./management-token.ts";
import type { ClientInfo, SessionId, SignedIn } from "./user.ts";
import { type SignedInRow, signedInOf } from "./users-store.ts";

interface TokenRow {
  id: TokenUuid;
  name: string;
  token_id: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  last_used_ip: string | null;
}

/** Active tokens, a hundred at most, are listed first. */
const MAX_LISTED = 1_000;

/** Management tokens in PostgreSQL. */
export class PostgresManagementTokens {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Fails when the user has `limit` active tokens, or the session has ended. */
  async createToken(
    token: NewManagementToken,
    limit: number,
    by: Actor,
    session: SessionId,
  ): Promise<"created" | "too-many" | "signed-out"> {
    return inTransaction(this.#database, async (transaction) => {
      // Locks the user: two creations count one after the other, and a change of the password comes before or after.
      await transaction`select from users where id = ${token.userId} for no key update`;
      const { count: sessions } = await transaction`
        select from sessions where id = ${session} and user_id = ${token.userId}`;
      if (sessions === 0) return "signed-out";
      const [row] = await transaction<{ active: bigint }[]>`
        select count(*) as active from management_tokens
        where user_id = ${token.userId} and revoked_at is null
          and (expires_at is null or expires_at > ${token.createdAt})`;
      if ((row?.active ?? 0n) >= limit) return "too-many";
      await transaction`
        insert into management_tokens (id, user_id, name, token_id, digest, created_at, expires_at)
        values (${token.id}, ${token.userId}, ${token.name}, ${token.tokenId}, ${token.digest}, ${token.createdAt},
                ${token.expiresAt})`;
      await recordTokenAction(transaction, "token.create", by, token.createdAt, token);
      return "created";
    });
  }

  async listTokens(userId: UserId): Promise<readonly ManagementToken[]> {
    // Uses management_tokens_by_user.
    const rows = await this.#database<TokenRow[]>`
      select ${tokenColumns(this.#database)} from management_tokens
      where user_id = ${userId} order by revoked_at is not null, id desc limit ${MAX_LISTED}`;
    return rows.map(tokenOf);
  }

  /** Revoking a revoked token changes nothing. @returns `null` when the user has no such token. */
  async revokeToken(userId: UserId, id: TokenUuid, by: Actor, now: Date): Promise<ManagementToken | null> {
    return inTransaction(this.#database, async (transaction) => {
      const [found] = await transaction<{ revoked_at: Date | null }[]>`
        select revoked_at from management_tokens where id = ${id} and user_id = ${userId} for no key update`;
      if (found === undefined) return null;
      const [row] = await transaction<TokenRow[]>`
        update management_tokens set revoked_at = coalesce(revoked_at, ${now}) where id = ${id}
        returning ${tokenColumns(transaction)}`;
      if (row === undefined) return null;
      const token = tokenOf(row);
      if (found.revoked_at === null) await recordTokenAction(transaction, "token.revoke", by, now, token);
      return token;
    });
  }

  /** Finds the user of an active token, and notes its use. */
  async useToken(
    digest: Uint8Array,
    clientInfo: ClientInfo,
    now: Date,
  ): Promise<{ readonly id: TokenUuid; readonly signedIn: SignedIn } | null> {
    // Uses management_tokens_digest_key. Written at most once a minute for each token and address.
    const [row] = await this.#database<(SignedInRow & { token: TokenUuid; note: boolean })[]>`
      select management_tokens.id as token, users.id as user_id, users.email, users.role,
             coalesce(last_used_at < ${now}::timestamptz - interval '1 minute', true)
               or last_used_ip is distinct from ${clientInfo.sourceIp}::inet as note,
             ${accountColumns(this.#database)}
      from management_tokens
      join users on users.id = management_tokens.user_id
      left join accounts on accounts.id = users.account_id
      where management_tokens.digest = ${digest} and management_tokens.revoked_at is null
        and (management_tokens.expires_at is null or management_tokens.expires_at > ${now})`;
    if (row === undefined) return null;
    if (row.note) {
      await this.#database`
        update management_tokens set last_used_at = ${now}, last_used_ip = ${clientInfo.sourceIp}
        where id = ${row.token}`;
    }
    return { id: row.token, signedIn: signedInOf(row) };
  }
}

async function recordTokenAction(
  transaction: Transaction,
  action: "token.create" | "token.revoke",
  by: Actor,
  at: Date,
  { name, tokenId, expiresAt }: Pick<ManagementToken, "name" | "tokenId" | "expiresAt">,
): Promise<void> {
  const [user] = await transaction<{ account_id: SignedInRow["account_id"] | null }[]>`
    select account_id from users where id = ${by.userId}`;
  const state = { name, tokenId, expiresAt };
  await recordAction(transaction, {
    at,
    by,
    accountId: user?.account_id ?? null,
    action,
    reason: null,
    before: action === "token.create" ? null : state,
    after: action === "token.create" ? state : { ...state, revokedAt: at },
  });
}

function tokenColumns(sql: Database | Transaction) {
  return sql`id, name, token_id, created_at, expires_at, revoked_at, last_used_at, host(last_used_ip) as last_used_ip`;
}

function tokenOf(row: TokenRow): ManagementToken {
  return {
    id: row.id,
    name: row.name,
    tokenId: row.token_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    lastUsedIp: row.last_used_ip,
  };
}
