import type { Account, Plan } from "./account.ts";
import type { Limits } from "./limits.ts";

/** The terms of a plan, apart from the number of keys, which the specification fixes. */
export interface PlanTerms {
  readonly limits: Limits;
  /** The credit that a new account on this plan starts with. */
  readonly startingCreditsNanoUsd: bigint;
  /** How many days audit entries are kept; `null`: forever. */
  readonly auditRetentionDays: number | null;
}

/** The terms of all plans, as the operator has configured them. */
export type Plans = Readonly<Record<Plan, PlanTerms>>;

/** 5 USD: enough to try everything. */
const STARTING = 5_000_000_000n;

/** The plans without configuration by the operator. */
export const BUILT_IN_PLANS: Plans = {
  free: {
    limits: { requestsPerMinute: 300, tokensPerMinute: 500_000, concurrentRequests: 20 },
    startingCreditsNanoUsd: STARTING,
    auditRetentionDays: 30,
  },
  pro: {
    limits: { requestsPerMinute: 3_000, tokensPerMinute: 5_000_000, concurrentRequests: 200 },
    startingCreditsNanoUsd: STARTING,
    auditRetentionDays: 180,
  },
  enterprise: {
    limits: { requestsPerMinute: 30_000, tokensPerMinute: 50_000_000, concurrentRequests: 2_000 },
    startingCreditsNanoUsd: STARTING,
    auditRetentionDays: 400,
  },
};

/** Returns an account's limits: its own, or those of its plan. */
export function limitsOf(plans: Plans, { plan, limits }: Pick<Account, "plan" | "limits">): Limits {
  const terms = plans[plan].limits;
  return {
    requestsPerMinute: limits.requestsPerMinute ?? terms.requestsPerMinute,
    tokensPerMinute: limits.tokensPerMinute ?? terms.tokensPerMinute,
    concurrentRequests: limits.concurrentRequests ?? terms.concurrentRequests,
  };
}
