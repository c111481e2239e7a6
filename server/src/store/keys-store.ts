import type { KeyLookup } from "../access/access.ts";
import type { ACTIVE_KEY_LIMITS, AccountId, Plan } from "../accounts/account.ts";
import type { Key, KeySnapshot, KeyState, KeyUuid, ListedKey } from "../keys/key.ts";
import type { CreateOutcome, KeyStore, NewKey } from "../keys/keys.ts";
import { type Database, type Transaction, violatesUnique } from "./database.ts";

interface KeyRow {
  id: KeyUuid;
  name: string;
  key_id: string;
  state: KeyState;
  created_at: Date;
  revoked_at: Date | null;
}

/** Keys in Postgres. */
export class PostgresKeys implements KeyStore, KeyLookup {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async findKeyByDigest(digest: Uint8Array): Promise<KeySnapshot | null> {
    // Uses keys_digest_key and the accounts' primary key.
    const [row] = await this.#database<
      {
        key: KeyUuid;
        key_id: string;
        key_state: KeyState;
        account: AccountId;
        account_state: KeySnapshot["account"]["state"];
        plan: Plan;
        version: bigint;
      }[]
    >`
      select keys.id as key, keys.key_id, keys.state as key_state,
             accounts.id as account, accounts.state as account_state, accounts.plan, accounts.version
      from keys
      join accounts on accounts.id = keys.account_id
      where keys.digest = ${digest}`;
    if (row === undefined) return null;
    return {
      key: { id: row.key, keyId: row.key_id, state: row.key_state },
      account: { id: row.account, state: row.account_state, plan: row.plan, version: row.version },
    };
  }

  async createKey(key: NewKey, limits: typeof ACTIVE_KEY_LIMITS): Promise<CreateOutcome> {
    try {
      return await this.#database.begin(async (transaction) => {
        // Raising the version first locks the account's row: two creations count the active keys one after the other.
        const { version, plan } = await raiseVersion(transaction, key.accountId);
        const limit = limits[plan];
        if (limit !== null && (await countActive(transaction, key.accountId)) >= limit) {
          throw new LimitReached(limit);
        }
        const [row] = await transaction<KeyRow[]>`
          insert into keys (id, account_id, name, key_id, digest, created_at)
          values (${key.id}, ${key.accountId}, ${key.name}, ${key.keyId}, ${key.digest}, ${key.createdAt})
          returning id, name, key_id, state, created_at, revoked_at`;
        if (row === undefined) throw new Error("insert into keys returned no row");
        return { kind: "created", key: keyOf(row), version } as const;
      });
    } catch (error) {
      if (error instanceof LimitReached) return { kind: "limit-reached", limit: error.limit };
      if (violatesUnique(error, "keys_active_name_unique")) return { kind: "name-taken" };
      if (violatesUnique(error, "keys_key_id_unique")) return { kind: "key-id-taken" };
      throw error;
    }
  }

  async listKeys(accountId: AccountId): Promise<readonly ListedKey[]> {
    // The last use is one step down audit_entries_by_key for each key.
    const rows = await this.#database<(KeyRow & { last_used_at: Date | null })[]>`
      select keys.id, keys.name, keys.key_id, keys.state, keys.created_at, keys.revoked_at, last.at as last_used_at
      from keys
      left join lateral (
        select at from audit_entries where audit_entries.key = keys.id order by id desc limit 1
      ) last on true
      where keys.account_id = ${accountId}
      order by keys.created_at desc, keys.id desc`;
    return rows.map((row) => ({ ...keyOf(row), lastUsedAt: row.last_used_at }));
  }

  async revokeKey(
    accountId: AccountId,
    id: KeyUuid,
    now: Date,
  ): Promise<{ readonly key: Key; readonly version: bigint } | null> {
    return this.#database.begin(async (transaction) => {
      const { version } = await raiseVersion(transaction, accountId);
      const [row] = await transaction<KeyRow[]>`
        update keys
        set state = 'revoked', revoked_at = coalesce(revoked_at, ${now})
        where id = ${id} and account_id = ${accountId}
        returning id, name, key_id, state, created_at, revoked_at`;
      return row === undefined ? null : { key: keyOf(row), version };
    });
  }
}

/** Rolls the transaction back: a refused creation must not raise the version. */
class LimitReached extends Error {
  readonly limit: number;

  constructor(limit: number) {
    super("key limit reached");
    this.limit = limit;
  }
}

async function raiseVersion(
  transaction: Transaction,
  accountId: AccountId,
): Promise<{ readonly version: bigint; readonly plan: Plan }> {
  const [row] = await transaction<{ version: bigint; plan: Plan }[]>`
    update accounts set version = version + 1 where id = ${accountId} returning version, plan`;
  if (row === undefined) throw new Error("the account does not exist");
  return row;
}

async function countActive(transaction: Transaction, accountId: AccountId): Promise<number> {
  const [row] = await transaction<{ count: bigint }[]>`
    select count(*) as count from keys where account_id = ${accountId} and state = 'active'`;
  return Number(row?.count ?? 0n);
}

function keyOf(row: KeyRow): Key {
  return {
    id: row.id,
    name: row.name,
    keyId: row.key_id,
    state: row.state,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  };
}
