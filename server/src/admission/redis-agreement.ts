import { within } from "../errors/deadline.ts";
import { AdmissionStoreUnavailable } from "./admission-store.ts";
import type { FencedAdmissionStore } from "./fenced-store.ts";
import type { RedisServer } from "./redis-info.ts";

/** A Redis that nodes have found behind REDIS_URL. */
export interface NotedRedis {
  /** A Redis that was found later has a higher one. */
  readonly generation: number;
  readonly runId: string;
}

/** Another node that shares its changes through Redis, and was seen in the last seconds. */
export interface OtherNode {
  /** For people: which one it is. */
  readonly label: string;
  /** Whether it serves requests, if nothing keeps it from it. One that is starting does not yet. */
  readonly hasJoined: boolean;
  /** The Redis that it is connected to. */
  readonly redis: NotedRedis | null;
  /** It admits nothing by an older Redis than this one. `null` where it is too old to tell. */
  readonly minGeneration: number | null;
}

/** What a node notes for the others. */
export interface RedisNote {
  readonly id: string;
  /** Of the node's process. What an earlier one said may come late, and counts no more. */
  readonly life: string;
  /** Of what this process notes: what comes after a later one counts no more. */
  readonly sequence: number;
  /** Of the Redis that it is connected to; `null` while there is none. */
  readonly generation: number | null;
  readonly minGeneration: number;
  readonly hasJoined: boolean;
}

/** Where nodes note which Redis they are connected to: the database, which all of them share. */
export interface RedisNotes {
  /** Gives a Redis its generation, or tells the one that it has. */
  noteRedis(runId: string, replicationId: string): Promise<NotedRedis>;
  /** Notes what the node knows. @returns the others; `null` when the node was removed. */
  renewOnRedis(note: RedisNote): Promise<readonly OtherNode[] | null>;
  others(id: string): Promise<readonly OtherNode[]>;
}

/** The connection to Redis, as far as it matters where it leads to. */
export interface RedisConnection {
  /** Changes whenever the connection is lost. */
  readonly connection: number;
  reconnect(): void;
  /** @returns `null` when Redis does not say which one it is. */
  server(): Promise<RedisServer | null>;
  onInvalidated(listener: () => void): void;
  onRestored(listener: () => void): void;
}

export interface AgreementParts {
  readonly id: string;
  /** Of this process, as it was entered among the nodes. */
  readonly life: string;
  readonly notes: RedisNotes;
  readonly redis: RedisConnection;
  readonly fence: Pick<FencedAdmissionStore, "fence" | "lift" | "confirmPublications">;
  /** Called with the reason when the node stops admitting requests, and with `null` when it admits them again. */
  readonly onFenced: (reason: string | null) => void;
}

/** Whether a starting node may serve beside the others, and why not. */
export type Joining = "may join" | "waiting" | "replica" | "elsewhere";

const DATABASE_TIMEOUT_MS = 5_000;

const RECONNECT_AFTER_CHECKS = 3;
const RECONNECT_EVERY_CHECKS = 20;

const NOT_CHECKED = "it is not known yet whether this node uses the same Redis as the others";
const IS_REPLICA = "the Redis of REDIS_URL is a replica";
const IS_OLDER = "other nodes use a newer Redis than this node";

/**
 * Keeps nodes that do not use the same Redis from admitting requests. After a failover a node may stay connected to the
 * old primary, which lives on and never hears of what the others publish. So each node notes in the database which
 * Redis it is connected to, and heeds what the others note:
 *
 * - On every new connection it admits nothing until it has noted where the connection leads to.
 * - While another node is connected to a Redis that was found later, it admits nothing, and connects again and again:
 *   the address may lead there by now.
 * - A change that it publishes counts only once all other nodes heed a Redis at least as new as its own, and none uses
 *   a newer one. A node that heeds a newer one has stopped to admit by its own, and reads the database again before it
 *   goes on; one that comes later reads it, too.
 *
 * A node that can't reach the database goes on, as it can't know whether the database is away for all nodes. The others
 * wait for it only as long as it counts as alive.
 */
export class RedisAgreement {
  readonly #parts: AgreementParts;
  #hasJoined = false;
  #isRemoved = false;
  #sequence = 0;
  /** The generation of which the node has said that it admits by none that is older. */
  #minGeneration = 0;
  /** Where the connection leads to; `null` when it is lost, or leads to a replica. */
  #current: {
    readonly connection: number;
    readonly redis: NotedRedis;
    readonly replicationId: string;
  } | null = null;
  /** Redis does not say which one it is: nothing can be agreed on. */
  #isUnknown = false;
  /** For how many looks another node has been connected to another Redis. */
  #checksApart = 0;
  /** What keeps it from admitting, beside a connection that is lost or new. */
  #fencedFor: string | null = null;
  #mayReconnect = true;
  #checking: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(parts: AgreementParts) {
    this.#parts = parts;
    const { redis, fence } = parts;
    fence.fence(NOT_CHECKED);
    redis.onInvalidated(() => {
      if (!this.#isUnknown) fence.fence(NOT_CHECKED);
      this.#checkSoon();
    });
    redis.onRestored(() => this.#checkSoon());
    fence.confirmPublications((publish) => this.#confirmPublication(publish));
  }

  /** Whether the node was removed from the database, because another one has taken over. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Whether Redis does not say which one it is, so that nothing can be agreed on. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /** Notes where the connection leads to, and heeds what others note. To be called every second or so. */
  check(): Promise<void> {
    this.#mayReconnect = true;
    return this.#checkOnce();
  }

  #checkOnce(): Promise<void> {
    // A look that is under way may have read the notes too early; one that waits to begin serves all callers.
    this.#next ??= this.#checking
      .catch(() => {})
      .then(() => {
        this.#next = null;
        this.#checking = this.#check();
        return this.#checking;
      });
    return this.#next;
  }

  /**
   * Whether a starting node may begin to serve: the others are connected to the same Redis, as far as they are to any.
   * To be called until it may, or there is no more time.
   */
  async mayJoin(isLastTry: boolean): Promise<Joining> {
    const { server, others } = await this.#observe();
    const { redis } = this.#parts;
    if (server === "unknown") return "may join";
    if (server === "replica") {
      redis.reconnect();
      return "replica";
    }
    const own = this.#current?.redis ?? null;
    if (own === null) return "waiting";
    const company = others.filter(({ hasJoined }) => hasJoined).map((other) => other.redis);
    if (company.some((theirs) => theirs !== null && theirs.runId !== own.runId)) {
      // The address may lead there by now. If this node is the one that is right, the others will come.
      redis.reconnect();
      return "elsewhere";
    }
    // A node that is connecting may come to this Redis or not.
    return company.includes(null) && !isLastTry ? "waiting" : "may join";
  }

  /** The node begins to serve. */
  async join(): Promise<void> {
    this.#hasJoined = true;
    await this.check();
  }

  #checkSoon(): void {
    // What fails is tried again within a second.
    if (this.#hasJoined) this.#checkOnce().catch(() => {});
  }

  async #check(): Promise<void> {
    const { redis } = this.#parts;
    const { server, others, connection } = await this.#observe();
    if (this.#isRemoved || server === "away") return;
    const own = this.#current?.redis ?? null;
    const newest = newestOf(others);
    if (server === "replica" || (own !== null && newest !== null && isNewer(newest, own))) {
      // Once a look: where the address leads to does not change by asking faster.
      if (this.#mayReconnect) redis.reconnect();
      this.#mayReconnect = false;
      return;
    }
    if (redis.connection !== connection) return;
    this.#lift();
    // Counted by those looks that are made every second.
    if (own !== null && this.#mayReconnect) this.#reconnectWhileApart(own, others);
    this.#mayReconnect = false;
  }

  /**
   * Asks where the connection leads to, notes it, and sees what the others have noted, until what the node says that
   * it heeds is what it does: it stops to admit by an older Redis before it says so, and says that it may admit by it
   * again before it does.
   */
  async #observe(): Promise<{
    readonly server: "primary" | "replica" | "unknown" | "away";
    readonly others: readonly OtherNode[];
    readonly connection: number;
  }> {
    const { redis } = this.#parts;
    const { connection } = redis;
    const server = await this.#identifyServer(connection);
    for (;;) {
      const others = await this.#note();
      if (others === null) {
        this.#isRemoved = true;
        return { server, others: [], connection };
      }
      const own = this.#current?.redis ?? null;
      const newest = newestOf(others);
      if (own !== null && newest !== null && isNewer(newest, own)) this.#fence(IS_OLDER);
      const minGeneration = Math.max(newest?.generation ?? 0, own?.generation ?? 0);
      // A node without a connection admits nothing, whatever it notes.
      if (minGeneration === this.#minGeneration || (own === null && minGeneration < this.#minGeneration))
        return { server, others, connection };
      if (minGeneration > this.#minGeneration) this.#mayReconnect = true;
      this.#minGeneration = minGeneration;
    }
  }

  #note(): Promise<readonly OtherNode[] | null> {
    const { id, life, notes } = this.#parts;
    const note: RedisNote = {
      id,
      life,
      sequence: ++this.#sequence,
      generation: this.#current?.redis.generation ?? null,
      minGeneration: this.#minGeneration,
      hasJoined: this.#hasJoined,
    };
    return within(DATABASE_TIMEOUT_MS, () => notes.renewOnRedis(note));
  }

  async #identifyServer(connection: number): Promise<"primary" | "replica" | "unknown" | "away"> {
    const { redis, notes } = this.#parts;
    let server: RedisServer | null;
    try {
      server = await redis.server();
    } catch {
      // It does not answer. What is not lost leads to where it did.
      if (this.#current?.connection !== redis.connection) this.#current = null;
      return "away";
    }
    if (redis.connection !== connection) {
      this.#current = null;
      return "away";
    }
    this.#isUnknown = server === null;
    if (server === null || server.isReplica) {
      if (server !== null) this.#fence(IS_REPLICA);
      this.#current = null;
      return server === null ? "unknown" : "replica";
    }
    const { runId, replicationId } = server;
    const before = this.#current;
    if (before?.redis.runId === runId && before.replicationId === replicationId) {
      this.#current = { ...before, connection };
      return "primary";
    }
    // A connection that leads elsewhere without having been lost goes through a proxy. What was learnt by it is void.
    if (before !== null && before.redis.runId !== runId) this.#parts.fence.fence(NOT_CHECKED);
    this.#current = null;
    const noted = await within(DATABASE_TIMEOUT_MS, () => notes.noteRedis(runId, replicationId));
    this.#current = { connection, redis: noted, replicationId };
    return "primary";
  }

  /**
   * The node uses the newest Redis, and another node stays with an older one though it connects again and again. The
   * other may be the one that is right: whether the address still leads here is worth a try.
   */
  #reconnectWhileApart(own: NotedRedis, others: readonly OtherNode[]): void {
    const isApart = others.some(({ redis }) => redis !== null && redis.runId !== own.runId);
    // A node that is connecting says nothing about where it will be.
    const isTogether = others.every(({ redis }) => redis?.runId === own.runId);
    if (isTogether) this.#checksApart = 0;
    if (!isApart) return;
    this.#checksApart++;
    if (this.#checksApart % RECONNECT_EVERY_CHECKS === RECONNECT_AFTER_CHECKS) this.#parts.redis.reconnect();
  }

  async #confirmPublication(publish: () => Promise<void>): Promise<void> {
    const { redis, notes, id } = this.#parts;
    const { connection } = redis;
    const noted = this.#current;
    await publish();
    if (this.#isUnknown) return;
    const others = await within(DATABASE_TIMEOUT_MS, () => notes.others(id));
    // It was published where all others look: by a connection that has not changed, and is the one that was noted.
    const isAgreed =
      noted !== null &&
      noted.connection === connection &&
      redis.connection === connection &&
      this.#current?.redis.runId === noted.redis.runId &&
      this.#fencedFor === null &&
      isRequiredByAll(noted.redis, others);
    if (!isAgreed) throw new AdmissionStoreUnavailable("The nodes do not all use the same Redis yet.");
  }

  #fence(reason: string): void {
    this.#parts.fence.fence(reason);
    if (this.#fencedFor !== reason) this.#parts.onFenced(reason);
    this.#fencedFor = reason;
  }

  #lift(): void {
    this.#parts.fence.lift();
    if (this.#fencedFor !== null) this.#parts.onFenced(null);
    this.#fencedFor = null;
  }
}

/** The newest Redis that a node which serves is connected to. */
function newestOf(others: readonly OtherNode[]): NotedRedis | null {
  return others.reduce<NotedRedis | null>(
    (newest, { hasJoined, redis }) =>
      hasJoined && redis !== null && redis.generation > (newest?.generation ?? 0) ? redis : newest,
    null,
  );
}

/** Whether it is another Redis, and was found later. One process keeps what it holds, whatever its replicas do. */
function isNewer(redis: NotedRedis, than: NotedRedis): boolean {
  return redis.generation > than.generation && redis.runId !== than.runId;
}

/** Whether no other node can admit by another Redis. */
function isRequiredByAll(own: NotedRedis, others: readonly OtherNode[]): boolean {
  const newest = newestOf(others);
  if (newest !== null && isNewer(newest, own)) return false;
  return others.every(({ minGeneration }) => minGeneration === null || minGeneration >= own.generation);
}
