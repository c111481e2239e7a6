import type { AccountId, AccountState, Plan } from "../accounts/account.ts";

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
}

export interface ListedKey extends Key {
  readonly lastUsedAt: Date | null;
}

/** A key and its account at one version: all that is needed to decide whether a request may pass. */
export interface KeySnapshot {
  readonly key: { readonly id: KeyUuid; readonly keyId: string; readonly state: KeyState };
  readonly account: {
    readonly id: AccountId;
    readonly state: AccountState;
    readonly plan: Plan;
    /** Raised by every change of the account's keys, state, plan, limits or IP rules. */
    readonly version: bigint;
  };
}
