import { v7 as uuidv7 } from "uuid";
import type { UserId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { TokenUuid } from "../contract/ids.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { isSecretString, mintSecretString, TOKEN_PREFIX } from "../secrets/secret-string.ts";
import type { PostgresManagementTokens } from "./tokens-store.ts";
import type { ClientInfo, SessionId, SignedIn } from "./user.ts";

/** A token by which a script acts for its user. */
export interface ManagementToken {
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

export interface NewManagementToken {
  readonly id: TokenUuid;
  readonly userId: UserId;
  readonly name: string;
  readonly tokenId: string;
  readonly digest: Uint8Array;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

export interface CreatedManagementToken {
  /** The id of the token, a UUID. */
  readonly id: TokenUuid;
  /** The name of the token. */
  readonly name: string;
  /** Last 4 characters of the token. */
  readonly tokenId: string;
  /** The complete token, which cannot be read again. */
  readonly token: string;
  /** When the token was created. */
  readonly createdAt: Date;
  /** When the token expires; `null`: never. */
  readonly expiresAt: Date | null;
}

const ACTIVE_TOKENS = 100;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Creating, listing, revoking and checking management tokens. */
export class ManagementTokens {
  readonly #store: PostgresManagementTokens;
  readonly #security: SecurityEvents;
  readonly #now: () => Date;

  constructor(store: PostgresManagementTokens, security: SecurityEvents, now: () => Date) {
    this.#store = store;
    this.#security = security;
    this.#now = now;
  }

  /**
   * @param session the session of the caller. If it ends meanwhile, as at a change of the password, no token is created.
   * @param expiresInDays `null`: the token does not expire.
   * @throws {Failure} `key_limit_reached` when the user has too many; `not_signed_in`.
   */
  async create(
    by: Actor,
    session: SessionId,
    name: string,
    expiresInDays: number | null,
  ): Promise<CreatedManagementToken> {
    const token = mintSecretString(TOKEN_PREFIX);
    const createdAt = this.#now();
    const fresh: NewManagementToken = {
      id: uuidv7() as TokenUuid,
      userId: by.userId,
      name,
      tokenId: token.slice(-4),
      digest: digestOf(token),
      createdAt,
      expiresAt: expiresInDays === null ? null : new Date(createdAt.getTime() + expiresInDays * DAY_MS),
    };
    const outcome = await this.#store.createToken(fresh, ACTIVE_TOKENS, by, session);
    if (outcome === "signed-out") throw new Failure("not_signed_in", "Sign in again.");
    if (outcome === "too-many") {
      throw new Failure(
        "key_limit_reached",
        `You have ${ACTIVE_TOKENS} active management tokens, the maximum. Revoke the ones you no longer use.`,
      );
    }
    const { id, tokenId, expiresAt } = fresh;
    return { id, name, tokenId, token, createdAt, expiresAt };
  }

  list(userId: UserId): Promise<readonly ManagementToken[]> {
    return this.#store.listTokens(userId);
  }

  /** Once this has resolved, the token is refused. @throws {Failure} `not_found` */
  async revoke(by: Actor, id: TokenUuid): Promise<ManagementToken> {
    const revoked = await this.#store.revokeToken(by.userId, id, by, this.#now());
    if (revoked !== null) return revoked;
    throw new Failure("not_found", "You have no such management token. List them to find the id.", {
      param: "id",
    });
  }

  /**
   * Finds the user of a token. Every call reads the database, so that a revocation needs no publication to other nodes.
   *
   * @throws {Failure} `invalid_management_token`
   */
  async authenticate(
    token: string,
    clientInfo: ClientInfo,
  ): Promise<{ readonly id: TokenUuid; readonly signedIn: SignedIn }> {
    const found = isSecretString(token, TOKEN_PREFIX)
      ? await this.#store.useToken(digestOf(token), clientInfo, this.#now())
      : null;
    if (found !== null) return found;
    this.#security.note({ kind: "management_token_refused", sourceIp: clientInfo.sourceIp });
    throw new Failure(
      "invalid_management_token",
      "The management token is mistyped, revoked or expired. Create another one in the dashboard.",
    );
  }
}
