import { setTimeout } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { RedisAddress, RedisHost } from "../config/redis-url.ts";
import type { AccountId } from "../contract/account.ts";
import { AdmissionStoreUnavailable } from "./admission-store.ts";
import {
  addressOf,
  type ClusterView,
  clusterViewOf,
  distinct,
  HASH_SLOTS,
  hashSlotOf,
  hashTagFor,
  newestView,
} from "./cluster-view.ts";
import { openClusterServer } from "./redis-options.ts";
import {
  askRedis,
  isRefusal,
  type PrimariesParts,
  type Primary,
  type RedisPrimaries,
  watchConnections,
} from "./redis-primaries.ts";

/** A command for an account whose keys are being moved is sent again this often. */
const MAX_ATTEMPTS = 10;
const PAUSE_MS = 100;

/** A primary of the cluster. */
interface Member extends Primary {
  readonly host: RedisHost;
}

/**
 * The primaries of a Redis Cluster, each with a connection of its own.
 *
 * A cluster client of ioredis would follow redirections to any server and repeat commands on new connections. Here no command
 * may reach a server before the nodes have agreed on it: the replica that a failover has promoted may lack what was published last.
 * So a change among the primaries counts as a lost connection, and its listeners are called before the first command reaches the
 * new primary. Hash slots that move between the same primaries change nothing, because the keys move with them.
 */
export class ClusterPrimaries implements RedisPrimaries {
  readonly #address: Extract<RedisAddress, { kind: "cluster" }>;
  readonly #parts: PrimariesParts;
  /** The primaries by address. */
  #members: ReadonlyMap<string, Member> = new Map();
  /** The primary of each hash slot. */
  #slots: readonly (Member | undefined)[] = [];
  /** The ranges of the view that was assigned last. */
  #ranges = "";
  /** Servers that may know the primaries: those of the last view, replicas too. */
  #known: readonly RedisHost[] = [];
  #refreshing: Promise<void> | null = null;
  #isClosed = false;

  constructor(address: Extract<RedisAddress, { kind: "cluster" }>, parts: PrimariesParts) {
    this.#address = address;
    this.#parts = parts;
  }

  get isConnected(): boolean {
    return this.#slots.length > 0 && !this.#slots.includes(undefined) && this.#areReady();
  }

  async connect(): Promise<void> {
    await this.refresh();
    for (const { client } of this.all()) await askRedis(client, (redis) => redis.ping());
  }

  async run<Answer>(
    accountId: AccountId,
    command: (client: Redis) => Promise<Answer>,
    { mayRepeat }: { readonly mayRepeat: boolean },
  ): Promise<Answer> {
    const slot = hashSlotOf(accountId);
    const { connection } = this.#parts.watched;
    for (let attempt = 1; ; attempt++) {
      const member = this.#slots[slot];
      if (member === undefined) throw noPrimary();
      try {
        return await askRedis(member.client, command);
      } catch (error) {
        if (!isMoving(error)) throw error;
        if (attempt > 1) await setTimeout(PAUSE_MS);
        await this.refresh();
        // What was decided by answers of the former connection is no longer valid.
        if (!mayRepeat || attempt === MAX_ATTEMPTS || this.#parts.watched.connection !== connection)
          throw error;
      }
    }
  }

  all(): readonly Primary[] {
    if (this.#slots.length === 0 || this.#slots.includes(undefined)) throw noPrimary();
    return [...this.#members.values()];
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  reconnect(): void {
    for (const { client } of this.#members.values()) if (client.status === "ready") client.disconnect(true);
  }

  close(): void {
    this.#isClosed = true;
    for (const { client } of this.#members.values()) client.disconnect();
  }

  #areReady(): boolean {
    return [...this.#members.values()].every(({ client }) => client.status === "ready");
  }

  async #refresh(): Promise<void> {
    const view = await this.#view();
    if (this.#isClosed) throw new AdmissionStoreUnavailable("Redis was closed", { mayBeDone: false });
    const primaries = distinct(view.ranges.map(({ primary }) => primary));
    const isSame =
      primaries.length === this.#members.size &&
      primaries.every((host) => this.#members.has(addressOf(host)));
    const ranges = JSON.stringify(view.ranges.map(({ first, last, primary }) => [first, last, primary]));
    this.#known = view.servers;
    if (isSame && ranges === this.#ranges) return;
    if (!isSame) this.#parts.watched.lost();
    this.#ranges = ranges;
    const before = this.#members;
    this.#assign(view, primaries);
    for (const [address, { client }] of before) if (!this.#members.has(address)) client.disconnect();
    const added = [...this.#members].filter(([address]) => !before.has(address));
    // One that does not connect keeps trying.
    await Promise.allSettled(added.map(([, { client }]) => client.connect()));
  }

  /** Assigns hash slots to primaries. Connections to servers that stay are kept. */
  #assign({ ranges }: ClusterView, primaries: readonly RedisHost[]): void {
    const owners: (string | undefined)[] = new Array(HASH_SLOTS).fill(undefined);
    for (const { first, last, primary } of ranges) owners.fill(addressOf(primary), first, last + 1);
    this.#members = new Map(
      primaries.map((host) => {
        const address = addressOf(host);
        const client = this.#members.get(address)?.client ?? this.#open(host);
        const tag = hashTagFor((slot) => owners[slot] === address);
        return [address, { host, client, keySuffix: `:{${tag}}` }];
      }),
    );
    this.#slots = owners.map((address) => (address === undefined ? undefined : this.#members.get(address)));
  }

  #open(host: RedisHost): Redis {
    const client = openClusterServer(this.#address, host, this.#parts.timeouts, { lazyConnect: true });
    const isMember = () => this.#members.get(addressOf(host))?.client === client;
    watchConnections(client, (message) => this.#parts.onError(`${addressOf(host)}: ${message}`));
    client.on("close", () => {
      if (isMember()) this.#parts.watched.lost();
    });
    client.on("ready", () => {
      if (isMember() && this.#areReady()) this.#parts.watched.restored();
    });
    return client;
  }

  /** The newest view of the connected primaries; if none answers, the newest of all known servers. */
  async #view(): Promise<ClusterView> {
    const connected = [...this.#members.values()].filter(({ client }) => client.status === "ready");
    const answers = await Promise.allSettled(connected.map(({ client, host }) => viewOf(client, host)));
    const view = newestView(viewsIn(answers));
    if (view !== null) return view;
    const hosts = distinct([...this.#address.hosts, ...this.#known]);
    const others = await Promise.allSettled(hosts.map((host) => this.#viewFrom(host)));
    const found = newestView(viewsIn(others));
    if (found !== null) return found;
    const failed = others.find(({ status }) => status === "rejected");
    const cause =
      failed?.status === "rejected" ? failed.reason : new Error("no server of the cluster has slots");
    throw new AdmissionStoreUnavailable("Redis did not answer", { mayBeDone: false, cause });
  }

  /** Asks a server on a connection that is closed afterwards. */
  async #viewFrom(host: RedisHost): Promise<ClusterView | null> {
    const once = { lazyConnect: true, retryStrategy: null };
    const client = openClusterServer(this.#address, host, this.#parts.timeouts, once);
    let reason: Error | null = null;
    client.on("error", (error: Error) => {
      reason = error;
    });
    try {
      await client.connect();
      return await viewOf(client, host);
    } catch (error) {
      // `connect` itself says only that the connection was closed.
      throw reason ?? error;
    } finally {
      client.disconnect();
    }
  }
}

async function viewOf(client: Redis, host: RedisHost): Promise<ClusterView | null> {
  const [info, slots] = await Promise.all([client.cluster("INFO"), client.cluster("SLOTS")]);
  return clusterViewOf(String(info), slots, host);
}

function viewsIn(answers: readonly PromiseSettledResult<ClusterView | null>[]): readonly ClusterView[] {
  return answers.flatMap((answer) =>
    answer.status === "fulfilled" && answer.value !== null ? [answer.value] : [],
  );
}

/** True when the server has answered that the account's keys are, or soon will be, at another one. */
function isMoving(error: unknown): boolean {
  const cause = error instanceof AdmissionStoreUnavailable ? error.cause : null;
  return isRefusal(cause) && /^(?:MOVED|ASK|TRYAGAIN)\b/.test(cause.message);
}

function noPrimary(): AdmissionStoreUnavailable {
  return new AdmissionStoreUnavailable("a part of the Redis Cluster has no primary", { mayBeDone: false });
}
