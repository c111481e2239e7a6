import { Redis } from "ioredis";
import type { AccountId } from "../contract/account.ts";
import type {
  Admission,
  Demand,
  HeldSlot,
  LimitName,
  LimitUse,
  Rate,
  Release,
  Slot,
} from "../contract/limits.ts";
import { type AdmissionStore, AdmissionStoreUnavailable, type Epoch } from "./admission-store.ts";
import type { DatabasePosition, EpochInRedis } from "./database-epoch.ts";
import { memoryOf, type RedisMemory, type RedisServer, serverOf } from "./redis-info.ts";
import { type RedisConnectionOptions, redisOptions } from "./redis-options.ts";
import {
  type AdmitReply,
  type Replies,
  SCRIPTS,
  type ScriptArgument,
  type Scripts,
} from "./redis-scripts.ts";

/** A script that renews more slots would delay the commands of all clients. */
const MAX_RENEWED_AT_ONCE = 1_000;

export interface RedisAdmissionStoreOptions extends RedisConnectionOptions {
  readonly url: string;
  /** The prefix of all keys, so that several services can share a Redis. */
  readonly prefix: string;
  readonly onError: (message: string) => void;
  /** Replaces the clock of Redis in tests. */
  readonly nowMs?: () => number;
}

/** KEYS: the position. ARGV: the epoch that may be replaced, the new epoch and its tick. */
const MOVE_POSITION = `
local epoch, tick = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'tick'))
if epoch and epoch ~= ARGV[1] then return 0 end
if epoch == ARGV[2] and tonumber(tick) >= tonumber(ARGV[3]) then return 1 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[2], 'tick', ARGV[3])
return 1`;

/** The admission store that several nodes share. */
export class RedisAdmissionStore implements AdmissionStore, EpochInRedis {
  readonly #redis: Redis & Scripts;
  readonly #prefix: string;
  /** The prefix of the keys of accounts, which are those of one epoch of the database. */
  #epochPrefix: string;
  /** Milliseconds in tests; otherwise empty, and the scripts read the clock of Redis, which all nodes share. */
  readonly #testClock: () => string;
  readonly #restored: (() => void)[] = [];
  #connection = 0;

  constructor(options: RedisAdmissionStoreOptions) {
    const redis = new Redis(options.url, {
      ...redisOptions(options),
      lazyConnect: true,
      enableAutoPipelining: true,
      scripts: Object.fromEntries(
        Object.entries(SCRIPTS).map(([name, { lua, keys }]) => [name, { lua, numberOfKeys: keys.length }]),
      ),
    });
    redis.on("error", (error: Error) => options.onError(error.message));
    redis.on("close", () => this.#connection++);
    // Listeners send their commands first on the new connection, before it admits any request.
    redis.on("ready", () => this.restored());
    // ioredis adds a method for each of `scripts`; its types can't say so.
    this.#redis = redis as Redis & Scripts;
    this.#prefix = options.prefix;
    this.#epochPrefix = options.prefix;
    this.#testClock = () => (options.nowMs === undefined ? "" : String(Math.floor(options.nowMs())));
  }

  /** @throws {AdmissionStoreUnavailable} when Redis does not answer. */
  async connect(): Promise<void> {
    await this.#ask(() => this.#redis.connect());
  }

  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    const answer = await this.#run("ostiaryCheck", accountId, version.toString());
    return answer === 1 ? "current" : "stale";
  }

  async admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission> {
    const { limits, tokens, slot } = demand;
    const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits;
    const limited = [requestsPerMinute, tokensPerMinute, concurrentRequests].map((limit) => limit ?? -1);
    const args = [version.toString(), ...limited, tokens, slot, this.#testClock()];
    return admissionOf(await this.#run("ostiaryAdmit", accountId, ...args), demand);
  }

  async release(accountId: AccountId, release: Release): Promise<void> {
    const { slot, atS, tokensMore, isCancelled, isContested } = release;
    const flags = [Number(isCancelled), Number(isContested)];
    await this.#run("ostiaryRelease", accountId, slot, atS ?? "", tokensMore, ...flags, this.#testClock());
  }

  async renew(slots: readonly HeldSlot[]): Promise<void> {
    const byAccount = new Map<AccountId, Slot[]>();
    for (const { accountId, slot } of slots) {
      const held = byAccount.get(accountId);
      if (held === undefined) byAccount.set(accountId, [slot]);
      else held.push(slot);
    }
    // All renewals are sent before this function yields, so a later release arrives after its renewal.
    await Promise.all(
      [...byAccount].flatMap(([accountId, held]) =>
        chunksOf(held, MAX_RENEWED_AT_ONCE).map((chunk) =>
          this.#run("ostiaryRenew", accountId, this.#testClock(), ...chunk),
        ),
      ),
    );
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    const [requests, tokens, concurrent] = await this.#run("ostiaryUse", accountId, this.#testClock());
    return { requests, tokens, concurrent };
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    await this.#run("ostiaryPublish", accountId, version.toString(), crypto.randomUUID());
  }

  async epoch(accountId: AccountId): Promise<Epoch> {
    return (await this.#run("ostiaryEpoch", accountId, crypto.randomUUID())) as Epoch;
  }

  async commitRead(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    return (await this.#run("ostiaryCommitRead", accountId, version.toString(), epoch)) === 1;
  }

  /** Returns the installation that {@link claim} has recorded; `null` in a Redis that is new or has lost its data. */
  async owner(): Promise<string | null> {
    return this.#ask(() => this.#redis.get(`${this.#prefix}:mark`));
  }

  /**
   * Records which installation the store belongs to, unless one is recorded already.
   *
   * @returns whether none was recorded, so that the store has lost everything.
   */
  async claim(owner: string): Promise<boolean> {
    return (await this.#ask(() => this.#redis.set(`${this.#prefix}:mark`, owner, "NX"))) === "OK";
  }

  /** Whether there is a connection that commands can be sent on. */
  get isConnected(): boolean {
    return this.#redis.status === "ready";
  }

  async position(): Promise<DatabasePosition | null> {
    const key = `${this.#prefix}:position`;
    const [epoch, tick] = await this.#ask(() => this.#redis.hmget(key, "epoch", "tick"));
    return typeof epoch === "string" && typeof tick === "string" ? { epoch, tick: BigInt(tick) } : null;
  }

  async moveTo(position: DatabasePosition, from: { readonly epoch: string }): Promise<void> {
    const key = `${this.#prefix}:position`;
    const { epoch, tick } = position;
    await this.#ask(() => this.#redis.eval(MOVE_POSITION, 1, key, from.epoch, epoch, tick.toString()));
  }

  useEpoch(epoch: string): void {
    this.#epochPrefix = epoch === "" ? this.#prefix : `${this.#prefix}:${epoch}`;
  }

  /** Changes whenever the connection is lost. */
  get connection(): number {
    return this.#connection;
  }

  /** Closes the connection and opens a new one, which may reach another server. */
  reconnect(): void {
    this.#redis.disconnect(true);
  }

  /** Identifies the server. @returns `null` when it does not, or when the user of Redis lacks the permission. */
  async server(): Promise<RedisServer | null> {
    const info = await this.#info("server", "replication");
    return info === null ? null : serverOf(info);
  }

  /** Returns how Redis behaves when its memory is full; `null` when it is unknown. */
  async memory(): Promise<RedisMemory | null> {
    const info = await this.#info("memory");
    return info === null ? null : memoryOf(info);
  }

  onInvalidated(listener: () => void): void {
    this.#redis.on("close", listener);
  }

  onRestored(listener: () => void): void {
    this.#restored.push(listener);
  }

  /** Calls the listeners of {@link onRestored}. */
  restored(): void {
    for (const listener of this.#restored) listener();
  }

  async ping(): Promise<void> {
    await this.#ask(() => this.#redis.ping());
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }

  /** Runs a script on keys of the account. */
  #run<Name extends keyof Replies>(
    name: Name,
    accountId: AccountId,
    ...args: readonly ScriptArgument[]
  ): Promise<Replies[Name]> {
    const scripts: Scripts = this.#redis;
    // `{account}` is the part that a cluster hashes: all keys of an account are in one hash slot.
    const keys = SCRIPTS[name].keys.map((part) => `${this.#epochPrefix}:{${accountId}}${part}`);
    return this.#ask(() => scripts[name](...keys, ...args));
  }

  async #info(...sections: string[]): Promise<string | null> {
    try {
      return await this.#ask(() => this.#redis.info(...sections));
    } catch (error) {
      const cause = error instanceof AdmissionStoreUnavailable ? error.cause : null;
      // The user of Redis lacks the permission, or the server does not know the command.
      if (isRefusal(cause) && /^(?:NOPERM|ERR)/.test(cause.message)) return null;
      throw error;
    }
  }

  async #ask<Answer>(command: () => Promise<Answer>): Promise<Answer> {
    const isConnected = this.#redis.status === "ready";
    try {
      return await command();
    } catch (cause) {
      const mayBeDone = isConnected && !isRefusal(cause);
      throw new AdmissionStoreUnavailable("Redis did not answer.", { mayBeDone, cause });
    }
  }
}

/** True when Redis has answered that it did not execute the command. */
function isRefusal(cause: unknown): cause is Error {
  return cause instanceof Error && cause.name === "ReplyError";
}

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
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
