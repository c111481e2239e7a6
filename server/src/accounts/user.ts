import type { Account, AccountId, Plan, UserId } from "../contract/account.ts";

export type SessionId = string & { readonly __id: "session" };

/** A person who signs in. */
export interface User {
  /** The id of the user, a UUID. */
  readonly id: UserId;
  /** The e-mail address, in lower case. */
  readonly email: string;
}

/** A signed-in user of an account, or an operator, who belongs to no account. */
export type SignedIn =
  | { readonly role: "owner"; readonly user: User; readonly account: Account }
  | { readonly role: "operator"; readonly user: User };

/** The address and user agent of a client. */
export interface ClientInfo {
  /** The address of the client; `null` when a trusted proxy sent one that can't be parsed. */
  readonly sourceIp: string | null;
  /** The `User-Agent` header of the client; `null` if it sent none. */
  readonly userAgent: string | null;
}

/** An active session, as its user sees it. */
export interface ListedSession extends ClientInfo {
  /** The id of the session, a UUID. */
  readonly id: SessionId;
  /** When the user signed in. */
  readonly createdAt: Date;
  /** When the session was last used, to the minute. */
  readonly lastSeenAt: Date;
  /** When the session ends. */
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
