import type { AccountAction } from "../api/types.ts";

export const ACTION_LABELS: Readonly<Record<AccountAction["action"], string>> = {
  "account.create": "Account created",
  "account.suspend": "Account suspended",
  "account.reinstate": "Account reinstated",
  "account.setPlan": "Plan changed",
  "account.setIpRules": "IP rules changed",
  "account.setLimits": "Limits changed",
  "account.grantCredits": "Credits granted",
  "credit.release": "Credit of a node released",
  "journal.replay": "Journal lines replayed",
  "journal.discard": "Journal lines discarded",
  "key.create": "Key created",
  "key.reissue": "Key reissued",
  "key.rotate": "Key rotated",
  "key.revoke": "Key revoked",
  "provider.check": "Provider checked",
  "token.create": "Management token created",
  "token.revoke": "Management token revoked",
  "upstream.test": "Upstream tested",
  "user.signUp": "Signed up",
  "user.changePassword": "Password changed",
  "user.resetPassword": "Password reset",
  "user.signOutAll": "Signed out everywhere",
};

/** A change as text, with the name of its key or token: "Key created: “production”". */
export function actionLabel(action: Pick<AccountAction, "action" | "after">): string {
  const name = isNamed(action) && typeof action.after?.name === "string" ? `: “${action.after.name}”` : "";
  return `${wordsFor(action)}${name}`;
}

/** Whether a change is about a key or a management token. */
export function isNamed({ action }: Pick<AccountAction, "action">): boolean {
  return action.startsWith("key.") || action.startsWith("token.");
}

function wordsFor({ action, after }: Pick<AccountAction, "action" | "after">): string {
  const amount = action === "account.grantCredits" ? after?.amountNanoUsd : null;
  return typeof amount === "string" && amount.startsWith("-") ? "Credits deducted" : ACTION_LABELS[action];
}
