/** An API key, without its string. */
export interface Key {
  readonly id: string;
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  readonly state: "active" | "revoked";
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** The key that this key was created to replace. */
  readonly replaces: string | null;
}

/** Use of a key, from the audit log. */
export interface KeyUsage {
  readonly lastUsedAt: Date | null;
  readonly lastUsedIp: string | null;
  /** The number of addresses that used the key in the last 30 days. */
  readonly addresses: number;
  readonly requestsLastMinute: number;
  readonly requestsLastHour: number;
  readonly requestsLastDay: number;
}

/** The state of a key's rotation. */
export interface Rotation {
  readonly successorId: string;
  /** Seconds without a request after which the old key counts as idle. */
  readonly idleAfterSeconds: number;
  /** The old key's last request, or the creation of its successor if that was later. */
  readonly idleSince: Date;
  /** Whether the old key has been idle for that long. */
  readonly isIdle: boolean;
}

/** A key with its use and the state of its rotation. */
export interface ListedKey extends Key {
  readonly usage: KeyUsage;
  /** `null`: the key has no successor. */
  readonly rotation: Rotation | null;
}

/** A key that was just created. Its string cannot be read again. */
export interface CreatedKey {
  readonly id: string;
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  /** The key string. Store it now. */
  readonly key: string;
  readonly state: "active" | "revoked";
  readonly createdAt: Date;
  /** The key that this key was created to replace. */
  readonly replaces: string | null;
}

/** Parameters of `keys.create`. */
export interface KeyCreateParams {
  /** 1 to 64 characters, unique among the account's active keys. */
  readonly name: string;
  /** A repeated call with the same value within 24 hours creates no second key. Default: a random value for each call. */
  readonly idempotencyKey?: string | undefined;
}

/** Parameters of `keys.rotate`. */
export interface KeyRotateParams {
  /** The successor's name. Default: derived from the old key's name. */
  readonly name?: string | undefined;
  /** Seconds without a request after which the old key counts as idle. Default: a day. */
  readonly idleAfterSeconds?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Rate limits. `null`: no limit. */
export interface Limits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrentRequests: number | null;
}

/** The account, as its owner sees it. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: "free" | "pro" | "enterprise";
  readonly state: "active" | "suspended";
  /** `null` while the account is active. */
  readonly suspension: { readonly at: Date; readonly reason: string } | null;
  /** The networks that its keys may be used from. No networks: no restriction. */
  readonly ipRules: { readonly mode: "enforce" | "report"; readonly networks: readonly string[] };
  /** Whether the IP rules apply to requests. They apply to enterprise accounts only. */
  readonly ipRulesInForce: boolean;
  /** Limits that differ from the plan's. `null` uses the plan's. */
  readonly limits: Limits;
  readonly limitsInForce: Limits;
  /** `null`: any number of active keys. */
  readonly keyLimit: number | null;
  /** `null`: audit entries are never deleted. */
  readonly auditRetentionDays: number | null;
  readonly createdAt: Date;
}

/** The account's credit. */
export interface Balance {
  /** Nano-USD. */
  readonly balanceNanoUsd: bigint;
  /** The part of the balance that nodes have reserved for requests. */
  readonly reservedNanoUsd: bigint;
}

/** A change of the account's credit. */
export interface LedgerEntry {
  readonly id: string;
  readonly at: Date;
  /**
   * A charge covers many requests; their entries are in the audit log. It is written in full. The part that the account did
   * not pay is a row of its own, `uncollected`, with a positive amount.
   */
  readonly kind: "grant" | "adjustment" | "charge" | "uncollected";
  /** Negative for amounts that reduce the balance. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
}

/** Parameters of `usage.summary`. */
export interface UsageSummaryParams {
  /** Included. Rounded down to the start of an interval, in UTC. */
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
  readonly interval: "hour" | "day" | "month";
  readonly groupBy?: "none" | "model" | "key" | undefined;
}

/** Sums over requests. */
export interface UsageTotals {
  readonly requests: number;
  /** Requests that were answered with a status of 400 or more. */
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly costNanoUsd: bigint;
}

/** Usage in one interval: of the account, or of one model or key where it is grouped. */
export interface UsageRow extends UsageTotals {
  readonly start: Date;
  /** `null` unless grouped by model; empty for requests that named none, `unknown model` for all names that the catalog does not have. */
  readonly model: string | null;
  /** `null` unless grouped by key. */
  readonly key: { readonly id: string; readonly keyId: string; readonly name: string } | null;
  /** Whether the row sums up all models or keys that have no row of their own. */
  readonly isOther: boolean;
}

/** The answer of `usage.summary`. */
export interface UsageSummary {
  /** In order of time. Intervals without requests are left out. */
  readonly rows: readonly UsageRow[];
  readonly total: UsageTotals;
}

/** A point in an account's chain of batches. Keep it to verify later that nothing before it was modified. */
export interface ChainPoint {
  /** From 1 up. */
  readonly batch: number;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

/** The outcome of verifying a part of the audit log. */
export interface AuditVerification {
  /** The end of the chain. Keep it, and pass it as `expected` later. */
  readonly head: ChainPoint | null;
  /** Batches that were deleted at the end of their retention. */
  readonly removedBatches: number;
  readonly batches: number;
  readonly entries: number;
  readonly problems: readonly {
    readonly batch: number;
    readonly problem: "changed" | "entries_missing" | "entries_added" | "batch_missing" | "digest_differs";
    readonly recordedEntries: number | null;
    readonly foundEntries: number;
  }[];
  /** Pass it as `after` to verify the rest. `null` when everything has been verified. */
  readonly next: number | null;
}

/** Parameters of `audit.verify`: where to continue, and a point that was kept earlier. */
export interface AuditVerifyParams {
  readonly after?: number | undefined;
  readonly expected?: ChainPoint | undefined;
}
