import type { AccountId, UserId } from "./account.ts";
import type { TokenUuid } from "./ids.ts";

/** The UUIDv7 of a recorded change. */
export type ActionId = string & { readonly __id: "action" };

/** The author of a change: a user by session, or a script with their management token. */
export interface Actor {
  /** The id of the user, a UUID. */
  readonly userId: UserId;
  /** The id of the management token that a script used; `null` for a session. */
  readonly managementToken: TokenUuid | null;
  /** The address of the client; `null`: unknown. */
  readonly sourceIp: string | null;
}

/** The changes that are recorded. They are stored and published: never rename one. */
export const ACTION_NAMES = [
  "account.create",
  "account.suspend",
  "account.reinstate",
  "account.setPlan",
  "account.setIpRules",
  "account.setLimits",
  "account.grantCredits",
  "credit.release",
  "journal.replay",
  "journal.discard",
  "key.create",
  "key.reissue",
  "key.rotate",
  "key.revoke",
  "provider.check",
  "token.create",
  "token.revoke",
  "upstream.test",
  "user.signUp",
  "user.changePassword",
  "user.resetPassword",
  "user.signOutAll",
] as const;

export type ActionName = (typeof ACTION_NAMES)[number];

/** The state of an object before or after a change: plain JSON, money as decimal strings. */
export type ActionState = Readonly<Record<string, unknown>>;

/** A recorded change. It is written in the transaction of the change. */
export interface NewAction {
  /** When the change was made. */
  readonly at: Date;
  /** The author of the change; `null`: the service itself, or an operator where the account's users read it. */
  readonly by: Actor | null;
  /** The id of the account that was changed; `null`: none, such as for a node. */
  readonly accountId: AccountId | null;
  /** The change. */
  readonly action: ActionName;
  /** The reason that its author gave; `null`: none. */
  readonly reason: string | null;
  /** The parts that changed, before the change. `null`: nothing to show. */
  readonly before: ActionState | null;
  /** The same parts after the change. `null`: nothing to show. */
  readonly after: ActionState | null;
}

export interface Action extends NewAction {
  /** The id of the change, a UUID. */
  readonly id: ActionId;
  /** The e-mail address of the author; `null` where `by` is. */
  readonly userEmail: string | null;
  /** Whether an operator made the change. */
  readonly byOperator: boolean;
  /** The name of the account; `null`: none. */
  readonly accountName: string | null;
}
