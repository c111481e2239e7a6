import { LRUCache } from "lru-cache";
import type { AccountId } from "../contract/account.ts";
import {
  type Admission,
  CONCURRENCY_RETRY_MS,
  type Demand,
  type LimitName,
  type LimitUse,
  type Rates,
  type Release,
  type Slot,
} from "../contract/limits.ts";
import type { AdmissionStore, Epoch } from "./admission-store.ts";
import { SlidingMinute, secondOf } from "./sliding-minute.ts";

const ACCOUNTS_REMEMBERED = 100_000;

interface Usage {
  readonly requests: SlidingMinute;
  readonly tokens: SlidingMinute;
  /** Each slot with the second in which it was admitted. */
  readonly slots: Map<Slot, number>;
}

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
      max: accountsRemembered,
      // A version that was only read can be read again. Dropping a publication invalidates all reads that began before it.
      dispose: ({ publication }, _account, reason) => {
        if (reason === "evict") this.#forgotten = Math.max(this.#forgotten, publication);
      },
    });
  }

  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    return this.#isCurrent(accountId, version) ? "current" : "stale";
  }

  async admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission> {
    if (!this.#isCurrent(accountId, version)) return { kind: "stale" };
    const { limits, tokens, slot } = demand;
    const now = this.#nowMs();
    this.#dropIdle(now);
    const usage = this.#usage.get(accountId) ?? {
      requests: new SlidingMinute(),
      tokens: new SlidingMinute(),
      slots: new Map<Slot, number>(),
    };
    // A request above the limit is admitted when nothing else is in the window. Otherwise it could never be admitted.
    const estimatedTokens =
      limits.tokensPerMinute === null ? tokens : Math.min(tokens, limits.tokensPerMinute);
    const waits: [LimitName, number][] = [];
    if (limits.requestsPerMinute !== null) {
      waits.push(["requests", usage.requests.waitMs(1, limits.requestsPerMinute, now)]);
    }
    if (limits.tokensPerMinute !== null) {
      waits.push(["tokens", usage.tokens.waitMs(estimatedTokens, limits.tokensPerMinute, now)]);
    }
    if (limits.concurrentRequests !== null && usage.slots.size >= limits.concurrentRequests) {
      waits.push(["concurrency", CONCURRENCY_RETRY_MS]);
    }
    const [by, retryAfterMs] = waits.reduce((longest, wait) => (wait[1] > longest[1] ? wait : longest), [
      "requests",
      0,
    ] as [LimitName, number]);
    const rates = (): Rates => ({
      requests: limits.requestsPerMinute === null ? null : usage.requests.rate(limits.requestsPerMinute, now),
      tokens: limits.tokensPerMinute === null ? null : usage.tokens.rate(limits.tokensPerMinute, now),
    });
    if (retryAfterMs > 0) return { kind: "limited", by, retryAfterMs, rates: rates() };
    this.#usage.set(accountId, usage);
    if (limits.requestsPerMinute !== null) usage.requests.add(1, now);
    if (limits.tokensPerMinute !== null) usage.tokens.add(estimatedTokens, now);
    const atS = secondOf(now);
    usage.slots.set(slot, atS);
    return { kind: "admitted", atS, rates: rates() };
  }

  async release(accountId: AccountId, { slot, tokensMore, isCancelled }: Release): Promise<void> {
    const usage = this.#usage.get(accountId);
    const atS = usage?.slots.get(slot);
    if (usage === undefined || atS === undefined) return;
    usage.slots.delete(slot);
    usage.tokens.correct(atS, tokensMore);
    if (isCancelled) usage.requests.correct(atS, -1);
  }

  async renew(): Promise<void> {
    // The slots are lost only together with this process, so they need no renewal.
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    const usage = this.#usage.get(accountId);
    if (usage === undefined) return { requests: 0, tokens: 0, concurrent: 0 };
    const now = this.#nowMs();
    return {
      requests: usage.requests.used(now),
      tokens: usage.tokens.used(now),
      concurrent: usage.slots.size,
    };
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

  async epoch(): Promise<Epoch> {
    return String(this.#publications) as Epoch;
  }

  async commitRead(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
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
