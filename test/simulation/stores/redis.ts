import {
  type AccountEpoch,
  type Admission,
  type AdmissionStore,
  AdmissionStoreUnavailable,
  type NodeUse,
} from "../../../server/src/admission/admission-store.ts";
import { secondOf } from "../../../server/src/admission/sliding-minute.ts";
import type { AccountId } from "../../../server/src/contract/account.ts";
import {
  CONCURRENCY_RETRY_MS,
  type Demand,
  ENDED_REMEMBERED_MS,
  type LimitName,
  type LimitUse,
  type Rates,
  type Release,
  SLOT_LEASE_MS,
  type Slot,
  WINDOW_S,
} from "../../../server/src/contract/limits.ts";
import type { Link } from "../world/wire.ts";
import { leavesAtMs, RedisMinute } from "./redis-minute.ts";
import type { ReintroducedFaults } from "./reintroduced-faults.ts";

/** Operations of Redis, by which faults name them. */
export const REDIS_OPERATIONS = [
  "check",
  "admit",
  "release",
  "renew",
  "recount",
  "publish",
  "epoch",
  "commitRead",
] as const;

const RECOUNTED_REMEMBERED_MS = 2 * WINDOW_S * 1_000;

/** What Redis holds of an account. */
interface AccountKeys {
  version: bigint | null;
  epoch: AccountEpoch | null;
  readonly requests: RedisMinute;
  readonly tokens: RedisMinute;
  /** Each with the time at which its lease runs out. */
  readonly slots: Map<Slot, number>;
  /** Slots that have ended and may be taken by what comes late, each with the time at which that is forgotten. */
  readonly ended: Map<Slot, number>;
  /** Nodes and epochs whose use was counted again, and when all of them are forgotten. */
  readonly recounted: Set<string>;
  recountedUntilMs: number;
}

/** A simulated Redis, with commands that do what the scripts in `redis-scripts.ts` do. */
export class SimulatedRedis {
  readonly #nowMs: () => number;
  readonly #faults: ReintroducedFaults;
  #accounts = new Map<AccountId, AccountKeys>();
  #life = 0;
  /** Told of each request that is let through. */
  onAdmitted: (accountId: AccountId, demand: Demand) => void = () => {};
  /** Told of each of them that was given back because it is not served. */
  onCancelled: (accountId: AccountId, slot: Slot) => void = () => {};
  /** Told of each request that is refused for the limit on requests of a minute. */
  onRefused: (accountId: AccountId, limit: number) => void = () => {};

  /** `nowMs`: Redis's clock. */
  constructor(nowMs: () => number, faults: ReintroducedFaults) {
    this.#faults = faults;
    this.#nowMs = () => Math.floor(nowMs());
  }

  /** As after a restart without persistence. */
  empty(): void {
    this.#accounts = new Map();
    this.#life++;
  }

  /** What is known of accounts' versions is evicted. All else stays. */
  expireVersions(): void {
    for (const keys of this.#accounts.values()) {
      keys.version = null;
      keys.epoch = null;
    }
  }

  /** Identifies the data, with which it is lost. */
  get life(): number {
    return this.#life;
  }

  check(accountId: AccountId, version: bigint): "current" | "stale" {
    return this.#isCurrent(accountId, version) ? "current" : "stale";
  }

  admit(accountId: AccountId, version: bigint, demand: Demand): Admission {
    if (!this.#isCurrent(accountId, version)) return { kind: "stale" };
    const nowMs = this.#nowMs();
    const { limits, slot } = demand;
    const { epoch, requests, tokens, slots, ended } = this.#keysOf(accountId);
    if (ended.has(slot) && !this.#faults.has("late admissions take slots")) return { kind: "stale" };
    const wanted = Math.min(demand.tokens, limits.tokensPerMinute ?? demand.tokens);
    let by: LimitName | null = null;
    let retryAfterMs = 0;
    const refuse = (name: LimitName, ms: number) => {
      if (ms > retryAfterMs) [by, retryAfterMs] = [name, ms];
    };
    if (limits.requestsPerMinute !== null)
      refuse("requests", requests.waitMs(1, limits.requestsPerMinute, nowMs));
    if (limits.tokensPerMinute !== null)
      refuse("tokens", tokens.waitMs(wanted, limits.tokensPerMinute, nowMs));
    dropExpired(slots, nowMs);
    if (limits.concurrentRequests !== null && slots.size >= limits.concurrentRequests)
      refuse("concurrency", CONCURRENCY_RETRY_MS);
    const rates = (): Rates => ({
      requests: limits.requestsPerMinute === null ? null : requests.rate(limits.requestsPerMinute, nowMs),
      tokens: limits.tokensPerMinute === null ? null : tokens.rate(limits.tokensPerMinute, nowMs),
    });
    if (by === "requests" && limits.requestsPerMinute !== null)
      this.onRefused(accountId, limits.requestsPerMinute);
    if (by !== null) return { kind: "limited", by, retryAfterMs, rates: rates() };
    if (limits.requestsPerMinute !== null) requests.add(1, secondOf(nowMs));
    if (limits.tokensPerMinute !== null) tokens.add(wanted, secondOf(nowMs));
    slots.set(slot, nowMs + SLOT_LEASE_MS);
    this.onAdmitted(accountId, demand);
    return { kind: "admitted", atS: secondOf(nowMs), epoch, rates: rates() };
  }

  release(accountId: AccountId, release: Release): number | null {
    const { slot, tokensMore, isCancelled, isContested } = release;
    const keys = this.#keysOf(accountId);
    const nowMs = this.#nowMs();
    if (isContested) {
      dropExpired(keys.ended, nowMs);
      keys.ended.set(slot, nowMs + ENDED_REMEMBERED_MS);
    }
    // Redis may have forgotten the slot of a request that is not served.
    if (isCancelled) this.onCancelled(accountId, slot);
    const lapsesMs = keys.slots.get(slot);
    if (lapsesMs === undefined) return null;
    keys.slots.delete(slot);
    const atS = release.atS ?? Math.floor((lapsesMs - SLOT_LEASE_MS) / 1_000);
    if (isCancelled) keys.requests.correct(atS, -1);
    if (tokensMore > 0 && !isContested && leavesAtMs(atS) <= nowMs) {
      keys.tokens.add(tokensMore, secondOf(nowMs));
      return secondOf(nowMs);
    }
    keys.tokens.correct(atS, tokensMore);
    return null;
  }

  /** Takes the slots again where they were lost. One that was given back is not taken by a renewal that comes late. */
  renew(accountId: AccountId, held: readonly Slot[]): void {
    const { slots, ended } = this.#keysOf(accountId);
    for (const slot of held) {
      const isTaken = slots.has(slot) || !this.#faults.has("lost slots stay lost");
      if (isTaken && !ended.has(slot)) slots.set(slot, this.#nowMs() + SLOT_LEASE_MS);
    }
  }

  /** Counts what a node has admitted in an epoch that has ended. */
  recount(accountId: AccountId, { node, epoch, seconds }: NodeUse): void {
    if (this.#faults.has("lost counts stay lost")) return;
    const keys = this.#keysOf(accountId);
    const nowMs = this.#nowMs();
    if (keys.recountedUntilMs <= nowMs) keys.recounted.clear();
    const name = `${node}:${epoch}`;
    if (keys.epoch === epoch || keys.recounted.has(name)) return;
    keys.recounted.add(name);
    keys.recountedUntilMs = nowMs + RECOUNTED_REMEMBERED_MS;
    for (const { second, requests, tokens } of seconds) {
      keys.requests.add(requests, second);
      keys.tokens.add(tokens, second);
    }
  }

  useOf(accountId: AccountId): LimitUse {
    const nowMs = this.#nowMs();
    const keys = this.#accounts.get(accountId);
    if (keys === undefined) return { requests: 0, tokens: 0, concurrent: 0 };
    const { requests, tokens, slots } = keys;
    const concurrent = [...slots.values()].filter((untilMs) => untilMs > nowMs).length;
    return { requests: requests.used(nowMs), tokens: tokens.used(nowMs), concurrent };
  }

  publish(accountId: AccountId, version: bigint, freshEpoch: AccountEpoch): void {
    const keys = this.#keysOf(accountId);
    if (keys.version === null) keys.epoch = freshEpoch;
    else raise(keys, version);
  }

  epoch(accountId: AccountId, freshEpoch: AccountEpoch): AccountEpoch {
    const keys = this.#keysOf(accountId);
    keys.epoch ??= freshEpoch;
    return keys.epoch;
  }

  commitRead(accountId: AccountId, version: bigint, epoch: AccountEpoch): boolean {
    const keys = this.#keysOf(accountId);
    if (keys.epoch !== epoch) return false;
    raise(keys, version);
    return true;
  }

  #isCurrent(accountId: AccountId, version: bigint): boolean {
    const known = this.#accounts.get(accountId)?.version ?? null;
    return known !== null && version >= known;
  }

  #keysOf(accountId: AccountId): AccountKeys {
    let keys = this.#accounts.get(accountId);
    if (keys === undefined) {
      keys = {
        version: null,
        epoch: null,
        requests: new RedisMinute(),
        tokens: new RedisMinute(),
        slots: new Map(),
        ended: new Map(),
        recounted: new Set(),
        recountedUntilMs: 0,
      };
      this.#accounts.set(accountId, keys);
    }
    return keys;
  }
}

function raise(keys: AccountKeys, version: bigint): void {
  if (keys.version === null || version > keys.version) keys.version = version;
}

function dropExpired(slots: Map<Slot, number>, nowMs: number): void {
  for (const [slot, untilMs] of slots) if (untilMs <= nowMs) slots.delete(slot);
}

/** The part of `RedisAdmissionStore` that nodes use. */
export interface SimulatedAdmissionStore extends AdmissionStore {
  /** Finds out whether Redis was emptied while the connection was not lost. Must be called every second. */
  claim(): Promise<void>;
}

/** A node's connection to the simulated Redis, as `RedisAdmissionStore` is one to a real Redis. */
export function admissionStoreOver(
  link: Link,
  redis: SimulatedRedis,
  faults: ReintroducedFaults,
): SimulatedAdmissionStore {
  const restored: (() => void)[] = [];
  const committed = new Map<AccountId, AccountEpoch>();
  let { life } = redis;
  const ask = async <Answer>(operation: string, apply: () => Answer): Promise<Answer> => {
    try {
      return await link.call(operation, apply);
    } catch (cause) {
      throw new AdmissionStoreUnavailable("Redis did not answer", { cause });
    }
  };
  return {
    check: (account, version) => ask("check", () => redis.check(account, version)),
    admit: async (account, version, demand) => {
      const admission = await ask("admit", () => redis.admit(account, version, demand));
      if (admission.kind !== "admitted" || !faults.has("admissions have an old epoch")) return admission;
      return { ...admission, epoch: committed.get(account) ?? null };
    },
    release: (account, release) => ask("release", () => redis.release(account, release)),
    renew: async (slots) => {
      const byAccount = new Map<AccountId, Slot[]>();
      for (const { accountId, slot } of slots)
        byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), slot]);
      await Promise.all(
        [...byAccount].map(([accountId, own]) => ask("renew", () => redis.renew(accountId, own))),
      );
    },
    recount: (account, use) => ask("recount", () => redis.recount(account, use)),
    useOf: (account) => ask("useOf", () => redis.useOf(account)),
    publish: (account, version) => {
      const freshEpoch = crypto.randomUUID() as string as AccountEpoch;
      return ask("publish", () => redis.publish(account, version, freshEpoch));
    },
    epoch: (account) => {
      const freshEpoch = crypto.randomUUID() as string as AccountEpoch;
      return ask("epoch", () => redis.epoch(account, freshEpoch));
    },
    commitRead: async (account, version, epoch) => {
      const isCommitted = await ask("commitRead", () => redis.commitRead(account, version, epoch));
      if (isCommitted) committed.set(account, epoch);
      return isCommitted;
    },
    onInvalidated: (listener) => link.onClosed(listener),
    onRestored: (listener) => {
      restored.push(listener);
      link.onOpened(listener);
    },
    claim: async () => {
      const before = life;
      life = await ask("claim", () => redis.life);
      if (life !== before) for (const listener of restored) listener();
    },
    ping: () => ask("ping", () => {}),
    close: async () => {},
  };
}
