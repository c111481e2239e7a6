import type { Account, AccountId, Plan, UserId } from "../contract/account.ts";

export type SessionId = string & { readonly __id: "session" };

/** A person who signs in. */
export interface User {
  readonly id: UserId;
  /** Lower case. */
  readonly email: string;
}

/** A signed-in user of an account, or an operator, who belongs to no account. */
export type SignedIn =
  | { readonly role: "owner"; readonly user: User; readonly account: Account }
  | { readonly role: "operator"; readonly user: User };

/** The address and user agent of a client. */
export interface ClientInfo {
  /** `null` when a trusted proxy sent an address that can't be parsed. */
  readonly sourceIp: string | null;
  readonly userAgent: string | null;
}

/** An active session, as its user sees it. */
export interface ListedSession extends ClientInfo {
  readonly id: SessionId;
  readonly createdAt: Date;
  /** To the minute. */
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
}

export interface NewUser {
  readonly userId: UserId;
  readonly email: string;
  readonly passwordHash: string;
  readonly createdAt: Date;
}

export interface NewAccount extends NewUser {
  readonly accountId: AccountId;
  readonly accountName: string;
  readonly plan: Plan;
  /** Credit granted with the account. */
  readonly startingCreditsNanoUsd: bigint;
}

/** Normalises case and surrounding spaces, so that every spelling of an address finds the same user. */
export function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}
