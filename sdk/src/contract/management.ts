/** An API key, without its string. */
export interface Key {
  readonly id: string;
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  readonly state: "active" | "revoked";
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** The key that this one was created to take over from. */
  readonly replaces: string | null;
}

/** Who uses a key, by the service's audit log. */
export interface KeyUsage {
  readonly lastUsedAt: Date | null;
  readonly lastUsedIp: string | null;
  /** Addresses that it was used from in the last 30 days. */
  readonly addresses: number;
  readonly requestsLastMinute: number;
  readonly requestsLastHour: number;
  readonly requestsLastDay: number;
}

/** How far a key's successor has taken over. */
export interface Rotation {
  readonly successorId: string;
  /** Seconds without a request after which the old key counts as quiet. */
  readonly quietAfterS: number;
  readonly quietSince: Date;
  readonly isQuiet: boolean;
}

/** A key with who uses it, and what has come of its rotation. */
export interface ListedKey extends Key {
  readonly usage: KeyUsage;
  /** `null`: the key has no successor. */
  readonly rotation: Rotation | null;
}

/** A key that was just created: the only time that its string is told. */
export interface CreatedKey {
  readonly id: string;
  readonly name: string;
  /** Last 4 characters of the key string. */
  readonly keyId: string;
  /** The key string. Store it now. */
  readonly key: string;
  readonly state: "active" | "revoked";
  readonly createdAt: Date;
  /** The key that this one was created to take over from. */
  readonly replaces: string | null;
}

/** What `keys.create` takes. */
export interface KeyCreateParams {
  /** 1 to 64 characters, unique among the account's active keys. */
  readonly name: string;
  /** Repeated with it within 24 hours, the call makes no second key. Default: one of its own for each call. */
  readonly idempotencyKey?: string | undefined;
}

/** What `keys.rotate` takes. */
export interface KeyRotateParams {
  /** Of the successor. Default: made from the old one's. */
  readonly name?: string | undefined;
  /** Seconds without a request after which the old key counts as quiet. Default: a day. */
  readonly quietAfterS?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Limits; `null`: there is none. */
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
  /** From where its keys may be used; no networks: from everywhere. */
  readonly ipRules: { readonly mode: "enforce" | "report"; readonly networks: readonly string[] };
  /** Whether the rules bear on requests: they do on enterprise accounts. */
  readonly ipRulesInForce: boolean;
  /** Limits of its own; `null`: as the plan says. */
  readonly limits: Limits;
  readonly limitsInForce: Limits;
  /** `null`: any number of active keys. */
  readonly keyLimit: number | null;
  /** `null`: audit entries are kept for ever. */
  readonly auditRetentionDays: number | null;
  readonly createdAt: Date;
}

/** The account's credit. */
export interface Balance {
  /** Nano-USD. */
  readonly balanceNanoUsd: bigint;
  /** Of it, set aside for requests that are being answered, or about to come. */
  readonly reservedNanoUsd: bigint;
}

/** A change of the account's credit. */
export interface LedgerEntry {
  readonly id: string;
  readonly at: Date;
  /**
   * A charge is that of many requests at once: their entries are in the audit log. It is written in full; what of it the
   * account did not pay stands beside it as `uncollected`, a positive amount.
   */
  readonly kind: "grant" | "adjustment" | "charge" | "uncollected";
  /** Negative: went out. */
  readonly amountNanoUsd: bigint;
  readonly reason: string;
}

/** What `usage.summary` takes. */
export interface UsageSummaryParams {
  /** Whole intervals of UTC: rounded down to the beginning of one. */
  readonly from: Date;
  /** Not part of it. */
  readonly to: Date;
  readonly interval: "hour" | "day" | "month";
  readonly groupBy?: "none" | "model" | "key" | undefined;
}

/** What a number of requests came to. */
export interface UsageTotals {
  readonly requests: number;
  /** Of them, those answered with a status of 400 or more. */
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly costNanoUsd: bigint;
}

/** The same for one interval, and one model or key where it was grouped by that. */
export interface UsageRow extends UsageTotals {
  readonly start: Date;
  /** `null` unless grouped by it; empty for requests that named none, `unknown model` for all names that the catalog does not have. */
  readonly model: string | null;
  /** `null` unless grouped by it. */
  readonly key: { readonly id: string; readonly keyId: string; readonly name: string } | null;
  /** All models or keys but those that cost most over the time, together: neither is named. */
  readonly isRest: boolean;
}

/** What `usage.summary` answers. */
export interface UsageSummary {
  /** In order of time; intervals without a request are left out. */
  readonly rows: readonly UsageRow[];
  readonly total: UsageTotals;
}

/** A place in an account's chain of batches. Who notes it down can tell later whether what came before was touched. */
export interface ChainPoint {
  /** From 1 up. */
  readonly batch: number;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

/** What `audit.verify` has found in a stretch of the log. */
export interface AuditVerification {
  /** How far the chain has come. Note it down, and pass it as `expected` later. */
  readonly head: ChainPoint | null;
  /** Batches that were removed when they were as old as the plan keeps them. */
  readonly removedBatches: number;
  readonly batches: number;
  readonly entries: number;
  readonly problems: readonly {
    readonly batch: number;
    readonly problem: "changed" | "entries_missing" | "entries_added" | "batch_missing" | "digest_differs";
    readonly recordedEntries: number | null;
    readonly foundEntries: number;
  }[];
  /** To be passed as `after` to verify the rest; `null` when all has been. */
  readonly next: number | null;
}

/** What `audit.verify` takes: where to go on, and a point that was noted down earlier. */
export interface AuditVerifyParams {
  readonly after?: number | undefined;
  readonly expected?: ChainPoint | undefined;
}
