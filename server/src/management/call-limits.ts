import { LRUCache } from "lru-cache";
import { Buckets } from "../accounts/buckets.ts";
import type { AccountId } from "../contract/account.ts";
import { Failure } from "../errors/failure.ts";
import { networkOf } from "../networks/networks.ts";
import { atMost } from "../resources/at-most.ts";
import type { RpcCaller } from "./caller.ts";

/** Calls per minute, which may also arrive in one burst. */
const CALLS_OF_CALLER = 600;
/** Calls per minute of all keys and management tokens of an account. The account's users in the dashboard do not count, and have their own limits. */
const CALLS_OF_ACCOUNT = 3_000;
/** Calls of `auth.*` per client address, for any caller. Several people may share an address. */
const AUTH_CALLS_OF_ADDRESS = 300;
/**
 * How far apart refusals of the same name are answered, and how late at most. Otherwise a caller that calls again at once would use up the node's
 * time with calls that are refused. If more than 250 wait at once, the others are answered when the longest wait is over.
 */
const REFUSAL_GAP_MS = 20;
const MAX_REFUSAL_WAIT_MS = 5_000;
/** The maximum number of names whose refusals wait. */
const MAX_REFUSED_NAMES = 100_000;
/** The share of all client connections whose refusals may wait at once. */
const MAX_WAITING_SHARE = 1 / 16;

/** Which limit refused a call: that of its caller, that of the caller's account, or that of its address on `auth.*`. */
type CallRefusal = "caller" | "account" | "address";

/** Whose calls a limit counts, as a refusal says it. */
const LIMITED_AS: Readonly<Record<CallRefusal, string>> = {
  caller: "",
  account: " of all keys and management tokens of the account",
  address: "",
};

/**
 * Limits on calls of procedures, in this node's memory: for each user, API key, management token or (for anonymous callers)
 * client address; for each account, which may have any number of keys; and for `auth.*` for each address. They keep one caller from using up the
 * node's time. Attempts to sign in have limits of their own, which all nodes share.
 */
export class CallLimits {
  readonly #callers: Buckets;
  readonly #accounts: Buckets;
  readonly #addresses: Buckets;
  readonly #refused = new Map<CallRefusal, number>([
    ["caller", 0],
    ["account", 0],
    ["address", 0],
  ]);
  /** When the last refusal of each name is answered. */
  readonly #answeredMs = new LRUCache<string, number>(atMost(MAX_REFUSED_NAMES));
  readonly #monotonicMs: () => number;
  readonly #maxWaiting: number;
  #waiting = 0;

  /**
   * @param monotonicMs milliseconds of a clock that never jumps.
   * @param maxConnections the maximum of client connections. A refusal that waits keeps one, so beyond a share of them refusals are answered at once.
   */
  constructor(monotonicMs: () => number, maxConnections: number) {
    this.#maxWaiting = Math.floor(maxConnections * MAX_WAITING_SHARE);
    this.#monotonicMs = monotonicMs;
    this.#callers = new Buckets(CALLS_OF_CALLER, monotonicMs);
    this.#accounts = new Buckets(CALLS_OF_ACCOUNT, monotonicMs);
    this.#addresses = new Buckets(AUTH_CALLS_OF_ADDRESS, monotonicMs);
  }

  /** Counts of refused calls since the node was started. */
  get refused(): ReadonlyMap<CallRefusal, number> {
    return this.#refused;
  }

  /**
   * Counts calls of `auth.*`, before the caller is known.
   *
   * @throws {Failure} `rate_limit_exceeded`, when it is the refusal's turn.
   */
  async countAuth(address: string | null, names: readonly string[]): Promise<void> {
    const calls = names.filter((name) => name.startsWith("auth.")).length;
    if (calls > 0) await this.#take("address", this.#addresses, networkOf(address), calls);
  }

  /** Counts calls, each of a batch. @throws {Failure} `rate_limit_exceeded`, when it is the refusal's turn. */
  async count(caller: RpcCaller, address: string | null, calls: number): Promise<void> {
    const name = nameOf(caller, address);
    await this.#take("caller", this.#callers, name, calls);
    const accountId = accountOf(caller);
    if (accountId === null) return;
    try {
      await this.#take("account", this.#accounts, accountId, calls);
    } catch (refused) {
      this.#callers.give(name, calls);
      throw refused;
    }
  }

  async #take(reason: CallRefusal, buckets: Buckets, name: string, calls: number): Promise<void> {
    const retryAfterMs = buckets.take(name, calls);
    if (retryAfterMs === 0) return;
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + calls);
    await this.#turnOfRefusal(`${reason} ${name}`);
    const limited = `${buckets.perMinute} calls per minute${LIMITED_AS[reason]}`;
    throw new Failure(
      "rate_limit_exceeded",
      `Rate limit of ${limited} reached. Retry after the time in \`retry-after\`.`,
      { retryAfterMs },
    );
  }

  async #turnOfRefusal(name: string): Promise<void> {
    if (this.#waiting >= this.#maxWaiting) return;
    const nowMs = this.#monotonicMs();
    const turnMs = (this.#answeredMs.get(name) ?? nowMs) + REFUSAL_GAP_MS;
    const waitMs = Math.min(Math.max(0, turnMs - nowMs), MAX_REFUSAL_WAIT_MS);
    this.#answeredMs.set(name, nowMs + waitMs);
    this.#waiting++;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.#waiting--;
  }
}

/** The account whose key or management token makes a call; `null` for other callers. */
function accountOf(caller: RpcCaller): AccountId | null {
  if (caller.kind === "key") return caller.permission.snapshot.account.id;
  if (caller.kind !== "management-token" || caller.signedIn.role !== "owner") return null;
  return caller.signedIn.account.id;
}

function nameOf(caller: RpcCaller, address: string | null): string {
  switch (caller.kind) {
    case "anonymous":
      return `address ${networkOf(address)}`;
    case "key":
      return `key ${caller.permission.snapshot.key.id}`;
    case "management-token":
      return `token ${caller.id}`;
    case "session":
      return `user ${caller.signedIn.user.id}`;
  }
}
