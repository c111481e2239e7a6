import type { Effort, Reasoning } from "../conversation/conversation.ts";

/** The fewest tokens of a budget for thoughts that stand for an effort, as other gateways have them. Fewer tokens are a low effort. */
const EFFORT_BUDGETS = [
  ["high", 10_000],
  ["medium", 5_000],
] as const;

/** The effort that is asked for, or that a budget stands for, for models that think by an effort. `null`: neither is asked for. */
export function effortIn({ effort, budgetTokens }: Reasoning): Effort | null {
  if (effort !== null || budgetTokens === null) return effort;
  return EFFORT_BUDGETS.find(([, tokens]) => budgetTokens >= tokens)?.[0] ?? "low";
}

/** The share of a model's maximum tokens that an effort may take, for models that think within a budget. */
export const BUDGET_SHARES: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.95,
};
