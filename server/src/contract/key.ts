import type { AccountId, AccountState, IpRules, LimitOverrides, Plan } from "./account.ts";

/** The key's UUIDv7. Not its key ID, which is the last 4 characters of the key string. */
export type KeyUuid = string & { readonly __id: "key" };
export type KeyState = "active" | "revoked";

/** The form of a key ID: the last 4 characters of a key string. */
export const KEY_ID = /^[0-9A-Za-z]{4}$/;

/** True for a text that may be a key ID. */
export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** A key as its owner sees it. */
export interface Key {
  /** The id of the key, a UUID. */
  readonly id: KeyUuid;
  /** The name of the key. */
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  /** Whether requests with the key are accepted. */
  readonly state: KeyState;
  /** When the key was created. */
  readonly createdAt: Date;
  /** When the key was revoked; `null`: it is active. */
  readonly revokedAt: Date | null;
  /** The id of the key that this one was created to replace; `null`: none. */
  readonly replaces: KeyUuid | null;
}

/** The usage of a key. Refused requests count, too, because a client still sends them. */
export interface KeyUsage {
  /** When the last request arrived; `null`: never used. */
  readonly lastUsedAt: Date | null;
  /** The address of the last request; `null` if the key was never used or the address is unknown. */
  readonly lastUsedIp: string | null;
  /** The number of client addresses in the last 30 days. */
  readonly addresses: number;
  /** Requests in the last 60 seconds. */
  readonly requestsLastMinute: number;
  /** Requests in the present minute and the 60 before it. */
  readonly requestsLastHour: number;
  /** Requests in the present minute and the 1,440 before it. */
  readonly requestsLastDay: number;
}

/** A client's address, and when a key was last used from it. */
export interface KeyAddress {
  /** An IPv4 or IPv6 address. */
  readonly ip: string;
  /** When the last request with the key arrived from it. */
  readonly lastUsedAt: Date;
}

export interface ListedKey extends Key {
  /** How much the key is used. */
  readonly usage: KeyUsage;
  /** How far the successor has taken over; `null`: `rotate` has created none. */
  readonly rotation: Rotation | null;
}

/** How far a key's successor has taken over. The owner must revoke the old key. */
export interface Rotation {
  /** The id of the successor. */
  readonly successorId: KeyUuid;
  /** Seconds without a request after which the old key counts as idle. */
  readonly idleAfterSeconds: number;
  /** Since when the old key has been unused: its last request, or the creation of the successor if that was later. */
  readonly idleSince: Date;
  /** Whether the old key has been unused for `idleAfterSeconds`. Revoking it remains the owner's decision. */
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
