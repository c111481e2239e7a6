import type { AppRouter } from "@ostiary/server/router";
import type { inferRouterOutputs } from "@trpc/server";

type Outputs = inferRouterOutputs<AppRouter>;

export type AccountView = Outputs["account"]["get"];
export type AccountAction = Outputs["account"]["actions"]["actions"][number];
export type AuditEntry = Outputs["audit"]["list"]["entries"][number];
export type IpVerdict = Outputs["account"]["tryAddress"]["verdict"];
export type ListedKey = Outputs["keys"]["list"]["keys"][number];
export type ListedSession = Outputs["auth"]["sessions"]["sessions"][number];
export type ListedToken = Outputs["tokens"]["list"]["tokens"][number];
