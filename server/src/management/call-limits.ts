import { LRUCache } from "lru-cache";
import { networkOf } from "../accounts/attempts.ts";
import { Failure } from "../errors/failure.ts";
import type { RpcCaller } from "./caller.ts";

/** Calls a minute, which may also come all at once. */
const CALLS_OF_CALLER = 600;
/** `auth.*`, of a client address, whoever calls: people behind one address load the dashboard, and sign in and out. */
const AUTH_CALLS_OF_ADDRESS = 300;
/** Strangers choose some of the names: beyond this, those that did not call for the longest time are forgotten. */
const MAX_NAMES = 100_000;
const MINUTE_MS = 60_000;

/** Why a call was refused: `caller`, beyond the calls of who makes it; `address`, beyond the `auth.*` calls of its address. */
export type CallRefusal = "caller" | "address";

/**
 * Limits on calls of procedures, in this node's memory: for each user, API key, management token or (where nobody is signed in)
 * client address; and for `auth.*` for each address. They keep one caller from taking the node's time from the others; what an
 * attempt to sign in may cost is limited beside this, by all nodes together.
 */
export class CallLimits {
  readonly #callers: Buckets;
  readonly #addresses: Buckets;
  readonly #refused = new Map<CallRefusal, number>([
    ["caller", 0],
    ["address", 0],
  ]);

  /** `monotonicMs`: a clock that only goes forward. */
  constructor(monotonicMs: () => number) {
    this.#callers = new Buckets(CALLS_OF_CALLER, monotonicMs);
    this.#addresses = new Buckets(AUTH_CALLS_OF_ADDRESS, monotonicMs);
  }

  /** Calls that were refused since the node was started. */
  get refused(): ReadonlyMap<CallRefusal, number> {
    return this.#refused;
  }

  /** Counts calls of `auth.*`, before it is known who makes them. @throws {Failure} `rate_limit_exceeded` */
  countAuth(address: string | null, names: readonly string[]): void {
    const calls = names.filter((name) => name.startsWith("auth.")).length;
    if (calls > 0) this.#take("address", this.#addresses, networkOf(address), calls);
  }

  /** Counts calls, each of a batch. @throws {Failure} `rate_limit_exceeded` */
  count(caller: RpcCaller, address: string | null, calls: number): void {
    this.#take("caller", this.#callers, nameOf(caller, address), calls);
  }

  #take(reason: CallRefusal, buckets: Buckets, name: string, calls: number): void {
    const retryAfterMs = buckets.take(name, calls);
    if (retryAfterMs === 0) return;
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + calls);
    throw new Failure(
      "rate_limit_exceeded",
      `Rate limit of ${buckets.perMinute} calls per minute reached. Retry after the time in \`retry-after\`.`,
      { retryAfterMs },
    );
  }
}

function nameOf(caller: RpcCaller, address: string | null): string {
  switch (caller.kind) {
    case "nobody":
      return `address ${networkOf(address)}`;
    case "key":
      return `key ${caller.permission.snapshot.key.id}`;
    case "management-token":
      return `token ${caller.id}`;
    case "session":
      return `user ${caller.signedIn.user.id}`;
  }
}

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

/** Token buckets by name: each is full at first, and fills up within a minute. */
class Buckets {
  readonly perMinute: number;
  readonly #monotonicMs: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: MAX_NAMES });

  constructor(perMinute: number, monotonicMs: () => number) {
    this.perMinute = perMinute;
    this.#monotonicMs = monotonicMs;
  }

  /** Takes some, or nothing. @returns 0 when they were there; otherwise the milliseconds until they are. */
  take(name: string, calls: number): number {
    const atMs = this.#monotonicMs();
    const before = this.#buckets.get(name) ?? { left: this.perMinute, atMs };
    const perMs = this.perMinute / MINUTE_MS;
    const left = Math.min(this.perMinute, before.left + (atMs - before.atMs) * perMs);
    // Whoever asks for more than there can be is let through with a full bucket, which is empty then.
    const missing = Math.min(calls, this.perMinute) - left;
    if (missing > 0) {
      this.#buckets.set(name, { left, atMs });
      return Math.ceil(missing / perMs);
    }
    this.#buckets.set(name, { left: Math.max(0, left - calls), atMs });
    return 0;
  }
}
