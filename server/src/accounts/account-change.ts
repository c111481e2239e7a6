import type { Account, IpRules, LimitOverrides, Plan } from "../contract/account.ts";
import type { ActionState } from "../contract/action.ts";

/** A change that an operator can make to an account. */
export type AccountChange =
  | { readonly action: "account.suspend"; readonly reason: string }
  | { readonly action: "account.reinstate" }
  | { readonly action: "account.setPlan"; readonly plan: Plan }
  | { readonly action: "account.setIpRules"; readonly ipRules: IpRuleChange }
  | { readonly action: "account.setLimits"; readonly limits: LimitChange };

/** A limit that is absent stays as it is. */
type LimitChange = { readonly [Name in keyof LimitOverrides]?: LimitOverrides[Name] | undefined };

/** New networks for an account's rules; a mode of `null` keeps the present one. */
export interface IpRuleChange {
  readonly mode: IpRules["mode"] | null;
  readonly networks: IpRules["networks"];
}

/** The account after a change. */
export function changed(account: Account, change: AccountChange, now: Date): Account {
  switch (change.action) {
    case "account.suspend":
      // Suspending a suspended account keeps the time of the suspension and replaces the reason.
      return {
        ...account,
        state: "suspended",
        suspension: { at: account.suspension?.at ?? now, reason: change.reason },
      };
    case "account.reinstate":
      return { ...account, state: "active", suspension: null };
    case "account.setPlan":
      return { ...account, plan: change.plan };
    case "account.setIpRules":
      return { ...account, ipRules: changedRules(account.ipRules, change.ipRules) };
    case "account.setLimits":
      return { ...account, limits: changedLimits(account.limits, change.limits) };
  }
}

function changedLimits(present: LimitOverrides, change: LimitChange): LimitOverrides {
  const given = Object.entries(change).filter(([, limit]) => limit !== undefined);
  return { ...present, ...Object.fromEntries(given) };
}

/** Removing all networks resets the mode, so that later rules are enforced unless they set another mode. */
function changedRules(present: IpRules, { mode, networks }: IpRuleChange): IpRules {
  const defaultMode = networks.length === 0 ? "enforce" : present.mode;
  return { mode: mode ?? defaultMode, networks };
}

/** The fields that differ, for the audit trail; `null` when none does. */
export function differenceOf(
  before: Account,
  after: Account,
): { readonly before: ActionState; readonly after: ActionState } | null {
  const parts = ["plan", "state", "suspension", "ipRules", "limits"] as const;
  const differing = parts.filter((part) => JSON.stringify(before[part]) !== JSON.stringify(after[part]));
  if (differing.length === 0) return null;
  const pick = (account: Account) => Object.fromEntries(differing.map((part) => [part, account[part]]));
  return { before: pick(before), after: pick(after) };
}

/** Notices about other effects of a change, a sentence each. */
export function noticesOf(
  before: Account,
  after: Account,
  activeKeys: number,
  keyLimit: number | null,
): string[] {
  const notices: string[] = [];
  const hasRules = after.ipRules.networks.length > 0;
  if (before.plan !== after.plan) {
    if (hasRules && before.plan === "enterprise") {
      notices.push(
        "The account's IP rules are kept but no longer enforced, because they require the enterprise plan. Its keys now work from every address.",
      );
    }
    if (hasRules && after.plan === "enterprise") {
      notices.push(
        after.ipRules.mode === "enforce"
          ? "The account's IP rules are now enforced."
          : "The account's IP rules now report requests without refusing them.",
      );
    }
    if (keyLimit !== null && activeKeys > keyLimit) {
      notices.push(
        `The account has ${activeKeys} active keys and its plan allows ${keyLimit}. All of them keep working. New keys can be created once fewer are active.`,
      );
    }
  }
  if (before.ipRules !== after.ipRules && hasRules && after.plan !== "enterprise") {
    notices.push("The rules are saved but not enforced, because IP rules require the enterprise plan.");
  }
  return notices;
}
