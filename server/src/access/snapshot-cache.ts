import { LRUCache } from "lru-cache";
import type { AccountId } from "../contract/account.ts";
import type { KeySnapshot } from "../contract/key.ts";
import { atMost } from "../resources/at-most.ts";

const KEYS = 100_000;
/** The maximum sum of the number of accounts and of the networks in their IP rules. A parsed network takes about 150 bytes. */
const ACCOUNTS_AND_NETWORKS = 500_000;
/** A snapshot that was not used for this long is dropped, to free memory. Versions decide whether a snapshot is current. */
const IDLE = { ttl: 15 * 60_000, ttlResolution: 1_000, updateAgeOnGet: true };

interface CachedKey {
  readonly key: KeySnapshot["key"];
  readonly accountId: AccountId;
  /** The version of the account when the key was read. */
  readonly version: bigint;
}

/** A bounded cache of snapshots by the digest of the key string. All keys of an account share one account object. */
export class SnapshotCache {
  readonly #keys = new LRUCache<string, CachedKey>({
    ...atMost(KEYS),
    ...IDLE,
  });
  readonly #accounts = new LRUCache<AccountId, KeySnapshot["account"]>({
    maxSize: ACCOUNTS_AND_NETWORKS,
    sizeCalculation: ({ ipRules }) => 1 + ipRules.networks.length,
    ...IDLE,
  });

  /** The key and its account as they were at one version. */
  get(digest: string): KeySnapshot | undefined {
    const cached = this.#keys.get(digest);
    if (cached === undefined) return undefined;
    const account = this.#accounts.get(cached.accountId);
    return account?.version === cached.version ? { key: cached.key, account } : undefined;
  }

  /** @returns the snapshot, with the account that its other keys share. */
  set(digest: string, snapshot: KeySnapshot): KeySnapshot {
    const { key } = snapshot;
    const { id, version } = snapshot.account;
    const held = this.#accounts.get(id);
    // Another key's read has found a newer version of the account, so this snapshot is stale.
    if (held !== undefined && held.version > version) return snapshot;
    const account = held?.version === version ? held : snapshot.account;
    if (account !== held) this.#accounts.set(id, account);
    this.#keys.set(digest, { key, accountId: id, version });
    return { key, account };
  }

  delete(digest: string): void {
    this.#keys.delete(digest);
  }

  clear(): void {
    this.#keys.clear();
    this.#accounts.clear();
  }

  dropIdle(): void {
    this.#keys.purgeStale();
    this.#accounts.purgeStale();
  }
}
