import { v7 as uuidv7 } from "uuid";
import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import type { UserId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { TokenUuid } from "../contract/ids.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { type Database, inTransaction, type Transaction } from "../database/database.ts";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { isSecretString, mintSecretString, TOKEN_PREFIX } from "../secrets/secret-string.ts";
import type { CredentialLookups } from "./credential-lookups.ts";
import type { ClientInfo, SessionId, SignedIn } from "./user.ts";
import { recordForUser, type SignedInRow, signedInColumns, signedInOf } from "./users-store.ts";

/** A token by which a script acts for its user. */
interface ManagementToken {
  /** The id of the token, a UUID. */
  readonly id: TokenUuid;
  /** The name that its user gave it. */
  readonly name: string;
  /** Last 4 characters of the token. */
  readonly tokenId: string;
  /** When the token was created. */
  readonly createdAt: Date;
  /** When the token expires; `null`: never. */
  readonly expiresAt: Date | null;
  /** When the token was revoked; `null`: it was not revoked. */
  readonly revokedAt: Date | null;
  /** When the token was last used, to the minute; `null`: never. */
  readonly lastUsedAt: Date | null;
  /** The address of the last use; `null` if the token was never used or the address is unknown. */
  readonly lastUsedIp: string | null;
}

interface CreatedManagementToken
  extends Pick<ManagementToken, "id" | "name" | "tokenId" | "createdAt" | "expiresAt"> {
  /** The complete token, which cannot be read again. */
  readonly token: string;
}

const MAX_ACTIVE = 100;
/** Active tokens, a hundred at most, are listed first. */
const MAX_LISTED = 1_000;

/** Creating, listing, revoking and checking management tokens. */
export class ManagementTokens {
  readonly #database: Database;
  readonly #security: SecurityEvents;
  readonly #lookups: CredentialLookups;
  readonly #now: () => Date;

  constructor(database: Database, security: SecurityEvents, lookups: CredentialLookups, now: () => Date) {
    this.#database = database;
    this.#security = security;
    this.#lookups = lookups;
    this.#now = now;
  }

  /**
   * @param session the session of the caller. If it ends meanwhile, as at a change of the password, no token is created.
   * @param expiresInDays `null`: the token does not expire.
   * @throws {Failure} `key_limit_reached` when the user has too many; `not_signed_in`.
   */
  create(
    by: Actor,
    session: SessionId,
    name: string,
    expiresInDays: number | null,
  ): Promise<CreatedManagementToken> {
    const { userId } = by;
    const id = uuidv7() as TokenUuid;
    const token = mintSecretString(TOKEN_PREFIX);
    const digest = digestOf(token);
    this.#lookups.issued(digest);
    const tokenId = token.slice(-4);
    const createdAt = this.#now();
    const expiresAt = expiresInDays === null ? null : new Date(createdAt.getTime() + expiresInDays * DAY_MS);
    return inTransaction(this.#database, async (sql) => {
      // Locks the user: two creations count one after the other, and a change of the password comes before or after.
      await sql`select from users where id = ${userId} for no key update`;
      const { count: sessions } =
        await sql`select from sessions where id = ${session} and user_id = ${userId}`;
      if (sessions === 0) throw new Failure("not_signed_in", "Sign in again.");
      const [row] = await sql<{ active: bigint }[]>`
        select count(*) as active from management_tokens
        where user_id = ${userId} and revoked_at is null and (expires_at is null or expires_at > ${createdAt})`;
      if ((row?.active ?? 0n) >= MAX_ACTIVE) throw tooManyTokens();
      await sql`
        insert into management_tokens (id, user_id, name, token_id, digest, created_at, expires_at)
        values (${id}, ${userId}, ${name}, ${tokenId}, ${digest}, ${createdAt}, ${expiresAt})`;
      const after = { name, tokenId, expiresAt };
      await recordForUser(sql, userId, { by, at: createdAt, action: "token.create" }, () => after);
      return { id, name, tokenId, token, createdAt, expiresAt };
    });
  }

  async list(userId: UserId): Promise<readonly ManagementToken[]> {
    // Uses management_tokens_by_user.
    return this.#database<ManagementToken[]>`
      select ${tokenColumns(this.#database)} from management_tokens
      where user_id = ${userId} order by revoked_at is not null, id desc limit ${MAX_LISTED}`;
  }

  /** Once this has resolved, the token is refused. Revoking it again changes nothing. @throws {Failure} `not_found` */
  revoke(by: Actor, id: TokenUuid): Promise<ManagementToken> {
    const at = this.#now();
    return inTransaction(this.#database, async (sql) => {
      const [found] = await sql<{ revoked_at: Date | null }[]>`
        select revoked_at from management_tokens where id = ${id} and user_id = ${by.userId} for no key update`;
      if (found === undefined) throw noSuchToken();
      const [token] = await sql<ManagementToken[]>`
        update management_tokens set revoked_at = coalesce(revoked_at, ${at}) where id = ${id}
        returning ${tokenColumns(sql)}`;
      if (token === undefined) throw noSuchToken();
      if (found.revoked_at === null) {
        const before = { name: token.name, tokenId: token.tokenId, expiresAt: token.expiresAt };
        const after = { ...before, revokedAt: at };
        await recordForUser(sql, by.userId, { by, at, action: "token.revoke", before }, () => after);
      }
      return token;
    });
  }

  /**
   * Finds the user of a token, and notes its use. Every call reads the database, so that a revocation needs no publication to
   * other nodes.
   *
   * @throws {Failure} `invalid_management_token`; `rate_limit_exceeded` as {@link CredentialLookups.find}.
   */
  async authenticate(
    token: string,
    { sourceIp }: ClientInfo,
  ): Promise<{ readonly id: TokenUuid; readonly signedIn: SignedIn }> {
    const found = isSecretString(token, TOKEN_PREFIX) ? await this.#find(digestOf(token), sourceIp) : null;
    if (found !== null) return found;
    this.#security.note({ kind: "management_token_refused", sourceIp });
    throw new Failure(
      "invalid_management_token",
      "The management token is mistyped, revoked or expired. Create another one in the dashboard.",
    );
  }

  #find(digest: Uint8Array, sourceIp: string | null) {
    return this.#lookups.find(digest, sourceIp, () => this.#use(digest, sourceIp));
  }

  async #use(digest: Uint8Array, sourceIp: string | null) {
    const sql = this.#database;
    const now = this.#now();
    // Uses management_tokens_digest_key. Written at most once a minute for each token and address.
    const [row] = await sql<(SignedInRow & { token: TokenUuid; note: boolean })[]>`
      select management_tokens.id as token, ${signedInColumns(sql)},
             coalesce(last_used_at < ${now}::timestamptz - interval '1 minute', true)
               or last_used_ip is distinct from ${sourceIp}::inet as note
      from management_tokens
      join users on users.id = management_tokens.user_id
      left join accounts on accounts.id = users.account_id
      where management_tokens.digest = ${digest} and management_tokens.revoked_at is null
        and (management_tokens.expires_at is null or management_tokens.expires_at > ${now})`;
    if (row === undefined) return null;
    if (row.note) {
      await sql`update management_tokens set last_used_at = ${now}, last_used_ip = ${sourceIp} where id = ${row.token}`;
    }
    return { id: row.token, signedIn: signedInOf(row) };
  }
}

function tokenColumns(sql: Database | Transaction) {
  return sql`
    id, name, token_id as "tokenId", created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
    last_used_at as "lastUsedAt", host(last_used_ip) as "lastUsedIp"`;
}

function tooManyTokens(): Failure {
  return new Failure(
    "key_limit_reached",
    `You have ${MAX_ACTIVE} active management tokens, the maximum. Revoke the ones you no longer use.`,
  );
}

function noSuchToken(): Failure {
  return new Failure("not_found", "You have no such management token. List them to find the id.", {
    param: "id",
  });
}
