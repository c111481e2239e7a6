import { v7 as uuidv7 } from "uuid";
import { ACTIVE_KEY_LIMITS, type AccountId } from "../accounts/account.ts";
import type { AdmissionStore } from "../admission/admission-store.ts";
import { Failure } from "../errors/failure.ts";
import { digestOf } from "../secrets/digest.ts";
import type { Key, KeyUuid, ListedKey } from "./key.ts";
import { keyIdOf, mintKeyString } from "./key-string.ts";

/** What managing keys needs of the store. Each change raises the account's version in the same transaction. */
export interface KeyStore {
  createKey(key: NewKey, limits: typeof ACTIVE_KEY_LIMITS): Promise<CreateOutcome>;
  listKeys(accountId: AccountId): Promise<readonly ListedKey[]>;
  /** Revoking a revoked key changes nothing. @returns `null` when the account has no such key. */
  revokeKey(
    accountId: AccountId,
    id: KeyUuid,
    now: Date,
  ): Promise<{ readonly key: Key; readonly version: bigint } | null>;
}

export interface NewKey {
  readonly id: KeyUuid;
  readonly accountId: AccountId;
  readonly name: string;
  readonly keyId: string;
  readonly digest: Uint8Array;
  readonly createdAt: Date;
}

export type CreateOutcome =
  | { readonly kind: "created"; readonly key: Key; readonly version: bigint }
  | { readonly kind: "name-taken" }
  | { readonly kind: "key-id-taken" }
  | { readonly kind: "limit-reached"; readonly limit: number };

export interface CreatedKey {
  readonly id: KeyUuid;
  readonly name: string;
  readonly keyId: string;
  /** The whole key string, here and never again. */
  readonly key: string;
  readonly state: "active";
  readonly createdAt: Date;
}

/** Creating, listing and revoking an account's keys. */
export class Keys {
  readonly #store: KeyStore;
  readonly #admission: AdmissionStore;
  readonly #now: () => Date;

  constructor(store: KeyStore, admission: AdmissionStore, now: () => Date) {
    this.#store = store;
    this.#admission = admission;
    this.#now = now;
  }

  /**
   * @throws {Failure} `conflict` when an active key has the name; `key_limit_reached` at the plan's limit.
   */
  async create(accountId: AccountId, name: string): Promise<CreatedKey> {
    for (;;) {
      const keyString = mintKeyString();
      const outcome = await this.#store.createKey(
        {
          id: uuidv7() as KeyUuid,
          accountId,
          name,
          keyId: keyIdOf(keyString),
          digest: digestOf(keyString),
          createdAt: this.#now(),
        },
        ACTIVE_KEY_LIMITS,
      );
      switch (outcome.kind) {
        case "created": {
          await this.#admission.publish(accountId, outcome.version);
          const { id, keyId, createdAt } = outcome.key;
          return { id, name, keyId, key: keyString, state: "active", createdAt };
        }
        case "key-id-taken":
          // One in 14 million for each key the account ever had: mint another.
          continue;
        case "name-taken":
          throw new Failure("conflict", `An active key is named "${name}". Choose another name.`, {
            param: "name",
          });
        case "limit-reached":
          throw new Failure(
            "key_limit_reached",
            `The account has ${outcome.limit} active keys, as many as its plan allows. Revoke one, or change the plan.`,
          );
      }
    }
  }

  list(accountId: AccountId): Promise<readonly ListedKey[]> {
    return this.#store.listKeys(accountId);
  }

  /**
   * Once this has resolved no node admits the key. Revoking it again is harmless, and mends a revocation whose
   * publication failed.
   *
   * @throws {Failure} `not_found` when the account has no such key.
   */
  async revoke(accountId: AccountId, id: KeyUuid): Promise<Key> {
    const outcome = await this.#store.revokeKey(accountId, id, this.#now());
    if (outcome === null) {
      throw new Failure("not_found", "The account has no such key. List its keys to find the id.", {
        param: "id",
      });
    }
    await this.#admission.publish(accountId, outcome.version);
    return outcome.key;
  }
}
