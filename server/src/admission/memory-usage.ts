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
import { SlidingMinute, secondOf } from "./sliding-minute.ts";

interface Usage {
  readonly requests: SlidingMinute;
  readonly tokens: SlidingMinute;
  /** With the second in which each was admitted. */
  readonly slots: Map<Slot, number>;
}

/** What accounts use of their limits, in this process's memory: only those that have used any in the last minute. */
export class MemoryUsage {
  readonly #accounts = new Map<AccountId, Usage>();
  readonly #nowMs: () => number;
  #sweptMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  admit(accountId: AccountId, { limits, tokens, slot }: Demand): Exclude<Admission, { kind: "stale" }> {
    const now = this.#nowMs();
    this.#dropIdle(now);
    const usage = this.#accounts.get(accountId) ?? {
      requests: new SlidingMinute(),
      tokens: new SlidingMinute(),
      slots: new Map<Slot, number>(),
    };
    // More than there is in a minute is let through when nothing else was: it would wait for ever otherwise.
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
    this.#accounts.set(accountId, usage);
    if (limits.requestsPerMinute !== null) usage.requests.add(1, now);
    if (limits.tokensPerMinute !== null) usage.tokens.add(estimatedTokens, now);
    const atS = secondOf(now);
    usage.slots.set(slot, atS);
    return { kind: "admitted", atS, rates: rates() };
  }

  release(accountId: AccountId, { slot, tokensMore, isCancelled }: Release): void {
    const usage = this.#accounts.get(accountId);
    const atS = usage?.slots.get(slot);
    if (usage === undefined || atS === undefined) return;
    usage.slots.delete(slot);
    usage.tokens.correct(atS, tokensMore);
    if (isCancelled) usage.requests.correct(atS, -1);
  }

  useOf(accountId: AccountId): LimitUse {
    const usage = this.#accounts.get(accountId);
    if (usage === undefined) return { requests: 0, tokens: 0, concurrent: 0 };
    const now = this.#nowMs();
    return {
      requests: usage.requests.used(now),
      tokens: usage.tokens.used(now),
      concurrent: usage.slots.size,
    };
  }

  /** Once a minute: whoever came once is not remembered for ever. */
  #dropIdle(now: number): void {
    if (now - this.#sweptMs < 60_000) return;
    this.#sweptMs = now;
    for (const [accountId, usage] of this.#accounts) {
      if (usage.slots.size === 0 && usage.requests.isEmpty(now) && usage.tokens.isEmpty(now)) {
        this.#accounts.delete(accountId);
      }
    }
  }
}
