import type { Account, Balance, Limits, UsageSummaryParams, UsageTotals } from "./management.ts";
import type { SecurityEventKind } from "./security-words.ts";

/** The kind of a security event. */
export type { SecurityEventKind };

/** An account as operators see it. */
export interface OperatedAccount
  extends Pick<
    Account,
    "id" | "name" | "plan" | "state" | "suspension" | "ipRules" | "limits" | "createdAt"
  > {}

/** An account with its users, number of active keys and balance. */
export interface ListedAccount extends OperatedAccount {
  readonly users: readonly { readonly id: string; readonly email: string }[];
  readonly activeKeys: number;
  /** Nano-USD. */
  readonly balanceNanoUsd: bigint;
}

/** The outcome of a change of an account, in force on every node. */
export interface AccountChange {
  /** The account after the change. */
  readonly account: OperatedAccount;
  /** Other effects of the change, a sentence each. */
  readonly notices: readonly string[];
}

/** The networks that an account's keys may be used from. `report` lets other requests pass and marks their entries. */
export interface IpRules {
  readonly mode: "enforce" | "report";
  /** IPv4 and IPv6 addresses and CIDR blocks. Empty: no restriction. */
  readonly networks: readonly string[];
}

/** Limits of an account that differ from its plan's. `null` uses the plan's. */
export type LimitOverrides = Limits;

/** Health of an upstream, as the answering node sees it. */
export interface UpstreamHealth {
  readonly name: string;
  /** `closed`: healthy. `open`: no requests are sent for a while. `half-open`: one request at a time tests the upstream. */
  readonly breaker: "closed" | "open" | "half-open";
  readonly inFlight: number;
  /** Requests that wait for a concurrency slot of the upstream. */
  readonly waiting: number;
  /** Since the node was started. */
  readonly successes: number;
  readonly failures: number;
  readonly lastFailure: { readonly at: Date; readonly reason: string } | null;
  /** When the upstream last refused the service's credential. `null` while it accepts it. */
  readonly credentialRefusedAt: Date | null;
}

/** One start of a node, with the credit that it has reserved. */
export interface CreditNode {
  readonly id: bigint;
  /** The same for all starts of a node. */
  readonly nodeId: string;
  /** The node's host and process. */
  readonly label: string;
  readonly seenAt: Date;
  /** Whether it has not been seen for a minute. */
  readonly isAway: boolean;
  /** The number of accounts whose credit it has reserved. */
  readonly accounts: number;
  readonly reservedNanoUsd: bigint;
}

/** A line of a node's journal that could not be read or recorded. */
export interface SetAsideLine {
  readonly id: string;
  /** The file in the journal's folder, and the line in it, counted from 1. */
  readonly file: string;
  readonly line: number;
  readonly bytes: number;
  /** `ended`: a request that has ended. `begun`: a request that has begun. `unreadable`: the line does not show which. */
  readonly kind: "ended" | "begun" | "unreadable";
  /** Why the line cannot be read. `null` if it can: the database has refused it, and a replay returns the reason. */
  readonly problem: string | null;
  /** The request of a line that can be read. */
  readonly request: {
    readonly requestId: string;
    readonly accountId: string;
    readonly at: Date;
    readonly costNanoUsd: bigint;
  } | null;
  /** The beginning of the line; the whole line if a single line was requested. */
  readonly text: string;
}

/** The set-aside lines of one node's journal. */
export interface SetAside {
  readonly node: string;
  /** The journal's folder on that node. */
  readonly folder: string;
  readonly lines: readonly SetAsideLine[];
  /** The number of lines beyond those listed. */
  readonly more: number;
  /** Files and folders that cannot be read at all. */
  readonly files: readonly { readonly file: string; readonly problem: string }[];
}

/** The outcome of a replay of lines. */
export interface JournalReplay {
  readonly replayed: number;
  readonly notReplayed: readonly {
    readonly id: string;
    readonly file: string;
    readonly line: number;
    readonly reason: string;
  }[];
}

/** The outcome of a reconciliation. Any mismatch is a fault. */
export interface ReconciliationReport {
  /** Accounts whose balance is not the sum of their ledger, or is negative. */
  readonly mismatches: readonly (Balance & { readonly accountId: string; readonly ledgerNanoUsd: bigint })[];
  /** Usage sums that differ from the sum of the entries (`hour`), of the hours (`day`) or of the days (`month`). */
  readonly usageMismatches: readonly {
    /** `null` for the sum of the whole service. */
    readonly accountId: string | null;
    readonly interval: "hour" | "day" | "month";
    readonly start: Date;
    /** `null` for the sum of all keys. */
    readonly key: string | null;
    /** `null` for the sum of all models. */
    readonly model: string | null;
  }[];
  /** The start of the period in which usage was compared and uncollected amounts were added up. */
  readonly since: Date;
  /** Credit reserved by all nodes. `stuckNanoUsd` is the part of nodes that have not been seen for a minute. */
  readonly reserved: {
    readonly reservations: number;
    readonly nanoUsd: bigint;
    readonly stuckNanoUsd: bigint;
  };
  /**
   * Amounts that accounts did not pay since then, by reason: `beyond_hold` (it cost more than was held for it, and the
   * account had no more), `released` (the credit of its node had been released), `repeated` (a second answer to one
   * idempotency key), `implausible` (reported by an upstream beyond what the model can do).
   */
  readonly uncollected: readonly {
    readonly reason: string;
    readonly accounts: number;
    readonly nanoUsd: bigint;
  }[];
  /** Credit that the answering node holds for requests that are being answered. */
  readonly held: { readonly holds: number; readonly nanoUsd: bigint };
  readonly checkedAt: Date;
}

/** Parameters of `operator.usage`. */
export interface ServiceUsageParams extends Pick<UsageSummaryParams, "from" | "to" | "interval"> {
  readonly groupBy?: "none" | "model" | "account" | undefined;
}

/** Usage in one interval: of all accounts, or of one model or account where it is grouped. */
export interface ServiceUsageRow extends UsageTotals {
  readonly start: Date;
  /** `null` unless grouped by model; empty for requests that named none, `unknown model` for all names that the catalog does not have. */
  readonly model: string | null;
  /** `null` unless grouped by account. */
  readonly account: { readonly id: string; readonly name: string } | null;
  /** Whether the row sums up all models or accounts that have no row of their own. */
  readonly isOther: boolean;
}

/** The answer of `operator.usage`. */
export interface ServiceUsage {
  /** In order of time; intervals without a request are left out. */
  readonly rows: readonly ServiceUsageRow[];
  readonly total: UsageTotals;
}

/** Parameters of `operator.security`. */
export interface SecurityParams {
  readonly kind?: SecurityEventKind | undefined;
  readonly accountId?: string | undefined;
  /** An address or CIDR block. */
  readonly source?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Security events of one hour that agree in every other field, with their count. */
export interface SecurityEvent {
  readonly id: string;
  readonly kind: SecurityEventKind;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The account of the key, management token or user. */
  readonly account: { readonly id: string; readonly name: string } | null;
  /** Last 4 characters of a key that exists or existed. */
  readonly keyId: string | null;
  /** The user who signed in or tried to. `null` when there is no such user. */
  readonly userEmail: string | null;
  readonly sourceIp: string | null;
  readonly upstream: string | null;
}

/** A change, as the audit trail records it. */
export interface Action {
  readonly id: string;
  readonly at: Date;
  /** `null` if the service itself made the change. */
  readonly by: {
    readonly userId: string;
    /** The name of the management token; `null` if the person was signed in. */
    readonly managementToken: string | null;
    readonly sourceIp: string | null;
  } | null;
  readonly userEmail: string | null;
  readonly byOperator: boolean;
  readonly accountId: string | null;
  readonly accountName: string | null;
  /** Such as `account.suspend` or `key.revoke`. */
  readonly action: string;
  readonly reason: string | null;
  /** The parts that changed: plain JSON, money as decimal strings. */
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** The current catalog. */
export interface CatalogInForce {
  readonly models: readonly {
    readonly id: string;
    readonly aliases: readonly string[];
    readonly ownedBy: string;
    readonly sandbox: boolean;
    readonly routes: readonly {
      readonly upstream: string;
      readonly model: string;
      readonly weight: number;
    }[];
  }[];
  readonly upstreams: readonly {
    readonly name: string;
    readonly dialect: string;
    readonly baseUrl: string;
    readonly hasCredential: boolean;
  }[];
}
