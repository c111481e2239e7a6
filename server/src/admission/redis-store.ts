import { Redis } from "ioredis";
import type { AccountId } from "../accounts/account.ts";
import { type AdmissionStore, AdmissionStoreUnavailable, type Epoch } from "./admission-store.ts";
import {
  type Admission,
  type Demand,
  type LimitName,
  type LimitUse,
  PLACE_LEASE_MS,
  type Place,
  type Rate,
  type Release,
} from "./limits.ts";
import { type AdmitReply, SCRIPTS, type Scripts } from "./redis-scripts.ts";

export interface RedisAdmissionStoreOptions {
  readonly url: string;
  /** What all its keys begin with, so that several services can share a Redis. */
  readonly prefix: string;
  /** A command that took longer counts as failed. */
  readonly commandTimeoutMs: number;
  readonly onError: (message: string) => void;
  /** Instead of Redis's own clock, for tests. */
  readonly nowMs?: () => number;
}

/** The admission store that several nodes share. */
export class RedisAdmissionStore implements AdmissionStore {
  readonly #redis: Redis & Scripts;
  readonly #prefix: string;
  /** Milliseconds, or nothing: Redis has a clock that all nodes share. */
  readonly #testClock: () => string;
  readonly #doubters: (() => void)[] = [];

  constructor(options: RedisAdmissionStoreOptions) {
    const redis = new Redis(options.url, {
      lazyConnect: true,
      enableAutoPipelining: true,
      commandTimeout: options.commandTimeoutMs,
      connectTimeout: options.commandTimeoutMs,
      // A command that waits for a lost connection would decide by a store that may have restarted empty.
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (attempt) => Math.min(50 * attempt, 1_000),
      scripts: SCRIPTS,
    });
    redis.on("error", (error: Error) => options.onError(error.message));
    redis.on("close", () => {
      for (const doubt of this.#doubters) doubt();
    });
    // ioredis adds a method for each of `scripts`; its types can't say so.
    this.#redis = redis as Redis & Scripts;
    this.#prefix = options.prefix;
    this.#testClock = () => (options.nowMs === undefined ? "" : String(Math.floor(options.nowMs())));
  }

  /** @throws {AdmissionStoreUnavailable} when Redis does not answer. */
  async connect(): Promise<void> {
    await this.#ask(() => this.#redis.connect());
  }

  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    const answer = await this.#ask(() =>
      this.#redis.ostiaryCheck(this.#keyOf(accountId), version.toString()),
    );
    return answer === 1 ? "current" : "stale";
  }

  async admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission> {
    const { limits, tokens, place } = demand;
    const limit = (value: number | null) => (value === null ? "-1" : String(value));
    const reply = await this.#ask(() =>
      this.#redis.ostiaryAdmit(
        this.#keyOf(accountId),
        this.#keyOf(accountId, "requests"),
        this.#keyOf(accountId, "tokens"),
        this.#keyOf(accountId, "places"),
        version.toString(),
        limit(limits.requestsPerMinute),
        limit(limits.tokensPerMinute),
        limit(limits.concurrentRequests),
        String(tokens),
        place,
        String(PLACE_LEASE_MS),
        this.#testClock(),
      ),
    );
    return admissionOf(reply, demand);
  }

  async release(accountId: AccountId, { place, atS, tokensMore }: Release): Promise<void> {
    await this.#ask(() =>
      this.#redis.ostiaryRelease(
        this.#keyOf(accountId, "places"),
        this.#keyOf(accountId, "tokens"),
        place,
        String(atS),
        String(tokensMore),
      ),
    );
  }

  async renew(places: readonly { readonly accountId: AccountId; readonly place: Place }[]): Promise<void> {
    await Promise.all(
      places.map(({ accountId, place }) =>
        this.#ask(() =>
          this.#redis.ostiaryRenew(this.#keyOf(accountId, "places"), place, String(PLACE_LEASE_MS)),
        ),
      ),
    );
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    const [requests, tokens, concurrent] = await this.#ask(() =>
      this.#redis.ostiaryUse(
        this.#keyOf(accountId, "requests"),
        this.#keyOf(accountId, "tokens"),
        this.#keyOf(accountId, "places"),
        this.#testClock(),
      ),
    );
    return { requests, tokens, concurrent };
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    await this.#ask(() =>
      this.#redis.ostiaryPublish(this.#keyOf(accountId), version.toString(), crypto.randomUUID()),
    );
  }

  async epoch(accountId: AccountId): Promise<Epoch> {
    const epoch = await this.#ask(() =>
      this.#redis.ostiaryEpoch(this.#keyOf(accountId), crypto.randomUUID()),
    );
    return epoch as Epoch;
  }

  async vouch(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    const answer = await this.#ask(() =>
      this.#redis.ostiaryVouch(this.#keyOf(accountId), version.toString(), epoch),
    );
    return answer === 1;
  }

  /** What {@link mark} has left there; `null` in a Redis that is new, or has lost it. */
  async markThere(): Promise<string | null> {
    return this.#ask(() => this.#redis.get(`${this.#prefix}:mark`));
  }

  /** Leaves word of which installation the store belongs to, unless there is such word already. */
  async mark(mark: string): Promise<void> {
    await this.#ask(() => this.#redis.set(`${this.#prefix}:mark`, mark, "NX"));
  }

  onDoubt(listener: () => void): void {
    this.#doubters.push(listener);
  }

  async ping(): Promise<void> {
    await this.#ask(() => this.#redis.ping());
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }

  /** `{account}` is the part that a cluster hashes: what belongs to an account is in one place. */
  #keyOf(accountId: AccountId, part?: string): string {
    return `${this.#prefix}:{${accountId}}${part === undefined ? "" : `:${part}`}`;
  }

  async #ask<Answer>(command: () => Promise<Answer>): Promise<Answer> {
    try {
      return await command();
    } catch (cause) {
      throw new AdmissionStoreUnavailable("Redis did not answer.", { cause });
    }
  }
}

const LIMITS_BY_CODE: Readonly<Record<number, LimitName>> = { 2: "requests", 3: "tokens", 4: "concurrency" };

function admissionOf(reply: AdmitReply, { limits }: Demand): Admission {
  const [code, retryAfterMs, atS, requestsUsed, requestsResetMs, tokensUsed, tokensResetMs] = reply;
  if (code === 0) return { kind: "stale" };
  const rates = {
    requests: rateOf(limits.requestsPerMinute, requestsUsed, requestsResetMs),
    tokens: rateOf(limits.tokensPerMinute, tokensUsed, tokensResetMs),
  };
  if (code === 1) return { kind: "admitted", atS, rates };
  return { kind: "limited", by: LIMITS_BY_CODE[code] ?? "concurrency", retryAfterMs, rates };
}

function rateOf(limit: number | null, used: number, resetMs: number): Rate | null {
  return limit === null ? null : { limit, remaining: Math.max(0, limit - used), resetMs };
}
