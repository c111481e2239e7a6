import type { AccountId, AccountState, IpRules, LimitOverrides, Plan } from "./account.ts";

/** The key's UUIDv7. Not its key ID, which is the last 4 characters of the key string. */
export type KeyUuid = string & { readonly __id: "key" };
export type KeyState = "active" | "revoked";

/** A key as its owner sees it. */
export interface Key {
  readonly id: KeyUuid;
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  readonly state: KeyState;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** The key that this one was created to take over from. */
  readonly replaces: KeyUuid | null;
}

/** The usage of a key. Refused requests count, too, because a client still sends them. */
export interface KeyUsage {
  readonly lastUsedAt: Date | null;
  /** Where the last request came from; `null` also when that address is unknown. */
  readonly lastUsedIp: string | null;
  /** The number of client addresses in the last 30 days. */
  readonly addresses: number;
  /** Exactly the last 60 seconds. */
  readonly requestsLastMinute: number;
  /** Whole minutes: the present one and the 60 before it. */
  readonly requestsLastHour: number;
  /** Whole minutes: the present one and the 1,440 before it. */
  readonly requestsLastDay: number;
}

export interface ListedKey extends Key {
  readonly usage: KeyUsage;
  /** Set once a successor was made by `rotate`. */
  readonly rotation: Rotation | null;
}

/** How far a key's successor has taken over. The owner must revoke the old key. */
export interface Rotation {
  readonly successorId: KeyUuid;
  /** For how long the old key has to be unused. */
  readonly idleAfterSeconds: number;
  /** Since when it has been unused: its last request, or the successor's creation if that was later. */
  readonly idleSince: Date;
  /** True when it has been unused for long enough. */
  readonly isIdle: boolean;
}

/** A key and its account at one version, which is enough to authorize a request. */
export interface KeySnapshot {
  readonly key: { readonly id: KeyUuid; readonly keyId: string; readonly state: KeyState };
  readonly account: {
    readonly id: AccountId;
    readonly state: AccountState;
    readonly plan: Plan;
    readonly ipRules: IpRules;
    readonly limits: LimitOverrides;
    /** Raised by every change that affects authorization. */
    readonly version: bigint;
  };
}

/** Reads snapshots from the database. */
export interface KeyLookup {
  /** @returns `null` when there is no such key, active or revoked. */
  findKeyByDigest(digest: Uint8Array): Promise<KeySnapshot | null>;
  /** @returns `null` when the account has no such key, active or revoked. */
  findDigest(accountId: AccountId, id: KeyUuid): Promise<Uint8Array | null>;
}
