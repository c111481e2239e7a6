import { DAY_MS } from "../../../sdk/src/contract/time-units.ts";
import { type AccountRow, accountColumns } from "../accounts/account-row.ts";
import { recordAction } from "../accounts/actions-store.ts";
import { suspended } from "../accounts/refusals.ts";
import { raiseVersion } from "../admission/publisher.ts";
import { ACTIVE_KEY_LIMITS, type AccountId, type AccountState, type Plan } from "../contract/account.ts";
import type { ActionName, Actor } from "../contract/action.ts";
import type {
  Key,
  KeyAddress,
  KeyLookup,
  KeySnapshot,
  KeyState,
  KeyUsage,
  KeyUuid,
  ListedKey,
} from "../contract/key.ts";
import {
  type Database,
  inTransaction,
  type SqlFragment,
  type Transaction,
  violatesUnique,
} from "../database/database.ts";
import { escapedForLike } from "../database/like-pattern.ts";
import { Failure } from "../errors/failure.ts";
import { rotationOf, type SuccessorRow, usageColumns, usageJoins } from "./key-usage.ts";
import {
  type KeyCounts,
  type KeyPage,
  type KeyPosition,
  type NewKey,
  noSuchKey,
  type StoredKey,
} from "./keys.ts";
import { prefixOfSuccessors, successorName } from "./successor-name.ts";

type ListedRow = Key & KeyUsage & SuccessorRow;

/** How long a call that created a key can be repeated with its idempotency key. */
const REPLAYABLE_MS = DAY_MS;
/** How long an answer may still be in transit. Until then the key string must not be replaced. */
const ANSWERING_MS = 5_000;
/** The maximum number of names that are read to find a free one. */
const MAX_NAMES = 5_000;

/** Keys in PostgreSQL. Every change is recorded in its transaction. The column `quiet_after_s` has kept its first name: `idleAfterSeconds`. */
export class PostgresKeys implements KeyLookup {
  readonly #database: Database;
  readonly #longReads: Database;

  /** `longReads`: the same database by other connections, for lists with usage. */
  constructor(database: Database, longReads: Database = database) {
    this.#database = database;
    this.#longReads = longReads;
  }

  async findKeyByDigest(digest: Uint8Array): Promise<KeySnapshot | null> {
    const sql = this.#database;
    // Uses keys_digest_key and the accounts' primary key.
    const [row] = await sql<(AccountRow & { key: KeySnapshot["key"]; version: bigint })[]>`
      select json_build_object('id', keys.id, 'keyId', keys.key_id, 'state', keys.state) as key, accounts.version,
             ${accountColumns(sql)}
      from keys
      join accounts on accounts.id = keys.account_id
      where keys.digest = ${digest}`;
    if (row === undefined) return null;
    const { accountId: id, key, state, plan, ipRules, limits, version } = row;
    return { key, account: { id, state, plan, ipRules, limits, version } };
  }

  async findDigest(accountId: AccountId, id: KeyUuid): Promise<Uint8Array | null> {
    // Uses the keys' primary key.
    const [row] = await this.#database<{ digest: Uint8Array }[]>`
      select digest from keys where id = ${id} and account_id = ${accountId}`;
    return row?.digest ?? null;
  }

  /** @returns `null` when another key has the key ID. @throws {Failure} as {@link Keys.create} and {@link Keys.rotate}. */
  async createKey(key: NewKey, by: Actor): Promise<StoredKey | null> {
    try {
      return await inTransaction(this.#database, async (transaction) => {
        // Locks the account's row, so that two creations count the active keys one after the other. A new key affects no
        // earlier decision, so the version stays.
        const [account] = await transaction<{ plan: Plan; state: AccountState }[]>`
          select plan, state from accounts where id = ${key.accountId} for no key update`;
        if (account === undefined) throw new Error("the account does not exist");
        if (account.state === "suspended") throw suspended();
        const reissued = await reissue(transaction, key, by);
        if (reissued !== null) return reissued;
        const old =
          key.rotation === null ? null : await findReplaceable(transaction, key, key.rotation.replaces);
        const limit = ACTIVE_KEY_LIMITS[account.plan];
        if (old?.mayExceedLimit !== true && limit !== null) await requireRoom(transaction, key, limit);
        const name = key.name ?? (await findSuccessorName(transaction, key.accountId, old?.name ?? ""));
        return { key: await insertKey(transaction, { ...key, name }, by), reissuedAt: null };
      });
    } catch (error) {
      if (violatesUnique(error, "keys_key_id_unique")) return null;
      if (!violatesUnique(error, "keys_active_name_unique")) throw error;
      const message =
        key.name === null
          ? "The account has too many keys of this name to number the successor. Choose a name for it."
          : `An active key is named "${key.name}". Choose another name.`;
      throw new Failure("conflict", message, { param: "name" });
    }
  }

  /** Active keys first, each state's newest first. */
  async listKeys(
    accountId: AccountId,
    { after, limit, search }: KeyPage,
    now: Date,
  ): Promise<readonly ListedKey[]> {
    const sql = this.#longReads;
    const rest = after === null ? sql`` : restAfter(sql, after);
    const pattern = `%${escapedForLike(search ?? "")}%`;
    const found = search === null ? sql`` : sql`and (name ilike ${pattern} or key_id ilike ${pattern})`;
    return this.#list(
      sql`
        select * from keys
        where account_id = ${accountId} ${rest} ${found}
        order by state = 'revoked', id desc
        limit ${limit}`,
      now,
    );
  }

  /** Those of the keys that the account has, in the order of lists. */
  async findKeys(accountId: AccountId, ids: readonly KeyUuid[], now: Date): Promise<readonly ListedKey[]> {
    const sql = this.#longReads;
    // Uses the keys' primary key.
    return this.#list(
      sql`
        select * from keys
        where account_id = ${accountId}
          and id in (select value::uuid from jsonb_array_elements_text(${sql.json([...ids])}))`,
      now,
    );
  }

  /** The addresses of the last 30 days, the latest first. @returns `null` when the account has no such key. */
  async listAddresses(
    accountId: AccountId,
    id: KeyUuid,
    max: number,
    now: Date,
  ): Promise<readonly KeyAddress[] | null> {
    const sql = this.#longReads;
    // Uses the keys' primary key and key_addresses_pkey. A key without addresses has one row, of nulls.
    const rows = await sql<{ ip: string | null; lastUsedAt: Date | null }[]>`
      select host(source_ip) as ip, last_seen_at as "lastUsedAt"
      from keys
      left join key_addresses
        on key_addresses.key = keys.id and last_seen_at >= ${now}::timestamptz - interval '30 days'
      where keys.account_id = ${accountId} and keys.id = ${id}
      order by last_seen_at desc nulls last, source_ip
      limit ${max}`;
    if (rows.length === 0) return null;
    return rows.flatMap(({ ip, lastUsedAt }) =>
      ip === null || lastUsedAt === null ? [] : [{ ip, lastUsedAt }],
    );
  }

  async countKeys(accountId: AccountId): Promise<KeyCounts> {
    // Uses keys_key_id_unique, by account, and key_usage_pkey.
    const [row] = await this.#longReads<KeyCounts[]>`
      select count(*) filter (where state = 'active')::float8 as active,
             count(*) filter (where state = 'revoked')::float8 as revoked,
             exists (
               select from keys used join key_usage on key_usage.key = used.id where used.account_id = ${accountId}
             ) as "areUsed"
      from keys where account_id = ${accountId}`;
    return row ?? { active: 0, revoked: 0, areUsed: false };
  }

  /** Raises the version. Revoking a revoked key changes nothing. @returns `null` when the account has no such key. */
  async revokeKey(
    accountId: AccountId,
    id: KeyUuid,
    by: Actor,
    now: Date,
  ): Promise<{ readonly key: Key; readonly version: bigint } | null> {
    return inTransaction(this.#database, async (transaction) => {
      const isOwn = transaction`select state from keys where id = ${id} and account_id = ${accountId}`;
      if ((await isOwn).length === 0) return null;
      const version = await raiseVersion(transaction, accountId);
      // Read again under the account's lock, so that only one of two concurrent revocations is recorded.
      const [found] = await transaction<{ state: KeyState }[]>`select state from keys where id = ${id}`;
      const [key] = await transaction<Key[]>`
        update keys set state = 'revoked', revoked_at = coalesce(revoked_at, ${now})
        where id = ${id}
        returning ${keyColumns(transaction)}`;
      if (found === undefined || key === undefined) throw new Error("update of keys returned no row");
      const revocation = { action: "key.revoke", accountId, by, at: now } as const;
      if (found.state === "active") await recordKeyAction(transaction, key, revocation);
      return { key, version };
    });
  }

  /** `chosen`: a query for the rows of at most one page. */
  async #list(chosen: SqlFragment, now: Date): Promise<readonly ListedKey[]> {
    const sql = this.#longReads;
    // Uses keys_key_id_unique, by account, and keys_by_replaced.
    const rows = await sql<ListedRow[]>`
      select ${keyColumns(sql)}, ${usageColumns(sql, now)},
             successor.id as "successorId", successor.created_at as "successorCreatedAt",
             successor.quiet_after_s as "idleAfterSeconds"
      from (${chosen}) keys
      ${usageJoins(sql, now)}
      left join lateral (
        select next.id, next.created_at, next.quiet_after_s from keys next
        where next.replaces = keys.id and next.state = 'active'
        order by next.id desc limit 1
      ) successor on true
      order by keys.state = 'revoked', keys.id desc`;
    return rows.map((row) => {
      const { id, name, keyId, state, createdAt, revokedAt, replaces, ...rest } = row;
      const { successorId, successorCreatedAt, idleAfterSeconds, ...usage } = rest;
      const rotation = rotationOf(
        { successorId, successorCreatedAt, idleAfterSeconds },
        usage.lastUsedAt,
        now,
      );
      return { id, name, keyId, state, createdAt, revokedAt, replaces, usage, rotation };
    });
  }
}

/** The condition for keys after a position in the order of lists. */
function restAfter(sql: Database, { state, id }: KeyPosition) {
  return state === "active"
    ? sql`and (state = 'revoked' or id < ${id})`
    : sql`and state = 'revoked' and id < ${id}`;
}

/** Handles a repeated call that has created a key before; `null` when it has not. */
async function reissue(transaction: Transaction, key: NewKey, by: Actor): Promise<StoredKey | null> {
  if (key.idempotencyDigest === null) return null;
  const [row] = await transaction<
    (Key & { issuedAt: Date; idleAfterSeconds: number | null; used: boolean })[]
  >`
    select ${keyColumns(transaction)}, keys.issued_at as "issuedAt", keys.quiet_after_s as "idleAfterSeconds",
           exists (select from key_usage where key_usage.key = keys.id) as used
    from keys
    where keys.account_id = ${key.accountId} and keys.idempotency_digest = ${key.idempotencyDigest}`;
  if (row === undefined) return null;
  const { issuedAt, idleAfterSeconds, used, ...earlier } = row;
  const age = key.createdAt.getTime() - issuedAt.getTime();
  if (age > REPLAYABLE_MS) {
    await transaction`update keys set idempotency_digest = null where id = ${earlier.id}`;
    return null;
  }
  const asked = key.rotation ?? { replaces: null, idleAfterSeconds: null };
  const isSameRotation = earlier.replaces === asked.replaces && idleAfterSeconds === asked.idleAfterSeconds;
  // A call without a name does not ask for another one.
  if ((key.name !== null && earlier.name !== key.name) || !isSameRotation) {
    const message =
      "This idempotency key was used for a different call. Use a new one for every key that you create.";
    throw new Failure("idempotency_key_reused", message, { param: "idempotencyKey" });
  }
  if (earlier.state === "revoked" || used) {
    throw new Failure(
      "conflict",
      `This call created the key "${earlier.name}" (…${earlier.keyId}), which has been used or revoked since. Its string cannot be shown again. Revoke it and create another key.`,
      { param: "idempotencyKey" },
    );
  }
  if (age < ANSWERING_MS) {
    throw new Failure(
      "conflict",
      "The same call was made a moment ago, and its answer may still be in transit. Try again in a few seconds.",
      { param: "idempotencyKey", retryAfterMs: ANSWERING_MS },
    );
  }
  const version = await raiseVersion(transaction, key.accountId);
  const [issued] = await transaction<Key[]>`
    update keys set digest = ${key.digest}, key_id = ${key.keyId}, issued_at = ${key.createdAt} where id = ${earlier.id}
    returning ${keyColumns(transaction)}`;
  if (issued === undefined) throw new Error("update of keys returned no row");
  const { accountId, createdAt: at } = key;
  await recordKeyAction(transaction, issued, { action: "key.reissue", accountId, by, at });
  return { key: issued, reissuedAt: version };
}

/**
 * Finds the key that is to get a successor.
 *
 * @returns `mayExceedLimit`: whether the successor may exceed the plan's number of active keys. The successor of a key that replaces an active one
 *   itself may not: one rotation after the other would make any number of keys.
 * @throws {Failure} `not_found`; `conflict` when the key is revoked or has a successor.
 */
async function findReplaceable(
  transaction: Transaction,
  { accountId }: NewKey,
  replaced: KeyUuid,
): Promise<{ readonly name: string; readonly mayExceedLimit: boolean }> {
  const [old] = await transaction<
    { name: string; state: KeyState; successor: string | null; replacesActive: boolean }[]
  >`
    select name, state, (
      select name from keys next where next.replaces = keys.id and next.state = 'active' limit 1
    ) as successor, exists (
      select from keys before where before.id = keys.replaces and before.state = 'active'
    ) as "replacesActive"
    from keys where id = ${replaced} and account_id = ${accountId}`;
  if (old === undefined) return noSuchKey();
  if (old.state === "revoked") {
    const message = "The key is revoked and cannot be rotated. Create a new key.";
    throw new Failure("conflict", message, { param: "id" });
  }
  if (old.successor === null) return { name: old.name, mayExceedLimit: !old.replacesActive };
  const message = `The key already has a successor, "${old.successor}". To create another one, revoke that successor first.`;
  throw new Failure("conflict", message, { param: "id" });
}

/** Finds a name for the successor of a key with a name. No other key takes it meanwhile, as the transaction has locked the account. */
async function findSuccessorName(
  transaction: Transaction,
  accountId: AccountId,
  name: string,
): Promise<string> {
  // Uses keys_active_name_unique, by account.
  const taken = await transaction<{ name: string }[]>`
    select name from keys
    where account_id = ${accountId} and state = 'active' and starts_with(name, ${prefixOfSuccessors(name)})
    limit ${MAX_NAMES}`;
  return successorName(
    name,
    taken.map((key) => key.name),
  );
}

async function insertKey(
  transaction: Transaction,
  key: NewKey & { readonly name: string },
  by: Actor,
): Promise<Key> {
  const [created] = await transaction<Key[]>`
    insert into keys
      (id, account_id, name, key_id, digest, created_at, issued_at, idempotency_digest, replaces, quiet_after_s)
    values
      (${key.id}, ${key.accountId}, ${key.name}, ${key.keyId}, ${key.digest}, ${key.createdAt}, ${key.createdAt},
       ${key.idempotencyDigest}, ${key.rotation?.replaces ?? null}, ${key.rotation?.idleAfterSeconds ?? null})
    returning ${keyColumns(transaction)}`;
  if (created === undefined) throw new Error("insert into keys returned no row");
  const { accountId, createdAt: at } = key;
  const action = key.rotation === null ? "key.create" : "key.rotate";
  await recordKeyAction(transaction, created, { action, accountId, by, at });
  return created;
}

/** What was done to a key. */
interface KeyAction {
  readonly action: ActionName;
  readonly accountId: AccountId;
  readonly by: Actor;
  readonly at: Date;
}

async function recordKeyAction(
  transaction: Transaction,
  { id, name, keyId, replaces }: Key,
  done: KeyAction,
): Promise<void> {
  const active = { id, name, keyId, ...(replaces === null ? {} : { replaces }), state: "active" };
  const isRevocation = done.action === "key.revoke";
  const states = isRevocation
    ? { before: active, after: { ...active, state: "revoked" } }
    : { after: active };
  await recordAction(transaction, { ...done, ...states });
}

/** @throws {Failure} `key_limit_reached` */
async function requireRoom(
  transaction: Transaction,
  { accountId, rotation }: NewKey,
  limit: number,
): Promise<void> {
  // Uses keys_active_name_unique.
  const [row] = await transaction<{ active: bigint }[]>`
    select count(*) as active from keys where account_id = ${accountId} and state = 'active'`;
  const active = row?.active ?? 0n;
  if (active < limit) return;
  throw new Failure(
    "key_limit_reached",
    rotation === null
      ? `The account has ${active} active keys, and its plan allows ${limit}. Revoke one, or change the plan.`
      : "The key replaces a key that is still active, and the account has the maximum number of active keys of its plan. Revoke the key that it replaces first.",
  );
}

function keyColumns(sql: Database | Transaction) {
  return sql`
    keys.id, keys.name, keys.key_id as "keyId", keys.state, keys.created_at as "createdAt",
    keys.revoked_at as "revokedAt", keys.replaces`;
}
