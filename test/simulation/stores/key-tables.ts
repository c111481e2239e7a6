import type { Account, AccountId } from "../../../server/src/contract/account.ts";
import type { Key, KeySnapshot, KeyState, KeyUuid } from "../../../server/src/contract/key.ts";
import type { Limits } from "../../../server/src/contract/limits.ts";
import { digestTextOf } from "../../../server/src/secrets/digest.ts";
import { KEY_PREFIX, withChecksum } from "../../../server/src/secrets/secret-string.ts";

/** As much of a key string as its checksum covers. */
const BODY_LENGTH = 43;

/** A key that a client may use. */
export interface IssuedKey {
  readonly id: KeyUuid;
  readonly accountId: AccountId;
  readonly keyString: string;
}

interface KeyRow extends IssuedKey {
  state: KeyState;
}

interface AccountRow {
  readonly id: AccountId;
  readonly limits: Limits;
  version: bigint;
}

/** The database's tables of accounts and keys, as far as admission reads them and a revocation changes them. */
export class KeyTables {
  readonly #accounts = new Map<AccountId, AccountRow>();
  readonly #keys = new Map<KeyUuid, KeyRow>();
  readonly #byDigest = new Map<string, KeyRow>();
  /** Versions that were committed and perhaps not published. */
  readonly #unpublished = new Map<AccountId, bigint>();

  addAccount(id: AccountId, limits: Limits): void {
    this.#accounts.set(id, { id, limits, version: 1n });
  }

  addKey(accountId: AccountId, name: string): IssuedKey {
    const keyString = withChecksum(KEY_PREFIX, name.padEnd(BODY_LENGTH, "0"));
    const row: KeyRow = { id: name as KeyUuid, accountId, keyString, state: "active" };
    this.#keys.set(row.id, row);
    this.#byDigest.set(digestTextOf(keyString), row);
    return row;
  }

  get unpublished(): number {
    return this.#unpublished.size;
  }

  findByDigest(digest: Uint8Array): KeySnapshot | null {
    const key = this.#byDigest.get(Buffer.from(digest).toString("base64"));
    const account = key === undefined ? undefined : this.#accounts.get(key.accountId);
    if (key === undefined || account === undefined) return null;
    return {
      key: { id: key.id, keyId: key.keyString.slice(-4), state: key.state },
      account: { ...PLAIN_ACCOUNT, id: account.id, limits: account.limits, version: account.version },
    };
  }

  /** One transaction: the key is revoked, the version raised and noted as not published yet. */
  revoke(
    accountId: AccountId,
    id: KeyUuid,
    now: Date,
  ): { readonly key: Key; readonly version: bigint } | null {
    const account = this.#accounts.get(accountId);
    const key = this.#keys.get(id);
    if (account === undefined || key?.accountId !== accountId) return null;
    key.state = "revoked";
    this.#unpublished.set(accountId, ++account.version);
    return { key: keyOf(key, now), version: account.version };
  }

  listUnpublished(
    after: AccountId | null,
    limit: number,
  ): readonly { readonly accountId: AccountId; readonly version: bigint }[] {
    const sorted = [...this.#unpublished].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const next = sorted.findIndex(([accountId]) => after !== null && accountId > after);
    const turned = next === -1 ? sorted : [...sorted.slice(next), ...sorted.slice(0, next)];
    return turned.slice(0, limit).map(([accountId, version]) => ({ accountId, version }));
  }

  isPending(accountId: AccountId, version: bigint): boolean {
    const waiting = this.#unpublished.get(accountId);
    return waiting !== undefined && waiting >= version;
  }

  clearUnpublished(accountId: AccountId, version: bigint): void {
    const waiting = this.#unpublished.get(accountId);
    if (waiting !== undefined && waiting <= version) this.#unpublished.delete(accountId);
  }
}

const PLAIN_ACCOUNT: Pick<Account, "state" | "plan" | "ipRules"> = {
  state: "active",
  plan: "pro",
  ipRules: { mode: "enforce", networks: [] },
};

function keyOf({ id, keyString, state }: KeyRow, now: Date): Key {
  const revokedAt = state === "revoked" ? now : null;
  return { id, name: id, keyId: keyString.slice(-4), state, createdAt: now, revokedAt, replaces: null };
}
