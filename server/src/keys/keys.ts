import { v7 as uuidv7 } from "uuid";
import type { Publisher } from "../admission/publisher.ts";
import type { AccountId } from "../contract/account.ts";
import type { Actor } from "../contract/action.ts";
import type { Key, KeyAddress, KeyLookup, KeyState, KeyUsage, KeyUuid, ListedKey } from "../contract/key.ts";
import { readPage } from "../database/page.ts";
import type { Reader, Reads } from "../database/reads.ts";
import { withAnswerTimeout } from "../errors/deadline.ts";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import { type KeyMint, keyIdOf } from "./key-string.ts";
import type { PostgresKeys } from "./keys-store.ts";

/** What {@link Keys} asks of the store of keys. */
export type KeyStore = Omit<PostgresKeys, keyof KeyLookup>;

/** A part of an account's keys. */
export interface KeyPage {
  /** The last key of the page before; `null` for the first page. */
  readonly after: KeyPosition | null;
  readonly limit: number;
  /** Only keys whose name or key ID contains this, upper and lower case alike; `null`: all keys. */
  readonly search: string | null;
}

/** How many keys an account has. */
export interface KeyCounts {
  /** The number of active keys. */
  readonly active: number;
  /** The number of revoked keys. */
  readonly revoked: number;
  /** Whether a request was ever made with one of them. */
  readonly areUsed: boolean;
}

/** The position of a key in the list of its account's keys. */
export interface KeyPosition {
  readonly state: KeyState;
  readonly id: KeyUuid;
}

export interface NewKey {
  readonly id: KeyUuid;
  readonly accountId: AccountId;
  /** `null`: the name of the key that it replaces, with a number. */
  readonly name: string | null;
  readonly keyId: string;
  readonly digest: Uint8Array;
  readonly createdAt: Date;
  readonly idempotencyDigest: Uint8Array | null;
  readonly rotation: { readonly replaces: KeyUuid; readonly idleAfterSeconds: number } | null;
}

/** A key that was created. */
export interface StoredKey {
  readonly key: Key;
  /**
   * Set when the same call had created a key before that is still unused: its string was replaced, and the account's version
   * raised to this.
   */
  readonly reissuedAt: bigint | null;
}

interface CreatedKey {
  /** The id of the key, a UUID. */
  readonly id: KeyUuid;
  /** The name of the key. */
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  /** The complete key string, which cannot be read again. */
  readonly key: string;
  /** A new key is active. */
  readonly state: "active";
  /** When the key was created. */
  readonly createdAt: Date;
  /** The id of the key that this one replaces; `null`: none. */
  readonly replaces: KeyUuid | null;
}

interface RotateRequest {
  readonly id: KeyUuid;
  /** `null`: the name of the old key with a number. */
  readonly name: string | null;
  /** For how long the old key has to be unused before it is reported idle. */
  readonly idleAfterSeconds: number;
  readonly idempotencyKey: string | null;
}

/** A key that is to be created, alone or as the successor of another. */
interface CreateRequest extends Pick<NewKey, "name" | "rotation"> {
  readonly idempotencyKey: string | null;
}

interface KeysParts {
  readonly store: KeyStore;
  readonly publisher: Publisher;
  readonly mint: KeyMint;
  /** Resolves when the account's entries that this node has recorded can be read. */
  readonly tryFlush: (accountId: AccountId) => Promise<void>;
  readonly reads: Reads;
  readonly now: () => Date;
}

/** Creates, lists, rotates and revokes the keys of accounts. */
export class Keys {
  readonly #parts: KeysParts;

  constructor(parts: KeysParts) {
    this.#parts = parts;
  }

  /**
   * Creates a key. With an idempotency key a repeated call creates no second key. As long as the first is unused, the call
   * replaces its string, because the lost one cannot be shown again.
   *
   * @throws {Failure} `conflict` when an active key has the name, when the first call may still be answered, or when its
   *   key is in use; `idempotency_key_reused` when it asked for something else; `key_limit_reached` at the plan's
   *   limit; `account_suspended`.
   */
  create(by: Actor, accountId: AccountId, name: string, idempotencyKey: string | null): Promise<CreatedKey> {
    return this.#create(by, accountId, { name, idempotencyKey, rotation: null });
  }

  /**
   * Creates a successor and links the two. The old key works until its owner revokes it. While both are active, the successor may
   * exceed the plan's number of active keys.
   *
   * @throws {Failure} as {@link create} does; `not_found`; `conflict` when the key is revoked or has a successor.
   */
  rotate(by: Actor, accountId: AccountId, request: RotateRequest): Promise<CreatedKey> {
    const { id: replaces, name, idleAfterSeconds, idempotencyKey } = request;
    return this.#create(by, accountId, { name, idempotencyKey, rotation: { replaces, idleAfterSeconds } });
  }

  /** Returns a page of keys with their usage, including all requests that this node has answered. */
  async list(
    accountId: AccountId,
    { after, limit, search }: KeyPage,
    reader: Reader,
  ): Promise<{ readonly keys: readonly ListedKey[]; readonly next: KeyPosition | null }> {
    const { store, now } = this.#parts;
    const { items, last } = await this.#onceFlushed(accountId, reader, () =>
      readPage(limit, (max) => store.listKeys(accountId, { after, limit: max, search }, now())),
    );
    return { keys: items, next: last };
  }

  /** Returns keys with their usage, as {@link list} does, without those that the account does not have. */
  async get(accountId: AccountId, ids: readonly KeyUuid[], reader: Reader): Promise<readonly ListedKey[]> {
    const { store, now } = this.#parts;
    return this.#onceFlushed(accountId, reader, () => store.findKeys(accountId, ids, now()));
  }

  /** Counts the keys. */
  async count(accountId: AccountId, reader: Reader): Promise<KeyCounts> {
    return this.#onceFlushed(accountId, reader, () => this.#parts.store.countKeys(accountId));
  }

  /** Returns a key with its present usage. @throws {Failure} `not_found` */
  async usage(
    accountId: AccountId,
    id: KeyUuid,
    reader: Reader,
  ): Promise<Omit<ListedKey, "usage"> & KeyUsage> {
    const [found = noSuchKey()] = await this.get(accountId, [id], reader);
    const { usage, ...key } = found;
    return { ...key, ...usage };
  }

  /** Returns the addresses from which a key was used in the last 30 days, at most `max`, the latest first. @throws {Failure} `not_found` */
  async addresses(
    accountId: AccountId,
    id: KeyUuid,
    max: number,
    reader: Reader,
  ): Promise<readonly KeyAddress[]> {
    const found = await this.#onceFlushed(accountId, reader, () =>
      this.#parts.store.listAddresses(accountId, id, max, this.#parts.now()),
    );
    return found ?? noSuchKey();
  }

  /**
   * Once this has resolved, no node admits the key. Revoking it again repairs a failed publication and changes nothing else.
   *
   * @throws {Failure} `not_found` when the account has no such key; `server_is_overloaded` when the revocation
   *   could not be published to all nodes yet.
   */
  async revoke(by: Actor, accountId: AccountId, id: KeyUuid): Promise<Key> {
    const outcome = (await this.#parts.store.revokeKey(accountId, id, by, this.#parts.now())) ?? noSuchKey();
    await this.#parts.publisher.publish(accountId, outcome.version);
    return outcome.key;
  }

  #onceFlushed<Answer>(accountId: AccountId, reader: Reader, read: () => Promise<Answer>): Promise<Answer> {
    return withAnswerTimeout(async () => {
      await this.#parts.tryFlush(accountId);
      return this.#parts.reads.inOneSlice(reader, read);
    });
  }

  async #create(
    by: Actor,
    accountId: AccountId,
    { name, idempotencyKey, rotation }: CreateRequest,
  ): Promise<CreatedKey> {
    for (;;) {
      const keyString = this.#parts.mint.mint();
      const fresh: NewKey = {
        id: uuidv7() as KeyUuid,
        accountId,
        name,
        keyId: keyIdOf(keyString),
        digest: digestOf(keyString),
        createdAt: this.#parts.now(),
        idempotencyDigest: idempotencyKey === null ? null : digestOf(idempotencyKey),
        rotation,
      };
      const stored = await this.#parts.store.createKey(fresh, by);
      // The probability is one in 14 million for each earlier key of the account.
      if (stored === null) continue;
      const { key, reissuedAt } = stored;
      if (reissuedAt !== null) await this.#parts.publisher.publish(accountId, reissuedAt);
      const { id, keyId, createdAt, replaces } = key;
      return { id, name: key.name, keyId, key: keyString, state: "active", createdAt, replaces };
    }
  }
}

export function noSuchKey(): never {
  throw new Failure("not_found", "The account has no such key. List the keys to find its id.", {
    param: "id",
  });
}
