import { type Limits, UNLIMITED } from "./limits.ts";

/** Ids of different things are different types, so that one is never passed for another. All are UUIDv7. */
export type AccountId = string & { readonly __id: "account" };
export type UserId = string & { readonly __id: "user" };

/** The plans of accounts (specification, section 1). */
export const PLANS = ["free", "pro", "enterprise"] as const;
export type Plan = (typeof PLANS)[number];
/** `suspended`: requests with any key of the account are answered with 403. */
export const ACCOUNT_STATES = ["active", "suspended"] as const;
export type AccountState = (typeof ACCOUNT_STATES)[number];

export interface Account {
  /** The id of the account, a UUID. */
  readonly id: AccountId;
  /** The name of the account. */
  readonly name: string;
  /** The plan, which sets limits and retention. */
  readonly plan: Plan;
  /** Whether the account's keys and tokens are accepted. */
  readonly state: AccountState;
  /** When and why the account was suspended; `null` while it is active. */
  readonly suspension: Suspension | null;
  /** The addresses from which the keys may be used. */
  readonly ipRules: IpRules;
  /** The account's own limits. `null`: the limit of the plan. */
  readonly limits: LimitOverrides;
  /** When the account was created. */
  readonly createdAt: Date;
}

interface Suspension {
  /** When the account was suspended. */
  readonly at: Date;
  /** The reason that the operator gave. */
  readonly reason: string;
}

/** From where an enterprise account's keys may be used (specification, section 5). */
export interface IpRules {
  /** `enforce` refuses requests from other addresses. `report` lets them pass, and marks their audit entries with `wouldRefuse`. */
  readonly mode: "enforce" | "report";
  /** IPv4 and IPv6 addresses and CIDR blocks. Empty: requests from every address pass. */
  readonly networks: readonly string[];
}

/** Limits of an account that differ from its plan's; `null`: as the plan says. */
export type LimitOverrides = Limits;

/** The rules of a new account: requests from every address pass. */
export const NO_IP_RULES: IpRules = { mode: "enforce", networks: [] };
/** The overrides of a new account: the limits of its plan apply. */
export const NO_OVERRIDES: LimitOverrides = UNLIMITED;

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
