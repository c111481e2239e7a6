import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterOutputs } from "@trpc/server";

type Outputs = inferRouterOutputs<AppRouter>;

export type AccountView = Outputs["account"]["get"];
export type AccountAction = Outputs["account"]["actions"]["actions"][number];
export type AccountDetails = Outputs["operator"]["accounts"]["get"];
export type AuditEntry = Outputs["audit"]["list"]["entries"][number] & {
  /** The account, in the log of all accounts. */
  readonly account?: Outputs["operator"]["log"]["get"]["account"];
};
export type CatalogModel = Outputs["operator"]["catalog"]["models"][number];
export type CatalogUpstream = Outputs["operator"]["catalog"]["upstreams"][number];
export type FirstSteps = Outputs["account"]["firstSteps"];
export type IpVerdict = Outputs["account"]["tryAddress"]["verdict"];
export type KeyUse = Outputs["keys"]["usage"];
export type StatementLine = Outputs["credits"]["statement"]["lines"][number];
export type ListedAccount = Outputs["operator"]["accounts"]["list"]["accounts"][number];
export type ListedKey = Outputs["keys"]["list"]["keys"][number];
export type ListedModel = Outputs["models"]["list"]["models"][number];
export type ListedSession = Outputs["auth"]["sessions"]["sessions"][number];
export type ListedToken = Outputs["tokens"]["list"]["tokens"][number];
export type NodeStatus = Outputs["operator"]["status"];
export type OperatorAction = Outputs["operator"]["audit"]["actions"][number];
export type LogSummary = Outputs["audit"]["summary"];
export type SecurityEvent = Outputs["operator"]["security"]["events"][number];
export type ServiceUsageRow = Outputs["operator"]["usage"]["rows"][number];
export type UpstreamHealth = Outputs["operator"]["upstreams"]["upstreams"][number];
export type UsageRow = Outputs["usage"]["summary"]["rows"][number];
export type UsageTotals = Outputs["usage"]["summary"]["total"];
