import { LRUCache } from "lru-cache";
import type { AccountId } from "../contract/account.ts";
import {
  CONCURRENCY_RETRY_MS,
  type Demand,
  type LimitName,
  type Limits,
  type LimitUse,
  type Rates,
  type Release,
  type Slot,
} from "../contract/limits.ts";
import { atMost } from "../resources/at-most.ts";
import type { AccountEpoch, Admission, AdmissionStore } from "./admission-store.ts";
import { SlidingMinute, secondOf } from "./sliding-minute.ts";

const ACCOUNTS_REMEMBERED = 100_000;

interface Usage {
  readonly requests: SlidingMinute;
  readonly tokens: SlidingMinute;
  /** Each slot with the second in which it was admitted. */
  readonly slots: Map<Slot, number>;
}

const newUsage = (): Usage => ({
  requests: new SlidingMinute(),
  tokens: new SlidingMinute(),
  slots: new Map(),
});

interface Remembered {
  readonly version: bigint;
  /** The number of the last publication for this account; 0 when the version was read from the database. */
  readonly publication: number;
}

/** The admission store of a single node, in the memory of its process. */
export class MemoryAdmissionStore implements AdmissionStore {
  #publications = 0;
  /** The number of the latest publication that was dropped. */
  #forgotten = 0;
  readonly #accounts: LRUCache<AccountId, Remembered>;

  /** Only of accounts that have used any of their limits in the last minute. */
  readonly #usage = new Map<AccountId, Usage>();
  readonly #nowMs: () => number;
  #sweptMs = 0;

  constructor(
    accountsRemembered: number = ACCOUNTS_REMEMBERED,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#nowMs = nowMs;
    this.#accounts = new LRUCache({
      ...atMost(accountsRemembered),
      // A version that was only read can be read again. Dropping a publication invalidates all reads that began before it.
      dispose: ({ publication }, _account, reason) => {
        if (reason === "evict") this.#forgotten = Math.max(this.#forgotten, publication);
      },
    });
  }

  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    return this.#isCurrent(accountId, version) ? "current" : "stale";
  }

  admit(accountId: AccountId, version: bigint, demand: Demand): Admission {
    if (!this.#isCurrent(accountId, version)) return { kind: "stale" };
    const { slot, limits } = demand;
    const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits;
    const now = this.#nowMs();
    this.#dropIdle(now);
    const usage = this.#usage.get(accountId) ?? newUsage();
    // A request above the limit is admitted when nothing else is in the window. Otherwise it could never be admitted.
    const tokens = Math.min(demand.tokens, tokensPerMinute ?? demand.tokens);
    const isFull = concurrentRequests !== null && usage.slots.size >= concurrentRequests;
    const requestsMs = usage.requests.waitMs(1, requestsPerMinute, now);
    const tokensMs = usage.tokens.waitMs(tokens, tokensPerMinute, now);
    const concurrencyMs = isFull ? CONCURRENCY_RETRY_MS : 0;
    const retryAfterMs = Math.max(requestsMs, tokensMs, concurrencyMs);
    if (retryAfterMs > 0) {
      const waits = { requests: requestsMs, tokens: tokensMs, concurrency: concurrencyMs };
      return { kind: "limited", by: longestOf(waits), retryAfterMs, rates: ratesOf(usage, limits, now) };
    }
    this.#usage.set(accountId, usage);
    if (requestsPerMinute !== null) usage.requests.add(1, now);
    if (tokensPerMinute !== null) usage.tokens.add(tokens, now);
    const atS = secondOf(now);
    usage.slots.set(slot, atS);
    return { kind: "admitted", atS, epoch: null, rates: ratesOf(usage, limits, now) };
  }

  release(accountId: AccountId, { slot, tokensMore, isCancelled }: Release): null {
    const usage = this.#usage.get(accountId);
    const atS = usage?.slots.get(slot);
    if (usage === undefined || atS === undefined) return null;
    usage.slots.delete(slot);
    const now = this.#nowMs();
    usage.tokens.correct(atS, tokensMore, now);
    if (isCancelled) usage.requests.correct(atS, -1, now);
    return null;
  }

  async renew(): Promise<void> {
    // The slots are lost only together with this process, so they need no renewal.
  }

  async recount(): Promise<void> {
    // The use is lost only together with this process.
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    const { requests, tokens, slots } = this.#usage.get(accountId) ?? newUsage();
    const now = this.#nowMs();
    return { requests: requests.used(now), tokens: tokens.used(now), concurrent: slots.size };
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    const publication = ++this.#publications;
    const known = this.#accounts.get(accountId);
    if (known === undefined) this.#forgotten = publication;
    else
      this.#accounts.set(accountId, {
        version: version > known.version ? version : known.version,
        publication,
      });
  }

  async epoch(): Promise<AccountEpoch> {
    return String(this.#publications) as AccountEpoch;
  }

  async commitRead(accountId: AccountId, version: bigint, epoch: AccountEpoch): Promise<boolean> {
    if (Number(epoch) < this.#forgotten) return false;
    const known = this.#accounts.get(accountId);
    if (known === undefined || version > known.version) {
      this.#accounts.set(accountId, { version, publication: known?.publication ?? 0 });
    }
    return true;
  }

  onInvalidated(): void {
    // The memory is lost only together with this process.
  }

  onRestored(): void {
    // The store loses no slots while the process runs.
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {}

  #isCurrent(accountId: AccountId, version: bigint): boolean {
    const known = this.#accounts.get(accountId);
    return known !== undefined && version >= known.version;
  }

  /** Drops idle accounts once a minute, so that memory does not grow with every account that was ever seen. */
  #dropIdle(now: number): void {
    if (now - this.#sweptMs < 60_000) return;
    this.#sweptMs = now;
    for (const [accountId, usage] of this.#usage) {
      if (usage.slots.size === 0 && usage.requests.isEmpty(now) && usage.tokens.isEmpty(now)) {
        this.#usage.delete(accountId);
      }
    }
  }
}

/** The limit that a request has to wait for longest; of several, the first. */
function longestOf({ requests, tokens, concurrency }: Readonly<Record<LimitName, number>>): LimitName {
  if (requests >= Math.max(tokens, concurrency)) return "requests";
  return tokens >= concurrency ? "tokens" : "concurrency";
}

function ratesOf(
  { requests, tokens }: Usage,
  { requestsPerMinute, tokensPerMinute }: Limits,
  nowMs: number,
): Rates {
  return { requests: requests.rate(requestsPerMinute, nowMs), tokens: tokens.rate(tokensPerMinute, nowMs) };
}
