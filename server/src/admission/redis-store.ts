import type { Redis } from "ioredis";
import { parseRedisUrl } from "../config/redis-url.ts";
import type { AccountId } from "../contract/account.ts";
import type { Demand, HeldSlot, LimitName, LimitUse, Rate, Release, Slot } from "../contract/limits.ts";
import { withTimeout } from "../errors/deadline.ts";
import { SharedTimeouts } from "../errors/shared-timeouts.ts";
import {
  type AccountEpoch,
  type Admission,
  type AdmissionStore,
  AdmissionStoreUnavailable,
  type NodeUse,
} from "./admission-store.ts";
import type { DatabasePosition, PositionInRedis } from "./database-epoch.ts";
import { ClusterPrimaries } from "./redis-cluster.ts";
import {
  combinedServer,
  isClusterServer,
  memoryOf,
  type RedisMemory,
  type RedisServer,
  serverOf,
} from "./redis-info.ts";
import type { RedisConnectionOptions } from "./redis-options.ts";
import { NEEDED_COMMANDS, REFUSED_COMMANDS } from "./redis-permissions.ts";
import {
  askRedis,
  isRefusal,
  openSinglePrimary,
  type RedisPrimaries,
  WatchedConnections,
} from "./redis-primaries.ts";
import type { RedisScript, ScriptArgument } from "./redis-script.ts";
import { type AdmitReply, MOVE_POSITION, SCRIPTS, SET_IF_NEW } from "./redis-scripts.ts";

/** A script that renews more slots would delay the commands of all clients. */
const MAX_RENEWED_AT_ONCE = 1_000;
/** Sentinels are asked until one answers. */
const CONNECT_TIMEOUT_MS = 10_000;

export interface RedisAdmissionStoreOptions extends RedisConnectionOptions {
  readonly url: string;
  /** The prefix of all keys, so that several services can share a Redis. */
  readonly prefix: string;
  readonly onError: (message: string) => void;
  /** Replaces the clock of Redis in tests. */
  readonly nowMs?: () => number;
}

/** The admission store that several nodes share. */
export class RedisAdmissionStore extends WatchedConnections implements AdmissionStore, PositionInRedis {
  readonly #primaries: RedisPrimaries;
  readonly #timeouts: SharedTimeouts;
  readonly #onError: (message: string) => void;
  readonly #prefix: string;
  /** The prefix of the keys of accounts, which are those of one epoch of the database. */
  #epochPrefix: string;
  /** Milliseconds in tests; otherwise empty, and the scripts read the clock of Redis, which all nodes share. */
  readonly #testClock: () => string;
  /** Identifies the data of all primaries: it is lost with the data. `null` before the first {@link claim}. */
  #life: string | null = null;
  /** The last error of a connection, which says more than that it was closed. */
  #lastError: Error | null = null;

  constructor(options: RedisAdmissionStoreOptions) {
    super();
    const address = parseRedisUrl(options.url);
    const parts = {
      timeouts: options,
      watched: this,
      onError: (message: string) => {
        this.#lastError = new Error(message);
        options.onError(message);
      },
    };
    this.#primaries =
      address.kind === "cluster" ? new ClusterPrimaries(address, parts) : openSinglePrimary(address, parts);
    this.#timeouts = new SharedTimeouts(options.commandTimeoutMs);
    this.#onError = options.onError;
    this.#prefix = options.prefix;
    this.#epochPrefix = options.prefix;
    this.#testClock = () => (options.nowMs === undefined ? "" : String(Math.floor(options.nowMs())));
  }

  /** @throws {AdmissionStoreUnavailable} when Redis does not answer, or is a part of a cluster whose other parts are not known. */
  async connect(): Promise<void> {
    try {
      await withTimeout(CONNECT_TIMEOUT_MS, () => this.#primaries.connect());
    } catch (error) {
      const cause =
        error instanceof AdmissionStoreUnavailable ? (this.#lastError ?? error.cause) : this.#lastError;
      throw new AdmissionStoreUnavailable("Redis did not answer", { cause });
    }
    if (this.#primaries instanceof ClusterPrimaries) return;
    const [info] = await this.#infos("server");
    if (typeof info === "string" && isClusterServer(info)) {
      const cause = new Error(
        "it is a server of a Redis Cluster. Set REDIS_URL to redis+cluster://host:port",
      );
      throw new AdmissionStoreUnavailable("Redis can't be used", { cause });
    }
  }

  async check(accountId: AccountId, version: bigint): Promise<"current" | "stale"> {
    const answer = await this.#run(SCRIPTS.check, accountId, version.toString());
    return answer === 1 ? "current" : "stale";
  }

  async admit(accountId: AccountId, version: bigint, demand: Demand): Promise<Admission> {
    const { limits, tokens, slot } = demand;
    const { requestsPerMinute, tokensPerMinute, concurrentRequests } = limits;
    const limited = [requestsPerMinute, tokensPerMinute, concurrentRequests].map((limit) => limit ?? -1);
    const args = [version.toString(), ...limited, tokens, slot, this.#testClock()];
    return admissionOf(await this.#run(SCRIPTS.admit, accountId, ...args), demand);
  }

  async release(accountId: AccountId, release: Release): Promise<number | null> {
    const { slot, atS, tokensMore, isCancelled, isContested } = release;
    const flags = [Number(isCancelled), Number(isContested)];
    const args = [slot, atS ?? "", tokensMore, ...flags, this.#testClock()];
    const countedS = await this.#run(SCRIPTS.release, accountId, ...args);
    return countedS === 0 ? null : countedS;
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
          this.#run(SCRIPTS.renew, accountId, this.#testClock(), ...chunk),
        ),
      ),
    );
  }

  async recount(accountId: AccountId, { node, epoch, seconds }: NodeUse): Promise<void> {
    const numbers = seconds.flatMap(({ second, requests, tokens }) => [second, requests, tokens]);
    await this.#run(SCRIPTS.recount, accountId, node, epoch, this.#testClock(), ...numbers);
  }

  async useOf(accountId: AccountId): Promise<LimitUse> {
    const [requests, tokens, concurrent] = await this.#run(SCRIPTS.use, accountId, this.#testClock());
    return { requests, tokens, concurrent };
  }

  async publish(accountId: AccountId, version: bigint): Promise<void> {
    await this.#run(SCRIPTS.publish, accountId, version.toString(), crypto.randomUUID());
  }

  async epoch(accountId: AccountId): Promise<AccountEpoch> {
    return epochOf(await this.#run(SCRIPTS.epoch, accountId, crypto.randomUUID()));
  }

  async commitRead(accountId: AccountId, version: bigint, epoch: AccountEpoch): Promise<boolean> {
    return (await this.#run(SCRIPTS.commitRead, accountId, version.toString(), epoch)) === 1;
  }

  /**
   * Returns the installation that {@link claim} has recorded, in the key `mark`; `null` in a Redis that is new or has lost its data. Of a
   * cluster, `null` when any primary is.
   */
  async owner(expected: string): Promise<string | null> {
    const owners = await this.#onEach("mark", (client, key) => client.get(key));
    return (
      owners.find((owner) => owner !== null && owner !== expected) ??
      (owners.includes(null) ? null : expected)
    );
  }

  /**
   * Records which installation the store belongs to, unless one is recorded already. Must be called every second.
   *
   * @returns whether some primary has lost everything since the call before, although another node may have recorded it again. Also `true`
   * when the cluster has other primaries or hash slots than at the call before.
   */
  async claim(owner: string): Promise<boolean> {
    await this.#onEach("mark", (client, key) => client.eval(SET_IF_NEW, 1, key, owner));
    const fresh = crypto.randomUUID();
    const lives = await this.#onEach("life", (client, key) => client.eval(SET_IF_NEW, 1, key, fresh));
    const before = this.#life;
    this.#life = lives
      .map((life) => (life === null ? fresh : String(life)))
      .sort()
      .join(" ");
    return before !== null && before !== this.#life;
  }

  /** Whether there are connections that commands can be sent on, to every primary. */
  get isConnected(): boolean {
    return this.#primaries.isConnected;
  }

  /** The position that is furthest ahead: of a cluster, every primary has one, and a failover may have set one back. */
  async position(): Promise<DatabasePosition | null> {
    const positions = await this.#onEach("position", async (client, key) => {
      const [epoch, tick] = await client.hmget(key, "epoch", "tick");
      return typeof epoch === "string" && typeof tick === "string" ? { epoch, tick: BigInt(tick) } : null;
    });
    return positions.reduce(
      (furthest, each) =>
        each !== null && (furthest === null || each.tick > furthest.tick) ? each : furthest,
      null,
    );
  }

  async moveTo(position: DatabasePosition, from: { readonly epoch: string }): Promise<void> {
    const { epoch, tick } = position;
    await this.#onEach("position", (client, key) =>
      client.eval(MOVE_POSITION, 1, key, from.epoch, epoch, tick.toString()),
    );
  }

  useEpoch(epoch: string): void {
    this.#epochPrefix = epoch === "" ? this.#prefix : `${this.#prefix}:${epoch}`;
  }

  /** Closes the connections and opens new ones, which may reach other servers. */
  reconnect(): void {
    this.#primaries.reconnect();
  }

  /** Identifies the server, or the primaries of a cluster. @returns `null` when one does not, or does not allow `INFO`. */
  async server(): Promise<RedisServer | null> {
    await this.#primaries.refresh();
    const infos = await this.#infos("server", "replication");
    const servers = infos.map((info) => (info === null ? null : serverOf(info)));
    return servers.includes(null) ? null : combinedServer(servers.filter((server) => server !== null));
  }

  /** Returns how Redis behaves when its memory is full; `null` when it is unknown. Of a cluster, the worst. */
  async memory(): Promise<RedisMemory | null> {
    const infos = await this.#infos("memory");
    const known = infos
      .map((info) => (info === null ? null : memoryOf(info)))
      .filter((memory) => memory !== null);
    return known.find(({ mayEvict }) => mayEvict) ?? known[0] ?? null;
  }

  /**
   * Resolves when every primary would run the scripts. One that can't replicate or save what is written, or that became a replica, answers
   * reads and refuses them. So does one of a cluster that is down, which answers PING.
   *
   * @throws {AdmissionStoreUnavailable}
   */
  async ping(): Promise<void> {
    const refused = await this.#onEach("mark", (client, key) =>
      client.eval(REFUSED_COMMANDS, 1, key, ...NEEDED_COMMANDS),
    );
    const commands = [...new Set(refused.flat().map(String))];
    if (commands.length === 0) return;
    // Redis checks the permissions of its user only when a script runs the command.
    const cause = new Error(`NOPERM its user may not run ${commands.join(", ")}`);
    throw new AdmissionStoreUnavailable("Redis refused a command", {
      mayBeDone: false,
      isRefused: true,
      cause,
    });
  }

  async close(): Promise<void> {
    this.#primaries.close();
  }

  /** Runs a script on keys of the account. */
  async #run<Reply>(
    script: RedisScript<Reply>,
    accountId: AccountId,
    ...args: readonly ScriptArgument[]
  ): Promise<Reply> {
    // `{account}` is the part that a cluster hashes: all keys of an account are in one hash slot.
    const key = `${this.#epochPrefix}:{${accountId}}`;
    const call = (client: Redis) => script.run(client, this.#timeouts, key, args);
    try {
      return await this.#primaries.run(accountId, call, script);
    } catch (error) {
      if (hasWrongType(error)) this.#onError(foreignValue(key));
      throw error;
    }
  }

  /** Runs a command on every primary, with a key of this name that the primary has. */
  #onEach<Answer>(
    name: "mark" | "life" | "position",
    command: (client: Redis, key: string) => Promise<Answer>,
  ): Promise<Answer[]> {
    const primaries = this.#primaries.all();
    return Promise.all(
      primaries.map(({ client, keySuffix }) =>
        askRedis(client, (redis) => command(redis, `${this.#prefix}:${name}${keySuffix}`)),
      ),
    );
  }

  /** Asks every primary for sections of `INFO`. @returns `null` for one that does not allow it. */
  #infos(...sections: string[]): Promise<(string | null)[]> {
    const infoOf = async (client: Redis) => {
      try {
        return await askRedis(client, (redis) => redis.info(...sections));
      } catch (error) {
        const cause = error instanceof AdmissionStoreUnavailable ? error.cause : null;
        // The user of Redis lacks the permission, or the server does not know the command.
        if (isRefusal(cause) && /^(?:NOPERM|ERR)/.test(cause.message)) return null;
        throw error;
      }
    };
    return Promise.all(this.#primaries.all().map(({ client }) => infoOf(client)));
  }
}

/** Whether a script has found a value that it can't have written. */
function hasWrongType(error: unknown): boolean {
  const cause = error instanceof AdmissionStoreUnavailable ? error.cause : null;
  return isRefusal(cause) && cause.message.includes("WRONGTYPE");
}

function foreignValue(key: string): string {
  return (
    `The key ${key} of Redis, or one that begins with it, has a value of a type that the service does not write there. ` +
    "The account's requests are refused until it is deleted. Find out what writes it, and delete the key: the service writes it again."
  );
}

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

const LIMITS_BY_CODE: Readonly<Record<number, LimitName>> = { 2: "requests", 3: "tokens", 4: "concurrency" };

function admissionOf(reply: AdmitReply, { limits }: Demand): Admission {
  const [code, retryAfterMs, atS, requestsUsed, requestsResetMs, tokensUsed, tokensResetMs, epoch] = reply;
  if (code === 0) return { kind: "stale" };
  const rates = {
    requests: rateOf(limits.requestsPerMinute, requestsUsed, requestsResetMs),
    tokens: rateOf(limits.tokensPerMinute, tokensUsed, tokensResetMs),
  };
  if (code === 1) return { kind: "admitted", atS, epoch: epochOf(epoch), rates };
  return { kind: "limited", by: LIMITS_BY_CODE[code] ?? "concurrency", retryAfterMs, rates };
}

function epochOf(bytes: Buffer): AccountEpoch {
  return bytes.toString() as AccountEpoch;
}

function rateOf(limit: number | null, used: number, resetMs: number): Rate | null {
  return limit === null ? null : { limit, remaining: Math.max(0, limit - used), resetMs };
}
