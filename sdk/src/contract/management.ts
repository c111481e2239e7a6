import type { Decimals } from "../core/decimals.ts";
import type { Procedures } from "./procedures.ts";

// The types of the account's procedures, by the names that people use for them. Fields and comments come from the router.

type Keys = Procedures["keys"];

/** An API key, without its string. @interface */
export type Key = Decimals<Keys["revoke"]["output"]>;

/** A key with its use and the state of its rotation. @interface */
export type ListedKey = Decimals<Keys["list"]["output"]["keys"][number]>;

/** Use of a key, from the audit log. @interface */
export type KeyUsage = ListedKey["usage"];

/** The answer of `keys.usage`: a key with its use. @interface */
export type KeyUse = Decimals<Keys["usage"]["output"]>;

/** A client's address, and when a key was last used from it. @interface */
export type KeyAddress = Decimals<Keys["addresses"]["output"]["addresses"][number]>;

/** The state of a key's rotation. @interface */
export type Rotation = NonNullable<ListedKey["rotation"]>;

/** A key that was just created. Its string cannot be read again. @interface */
export type CreatedKey = Decimals<Keys["create"]["output"]>;

/** Parameters of `keys.create`. @interface */
export type KeyCreateParams = Keys["create"]["input"];

/** Parameters of `keys.rotate`. @interface */
export type KeyRotateParams = Omit<Keys["rotate"]["input"], "id">;

/** The account, as its owner sees it. @interface */
export type Account = Decimals<Procedures["account"]["get"]["output"]>;

/** Rate limits. `null`: no limit. @interface */
export type Limits = Account["limits"];

/** The limits in force and their present use. @interface */
export type LimitUse = Decimals<Procedures["account"]["limits"]["output"]>;

/** A change of the account, from its audit trail. @interface */
export type AccountAction = Decimals<Procedures["account"]["actions"]["output"]["actions"][number]>;

/** Which page of a list. @interface */
export type PageParams = Omit<NonNullable<Procedures["credits"]["ledger"]["input"]>, "direction">;

/** The account's credit. @interface */
export type Balance = Decimals<Procedures["credits"]["balance"]["output"]>;

/**
 * A change of the account's credit. A charge covers many requests; their entries are in the audit log. It is written in full. The
 * part that the account did not pay is a row of its own, `uncollected`, with a positive amount.
 *
 * @interface
 */
export type LedgerEntry = Decimals<Procedures["credits"]["ledger"]["output"]["entries"][number]>;

/**
 * A line of the account's statement: a grant, an adjustment, or the requests of a UTC day with their complete sum.
 *
 * @interface
 */
export type StatementLine = Decimals<Procedures["credits"]["statement"]["output"]["lines"][number]>;

/** Parameters of `usage.summary`. @interface */
export type UsageSummaryParams = Procedures["usage"]["summary"]["input"];

/** The answer of `usage.summary`: rows in order of time, without the intervals that have no requests. @interface */
export type UsageSummary = Decimals<Procedures["usage"]["summary"]["output"]>;

/** Parameters of `usage.performance`. @interface */
export type UsagePerformanceParams = Procedures["usage"]["performance"]["input"];

/** The answer of `usage.performance`: latency and time to first token, by interval and by upstream. @interface */
export type UsagePerformance = Decimals<Procedures["usage"]["performance"]["output"]>;

/** Usage in one interval: of the account, or of one model or key where it is grouped. @interface */
export type UsageRow = UsageSummary["rows"][number];

/** Sums over requests. @interface */
export type UsageTotals = UsageSummary["total"];

/** The outcome of verifying a part of the audit log. @interface */
export type AuditVerification = Decimals<Procedures["audit"]["verify"]["output"]>;

/** Parameters of `audit.verify`: where to continue, and a point that was kept earlier. @interface */
export type AuditVerifyParams = NonNullable<Procedures["audit"]["verify"]["input"]>;

/** A point in an account's chain of batches. Keep it to verify later that nothing before it was modified. @interface */
export type ChainPoint = NonNullable<AuditVerification["head"]>;

/** Filters of `audit.summary`. @interface */
export type AuditSummaryParams = NonNullable<Procedures["audit"]["summary"]["input"]>;

/** Sums of the entries that match, with the names of procedures. @interface */
export type AuditSummary = Decimals<Procedures["audit"]["summary"]["output"]>;

/** Filters of live entries. @interface */
export type AuditTailParams = NonNullable<Procedures["audit"]["tail"]["input"]>;

/** Entries that were just recorded, with the names of procedures. @interface */
export type LiveAuditEntries = Decimals<Procedures["audit"]["tail"]["output"]["data"]>;
