import type { ListedAccount } from "../../api/types.ts";

export type Plan = ListedAccount["plan"];

/** The plans with their labels. */
export const PLANS: readonly { readonly value: Plan; readonly label: string }[] = [
  { value: "free", label: "Free" },
  { value: "pro", label: "Pro" },
  { value: "enterprise", label: "Enterprise" },
];

export function planLabel(plan: Plan): string {
  return PLANS.find(({ value }) => value === plan)?.label ?? plan;
}

export function isPlan(value: string): value is Plan {
  return PLANS.some((plan) => plan.value === value);
}
