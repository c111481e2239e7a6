import type { AccountId } from "../accounts/account.ts";

/** What this node may spend of an account's credit. All amounts in nano-USD. */
export interface Allowance {
  readonly accountId: AccountId;
  /** Set aside for this node in the database, less what was charged since. */
  reserved: bigint;
  /** Of it, held for requests that are being answered. */
  held: bigint;
  /** Of it, for requests that have ended, and whose charges are not in the database yet. */
  spent: bigint;
  /** When it was last asked for. */
  usedMs: number;
  /** When there was no more to set aside. */
  exhaustedMs: number;
  /** Whether an answer of the database was lost, and more may be set aside than is counted on here. */
  isUncertain: boolean;
  /** Requests that wait for a change of it. */
  waiting: number;
  changing: Promise<void>;
}

/** Credit that is set aside for one request. */
export interface Hold {
  readonly amountNanoUsd: bigint;
  /** To be called when the request has ended, with what it is charged: at most the amount. Once is enough. */
  settle(costNanoUsd: bigint): void;
}

/** Where credit is set aside: the database. */
export interface CreditReserve {
  /**
   * Sets at least this much aside, if there is so much, and some more for requests to come.
   *
   * @returns what was taken, and what other nodes have set aside: they are told that it is wanted.
   */
  take(
    accountId: AccountId,
    atLeast: bigint,
  ): Promise<{ readonly taken: bigint; readonly elsewhere: bigint }>;
  giveBack(accountId: AccountId, amount: bigint): Promise<void>;
  giveBackAll(accountId: AccountId): Promise<void>;
  /** The accounts of which other nodes want what this one has set aside. */
  wanted(): Promise<ReadonlySet<AccountId>>;
  /** Says that this node is there still, and keeps what it has set aside. */
  renew(): Promise<void>;
  /** Gives back all that this node has set aside. */
  clear(): Promise<void>;
}
