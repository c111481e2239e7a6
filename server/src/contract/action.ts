import type { AccountId, UserId } from "./account.ts";
import type { TokenUuid } from "./ids.ts";

export type ActionId = string & { readonly __id: "action" };

/** The author of a change: a user by session, or a script with their management token. */
export interface Actor {
  readonly userId: UserId;
  /** `null` for a session. */
  readonly managementToken: TokenUuid | null;
  readonly sourceIp: string | null;
}

export type ActionName =
  | "account.create"
  | "account.suspend"
  | "account.reinstate"
  | "account.setPlan"
  | "account.setIpRules"
  | "account.setLimits"
  | "account.grantCredits"
  | "credit.release"
  | "journal.replay"
  | "journal.discard"
  | "key.create"
  | "key.reissue"
  | "key.rotate"
  | "key.revoke"
  | "token.create"
  | "token.revoke"
  | "user.signUp"
  | "user.changePassword"
  | "user.resetPassword"
  | "user.signOutAll";

/** The state of an object before or after a change: plain JSON, money as decimal strings. */
export type ActionState = Readonly<Record<string, unknown>>;

/** A recorded change. It is written in the transaction of the change. */
export interface NewAction {
  readonly at: Date;
  /** `null`: the service itself. */
  readonly by: Actor | null;
  readonly accountId: AccountId | null;
  readonly action: ActionName;
  readonly reason: string | null;
  /** The parts that differ. */
  readonly before: ActionState | null;
  readonly after: ActionState | null;
}

export interface Action extends NewAction {
  readonly id: ActionId;
  readonly userEmail: string | null;
  readonly byOperator: boolean;
  readonly accountName: string | null;
}
