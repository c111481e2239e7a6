import type { Decimals } from "../core/decimals.ts";
import type { Limits } from "./management.ts";
import type { Procedures } from "./procedures.ts";

export type { SecurityEventKind } from "./security-event-kinds.ts";

// The types of the operators' procedures, by the names that people use for them. Fields and comments come from the router.

type Operator = Procedures["operator"];

/** An account with its users, number of active keys and balance. @interface */
export type ListedAccount = Decimals<Operator["accounts"]["get"]["output"]>;

/** Filters and paging of a list of accounts. @interface */
export type AccountListParams = NonNullable<Operator["accounts"]["list"]["input"]>;

/** The outcome of a change of an account, in force on every node. @interface */
export type AccountChange = Decimals<Operator["accounts"]["suspend"]["output"]>;

/** An account as operators see it. @interface */
export type OperatedAccount = AccountChange["account"];

/** The networks that an account's keys may be used from. `report` lets other requests pass and marks their entries. @interface */
export type IpRules = OperatedAccount["ipRules"];

/** Limits of an account that differ from its plan's. `null` uses the plan's. @interface */
export type LimitOverrides = Limits;

/** Health of an upstream, as the answering node sees it. @interface */
export type UpstreamHealth = Decimals<Operator["upstreams"]["output"]["upstreams"][number]>;

/** One start of a node, with the credit that it has reserved. @interface */
export type CreditNode = Decimals<Operator["nodes"]["list"]["output"]["nodes"][number]>;

/** The settings of the running nodes, and which of them differ from those of the answering node. @interface */
export type NodeSettings = Decimals<Operator["nodes"]["settings"]["output"]>;

/** A line of a node's journal that could not be read or recorded. @interface */
export type RejectedLine = Decimals<Operator["journal"]["get"]["output"]>;

/** The set-aside lines of one node's journal. @interface */
export type RejectedLines = Decimals<Operator["journal"]["list"]["output"]>;

/** The outcome of a replay of lines. @interface */
export type JournalReplay = Decimals<Operator["journal"]["replay"]["output"]>;

/**
 * The outcome of a reconciliation. Any mismatch is a fault. Amounts that accounts did not pay have a reason: `beyond_hold` (it cost
 * more than was held for it, and the account had no more), `released` (the credit of its node had been released), `repeated` (a
 * second answer to one idempotency key), `implausible` (reported by an upstream beyond what the model can do; at most 1 USD of a
 * request).
 *
 * @interface
 */
export type ReconciliationReport = Decimals<Operator["checkBooks"]["output"]>;

/** Parameters of `operator.usage`. @interface */
export type ServiceUsageParams = Operator["usage"]["input"];

/** The answer of `operator.usage`: rows in order of time, without the intervals that have no requests. @interface */
export type ServiceUsage = Decimals<Operator["usage"]["output"]>;

/** Usage in one interval: of all accounts, or of one model or account where it is grouped. @interface */
export type ServiceUsageRow = ServiceUsage["rows"][number];

/** Parameters of `operator.security`. @interface */
export type SecurityParams = NonNullable<Operator["security"]["input"]>;

/** Security events of one hour that agree in every other field, with their count. @interface */
export type SecurityEvent = Decimals<Operator["security"]["output"]["events"][number]>;

/** A change, as the audit trail records it. @interface */
export type Action = Decimals<Operator["audit"]["output"]["actions"][number]>;

/** The current catalog. @interface */
export type CatalogInForce = Decimals<Operator["catalog"]["output"]>;
