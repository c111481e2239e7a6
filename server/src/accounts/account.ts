/** Ids of different things are different types, so that one is never passed for another. All are UUIDv7. */
export type AccountId = string & { readonly __id: "account" };
export type UserId = string & { readonly __id: "user" };

export type Plan = "free" | "pro" | "enterprise";
export type AccountState = "active" | "suspended";

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly plan: Plan;
  readonly state: AccountState;
  readonly createdAt: Date;
}

export interface User {
  readonly id: UserId;
  readonly accountId: AccountId;
  /** Lower case. */
  readonly email: string;
}

/** A user and the account that they belong to: who is at the dashboard. */
export interface SignedIn {
  readonly user: User;
  readonly account: Account;
}

/** Active keys that a plan allows; `null`: as many as one likes (specification, section 8). */
export const ACTIVE_KEY_LIMITS: Readonly<Record<Plan, number | null>> = {
  free: 50,
  pro: null,
  enterprise: null,
};
