import type { AccountId } from "../contract/account.ts";

/** The requests of each account are counted over periods of this length. An account may use its share of a period in advance. */
export const SHARE_PERIOD_MS = 100;
/** A period counts as no longer than this. After a long turn of the event loop, all requests that came during the turn arrive together. */
const MAX_PERIOD_MS = 1_000;
/** Each account's part of what may be accepted in the first period of an overload, when it is not known yet which accounts send most. */
const FIRST_PERIOD_SHARE = 0.05;
/** A share of a period is at least this many requests, because the rate that can be served may be unknown, or measured too low. */
const MIN_REQUESTS = 10;

/** The accounts' shares of what an overloaded process accepts: requests of accounts that send less than theirs come first. */
export class AccountShares {
  /** The requests of the present period and of the one before by account, `null` for all without a known key. */
  #sent = new Map<AccountId | null, number>();
  #sentBefore: ReadonlyMap<AccountId | null, number> = new Map();
  #beganMs = 0;
  /** How many requests of the present period are each account's share. */
  #share = 1;

  /** Begins the first period of an overload. */
  begin(nowMs: number, bestPerMs: number): void {
    this.#sent = new Map();
    this.#sentBefore = new Map();
    this.#beganMs = nowMs;
    this.#share = Math.max(MIN_REQUESTS, FIRST_PERIOD_SHARE * SHARE_PERIOD_MS * bestPerMs);
  }

  /** How many accounts have sent requests in the present period. All without a known key count as one. */
  get accounts(): number {
    return this.#sent.size;
  }

  /**
   * Counts the request of an account. Returns how much of its share the account has left, 0 to 1: nothing if it sent more than its share
   * just before. Requests without a known key have no share, because a stranger can send any number of keys.
   */
  unusedOf(account: AccountId | null, nowMs: number, acceptedPerMs: number): number {
    const passedMs = nowMs - this.#beganMs;
    if (passedMs > SHARE_PERIOD_MS) {
      // As many accounts as before are expected to share the period that begins, and one more that has sent nothing.
      const acceptable = Math.min(passedMs, MAX_PERIOD_MS) * acceptedPerMs;
      this.#share = Math.max(MIN_REQUESTS, acceptable / (1 + this.#sent.size));
      this.#sentBefore = this.#sent;
      this.#sent = new Map();
      this.#beganMs = nowMs;
    }
    const count = this.#sent.get(account) ?? 0;
    this.#sent.set(account, count + 1);
    if (account === null || (this.#sentBefore.get(account) ?? 0) > this.#share) return 0;
    return Math.max(0, 1 - count / this.#share);
  }
}
