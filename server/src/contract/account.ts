import type { Limits } from "./limits.ts";

/** Ids of different things are different types, so that one is never passed for another. All are UUIDv7. */
export type AccountId = string & { readonly __id: "account" };
export type UserId = string & { readonly __id: "user" };

export const PLANS = ["free", "pro", "enterprise"] as const;
export type Plan = (typeof PLANS)[number];
export const ACCOUNT_STATES = ["active", "suspended"] as const;
export type AccountState = (typeof ACCOUNT_STATES)[number];

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly plan: Plan;
  readonly state: AccountState;
  /** `null` while the account is active. */
  readonly suspension: Suspension | null;
  readonly ipRules: IpRules;
  readonly limits: LimitOverrides;
  readonly createdAt: Date;
}

export interface Suspension {
  readonly at: Date;
  readonly reason: string;
}

/** From where an enterprise account's keys may be used (specification, section 5). */
export interface IpRules {
  /** `report`: requests from elsewhere pass, and their entries say that they would have been refused. */
  readonly mode: "enforce" | "report";
  /** IPv4 and IPv6 addresses and CIDR blocks; none: from everywhere. */
  readonly networks: readonly string[];
}

/** Limits of an account that differ from its plan's; `null`: as the plan says. */
export type LimitOverrides = Limits;

export const NO_IP_RULES: IpRules = { mode: "enforce", networks: [] };
export const NO_OVERRIDES: LimitOverrides = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentRequests: null,
};

/** The maximum of active keys on each plan; `null`: unlimited (specification, section 8). */
export const ACTIVE_KEY_LIMITS: Readonly<Record<Plan, number | null>> = {
  free: 50,
  pro: null,
  enterprise: null,
};

/** The IP rules in force: the account's rules, if its plan includes IP rules. */
export function rulesInForce({ plan, ipRules }: Pick<Account, "plan" | "ipRules">): IpRules | null {
  return plan === "enterprise" && ipRules.networks.length > 0 ? ipRules : null;
}
