import { Redis } from "ioredis";
import type { AccountId } from "../accounts/account.ts";
import { type AdmissionStore, AdmissionStoreUnavailable, type Epoch } from "./admission-store.ts";

// One hash for each account, `{account}` being the part a cluster hashes. Versions are compared as numbers: Lua's
// doubles hold every version up to 2^53, which is a change a microsecond for 285 years.
// The shebang without `no-writes` makes a replica refuse the script (Redis 7, Valkey): one that was a primary until a
// moment ago must not go on deciding by what it knew then.
const SCRIPT = `#!lua flags=allow-oom
`;

const ADMIT = `${SCRIPT}
local version = redis.call('HGET', KEYS[1], 'version')
if version and tonumber(ARGV[1]) >= tonumber(version) then return 1 end
return 0`;

// What expires is forgotten, which is always safe: the account is read again, once a day at most.
const REMEMBERED_S = 24 * 60 * 60;

const RAISE = `
local function raise(version)
  local known = redis.call('HGET', KEYS[1], 'version')
  if not known or tonumber(version) > tonumber(known) then redis.call('HSET', KEYS[1], 'version', version) end
  redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S})
end
`;

const PUBLISH = `${SCRIPT}${RAISE}
if redis.call('HEXISTS', KEYS[1], 'version') == 0 then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[2])
  redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S})
  return 0
end
raise(ARGV[1])
return 1`;

const EPOCH = `${SCRIPT}
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
redis.call('EXPIRE', KEYS[1], ${REMEMBERED_S})
return redis.call('HGET', KEYS[1], 'epoch')`;

const VOUCH = `${SCRIPT}${RAISE}
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[2] then return 0 end
raise(ARGV[1])
return 1`;

interface Scripts {
  ostiaryAdmit(key: string, version: string): Promise<number>;
  ostiaryPublish(key: string, version: string, freshEpoch: string): Promise<number>;
  ostiaryEpoch(key: string, freshEpoch: string): Promise<string>;
  ostiaryVouch(key: string, version: string, epoch: string): Promise<number>;
}

export interface RedisAdmissionStoreOptions {
  readonly url: string;
  /** What all its keys begin with, so that several services can share a Redis. */
  readonly prefix: string;
  /** A command that took longer counts as failed. */
  readonly commandTimeoutMs: number;
  readonly onError: (message: string) => void;
}

/** The admission store that several nodes share. */
export class RedisAdmissionStore implements AdmissionStore {
  readonly #redis: Redis & Scripts;
  readonly #prefix: string;
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
      scripts: {
        ostiaryAdmit: { lua: ADMIT, numberOfKeys: 1 },
        ostiaryPublish: { lua: PUBLISH, numberOfKeys: 1 },
        ostiaryEpoch: { lua: EPOCH, numberOfKeys: 1 },
        ostiaryVouch: { lua: VOUCH, numberOfKeys: 1 },
      },
    });
    redis.on("error", (error: Error) => options.onError(error.message));
    redis.on("close", () => {
      for (const doubt of this.#doubters) doubt();
    });
    // ioredis adds a method for each of `scripts`; its types can't say so.
    this.#redis = redis as Redis & Scripts;
    this.#prefix = options.prefix;
  }

  /** @throws {AdmissionStoreUnavailable} when Redis does not answer. */
  async connect(): Promise<void> {
    await this.#ask(() => this.#redis.connect());
  }

  async admit(accountId: AccountId, version: bigint): Promise<"admitted" | "stale"> {
    const answer = await this.#ask(() =>
      this.#redis.ostiaryAdmit(this.#hashOf(accountId), version.toString()),
    );
    return answer === 1 ? "admitted" : "stale";
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    await this.#ask(() =>
      this.#redis.ostiaryPublish(this.#hashOf(accountId), version.toString(), crypto.randomUUID()),
    );
  }

  async epoch(accountId: AccountId): Promise<Epoch> {
    const epoch = await this.#ask(() =>
      this.#redis.ostiaryEpoch(this.#hashOf(accountId), crypto.randomUUID()),
    );
    return epoch as Epoch;
  }

  async vouch(accountId: AccountId, version: bigint, epoch: Epoch): Promise<boolean> {
    const answer = await this.#ask(() =>
      this.#redis.ostiaryVouch(this.#hashOf(accountId), version.toString(), epoch),
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

  #hashOf(accountId: AccountId): string {
    return `${this.#prefix}:{${accountId}}`;
  }

  async #ask<Answer>(command: () => Promise<Answer>): Promise<Answer> {
    try {
      return await command();
    } catch (cause) {
      throw new AdmissionStoreUnavailable("Redis did not answer.", { cause });
    }
  }
}
