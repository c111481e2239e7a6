import type { Effort } from "../conversation/conversation.ts";

/** The share of a model's maximum tokens that an effort may take, for models that think within a budget. */
export const BUDGET_SHARES: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
  max: 0.95,
};
