import { withAnswerTimeout } from "../errors/deadline.ts";
import { AdmissionStoreUnavailable } from "./admission-store.ts";
import type { Admissions } from "./admissions.ts";
import type { RedisServer } from "./redis-info.ts";

/** A Redis server that a node has reached through REDIS_URL, and has recorded. */
export interface RecordedRedis {
  /** Servers that were recorded later have higher numbers. */
  readonly generation: number;
  readonly runId: string;
}

/** Another live node that shares its changes through Redis. */
export interface OtherNode {
  /** Describes the node to operators. */
  readonly label: string;
  /** Whether the node has begun to serve requests. */
  readonly hasJoined: boolean;
  /** The Redis that it is connected to. */
  readonly redis: RecordedRedis | null;
  /** The node admits no requests by a Redis of a lower generation. `null` for a version that does not report it. */
  readonly minGeneration: number | null;
}

/** What a node records of itself for the others. */
export interface NodeRecord {
  readonly id: string;
  /** Identifies the process of the node, so that late statements of an earlier process have no effect. */
  readonly life: string;
  /** Numbers the records that this process writes, so that one that arrives after a later one has no effect. */
  readonly sequence: number;
  /** The generation of the connected Redis; `null` without a connection. */
  readonly generation: number | null;
  readonly minGeneration: number;
  readonly hasJoined: boolean;
}

/** What nodes record of themselves and of Redis servers, in the database that they share. */
export interface NodeRecords {
  /** Returns the generation of a Redis, and assigns one to a new Redis. */
  recordRedis(runId: string, promotionId: string): Promise<RecordedRedis>;
  /** Writes the record of this node. @returns the other nodes; `null` when the node was removed. */
  renewRecord(record: NodeRecord): Promise<readonly OtherNode[] | null>;
  others(id: string): Promise<readonly OtherNode[]>;
}

/** The parts of a connection to Redis that tell which server it reaches. */
export interface RedisConnection {
  /** Changes whenever the connection is lost. */
  readonly connection: number;
  reconnect(): void;
  /** @returns `null` when the server does not identify itself. */
  server(): Promise<RedisServer | null>;
  onInvalidated(listener: () => void): void;
  onRestored(listener: () => void): void;
}

interface AgreementParts {
  readonly id: string;
  /** Identifies this process in the table of nodes. */
  readonly life: string;
  readonly records: NodeRecords;
  readonly redis: RedisConnection;
  readonly admissions: Pick<Admissions, "fence" | "fenceApart" | "lift" | "confirmPublications">;
  /** Called with the reason when the node stops admitting requests, and with `null` when it admits them again. */
  readonly onFenced: (reason: string | null) => void;
}

/** Whether a starting node may begin to serve, or why not. */
export type Joining = "may join" | "waiting" | "replica" | "elsewhere";

const RECONNECT_AFTER_CHECKS = 3;
const RECONNECT_EVERY_CHECKS = 20;

const DISCONNECTED = "Redis cannot be reached";
const NOT_CHECKED = "it is not known yet whether this node uses the same Redis as the others";
const IS_REPLICA = "the Redis of REDIS_URL is a replica";
const IS_OLDER = "other nodes use a newer Redis than this node";

/**
 * Keeps nodes that do not use the same Redis from admitting requests. After a failover a node may stay connected to the
 * old primary, which keeps running and never receives what the others publish. Each node therefore records in the database
 * which Redis it is connected to, and respects the records of the others:
 *
 * - On every new connection it admits nothing until it has recorded which server the connection reaches.
 * - While another node is connected to a Redis of a higher generation, it admits nothing and reconnects repeatedly, because
 *   the address may reach that server by now.
 * - A change that it publishes is confirmed only when the minimum generation of all other nodes is at least that of its own
 *   Redis, and no node uses a newer one. A node with a higher minimum has stopped admitting by its own Redis, and reads the
 *   database again before it continues; a node that starts later reads it too.
 *
 * A node that cannot reach the database continues, because it cannot know whether other nodes can. The others wait for it
 * only while it counts as alive.
 */
export class RedisAgreement {
  readonly #parts: AgreementParts;
  #hasJoined = false;
  #isRemoved = false;
  #sequence = 0;
  /** The recorded minimum generation: the node admits no requests by an older Redis. */
  #minGeneration = 0;
  /** The server that the connection reaches; `null` when the connection is lost, or the server is a replica. */
  #current: {
    readonly connection: number;
    readonly redis: RecordedRedis;
    readonly promotionId: string;
  } | null = null;
  #isUnknown = false;
  /** Whether the connection was lost, and is not there again. */
  #isDisconnected = false;
  /** The number of checks for which another node has been connected to another Redis. */
  #checksApart = 0;
  /** Why the node is fenced; `null` also while it is fenced only because its connection is lost or new. */
  #fencedFor: string | null = null;
  #mayReconnect = true;
  /** How often {@link paused} was called. */
  #pauses = 0;
  #checking: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  constructor(parts: AgreementParts) {
    this.#parts = parts;
    const { redis, admissions } = parts;
    admissions.fence(NOT_CHECKED);
    redis.onInvalidated(() => {
      this.#isDisconnected = true;
      if (!this.#isUnknown) admissions.fence(DISCONNECTED);
      this.#checkSoon();
    });
    redis.onRestored(() => {
      if (this.#isDisconnected && !this.#isUnknown) admissions.fence(NOT_CHECKED);
      this.#isDisconnected = false;
      this.#checkSoon();
    });
    admissions.confirmPublications((publish) => this.#confirmPublication(publish));
  }

  /** Whether another node has taken over and removed this one from the database. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Whether the server does not identify itself, so that nodes cannot verify that they use the same one. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /**
   * This process was stopped for so long that other nodes may have counted it as dead, and changed to another Redis without
   * it. It admits nothing until a check that begins now has found out.
   */
  paused(): void {
    this.#pauses++;
    if (!this.#isUnknown) this.#parts.admissions.fence(NOT_CHECKED);
    this.#checkSoon();
  }

  /** Records which server the connection reaches, and respects the records of other nodes. Must be called every second. */
  check(): Promise<void> {
    this.#mayReconnect = true;
    return this.#checkOnce();
  }

  #checkOnce(): Promise<void> {
    // A running check may have read the records too early. One that has not begun serves all callers.
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
   * Returns whether a starting node may begin to serve: all connected nodes use the same Redis. Must be repeated until it may,
   * or until the time for joining is over.
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
      // The address may reach that server by now. If this node has the right server, the others will reconnect.
      redis.reconnect();
      return "elsewhere";
    }
    // A connecting node may reach this Redis or another one.
    return company.includes(null) && !isLastTry ? "waiting" : "may join";
  }

  /** Records that the node begins to serve. Call it once, when {@link mayJoin} allows it. */
  async join(): Promise<void> {
    this.#hasJoined = true;
    await this.check();
  }

  #checkSoon(): void {
    // The next check, within a second, retries what fails.
    if (this.#hasJoined) this.#checkOnce().catch(() => {});
  }

  async #check(): Promise<void> {
    const { redis } = this.#parts;
    const pauses = this.#pauses;
    const { server, others, connection } = await this.#observe();
    if (this.#isRemoved || server === "away") return;
    const own = this.#current?.redis ?? null;
    if (server === "replica" || hasNewer(others, own)) {
      // One reconnection for each check is enough: more would not move the address.
      if (this.#mayReconnect) redis.reconnect();
      this.#mayReconnect = false;
      return;
    }
    if (redis.connection !== connection || this.#pauses !== pauses) return;
    this.#lift();
    // Only the checks that are made every second count.
    if (own !== null && this.#mayReconnect) this.#reconnectWhileApart(own, others);
    this.#mayReconnect = false;
  }

  /**
   * Identifies the server, records it and reads the records of the others, until the recorded minimum generation is the
   * one that the node applies: it stops admitting by an older Redis before it raises the minimum, and lowers the minimum
   * before it admits by that Redis again.
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
      const others = await this.#writeRecord();
      if (others === null) {
        this.#isRemoved = true;
        return { server, others: [], connection };
      }
      const own = this.#current?.redis ?? null;
      if (hasNewer(others, own)) this.#fenceApart(IS_OLDER);
      const minGeneration = Math.max(newestOf(others)?.generation ?? 0, own?.generation ?? 0);
      // A node without a connection admits nothing, whatever it records.
      if (minGeneration === this.#minGeneration || (own === null && minGeneration < this.#minGeneration))
        return { server, others, connection };
      if (minGeneration > this.#minGeneration) this.#mayReconnect = true;
      this.#minGeneration = minGeneration;
    }
  }

  #writeRecord(): Promise<readonly OtherNode[] | null> {
    const { id, life, records } = this.#parts;
    const record: NodeRecord = {
      id,
      life,
      sequence: ++this.#sequence,
      generation: this.#current?.redis.generation ?? null,
      minGeneration: this.#minGeneration,
      hasJoined: this.#hasJoined,
    };
    return withAnswerTimeout(() => records.renewRecord(record));
  }

  async #identifyServer(connection: number): Promise<"primary" | "replica" | "unknown" | "away"> {
    const { redis, records } = this.#parts;
    let server: RedisServer | null;
    try {
      server = await redis.server();
    } catch {
      // The server does not answer. A connection that was not lost still reaches the same server.
      if (this.#current?.connection !== redis.connection) this.#current = null;
      return "away";
    }
    if (redis.connection !== connection) {
      this.#current = null;
      return "away";
    }
    this.#isUnknown = server === null;
    if (server === null || server.isReplica) {
      if (server !== null) this.#fenceApart(IS_REPLICA);
      this.#current = null;
      return server === null ? "unknown" : "replica";
    }
    const { runId, promotionId } = server;
    const before = this.#current;
    if (before?.redis.runId === runId && before.promotionId === promotionId) {
      this.#current = { ...before, connection };
      return "primary";
    }
    // A connection that reaches another server without having been lost goes through a proxy. Earlier answers are invalid.
    if (before !== null && before.redis.runId !== runId) this.#parts.admissions.fence(NOT_CHECKED);
    this.#current = null;
    const recorded = await withAnswerTimeout(() => records.recordRedis(runId, promotionId));
    this.#current = { connection, redis: recorded, promotionId };
    return "primary";
  }

  /**
   * The node uses the newest Redis, and another node keeps reaching an older one. The other node may have the right server,
   * so this node reconnects to find out whether the address still reaches its own.
   */
  #reconnectWhileApart(own: RecordedRedis, others: readonly OtherNode[]): void {
    const isApart = others.some(({ redis }) => redis !== null && redis.runId !== own.runId);
    // A connecting node may reach either server.
    const isTogether = others.every(({ redis }) => redis?.runId === own.runId);
    if (isTogether) this.#checksApart = 0;
    if (!isApart) return;
    this.#checksApart++;
    if (this.#checksApart % RECONNECT_EVERY_CHECKS === RECONNECT_AFTER_CHECKS) this.#parts.redis.reconnect();
  }

  async #confirmPublication(publish: () => Promise<void>): Promise<void> {
    const { redis, records, id } = this.#parts;
    const { connection } = redis;
    const before = this.#current;
    await publish();
    if (this.#isUnknown) return;
    const others = await withAnswerTimeout(() => records.others(id));
    // The publication is valid if the connection has not changed and reaches the recorded server.
    const isAgreed =
      before !== null &&
      before.connection === connection &&
      redis.connection === connection &&
      this.#current?.redis.runId === before.redis.runId &&
      this.#fencedFor === null &&
      isRequiredByAll(before.redis, others);
    if (!isAgreed) throw new AdmissionStoreUnavailable("the nodes do not all use the same Redis yet");
  }

  #fenceApart(reason: string): void {
    this.#parts.admissions.fenceApart(reason);
    this.#setReason(reason);
  }

  #lift(): void {
    this.#isDisconnected = false;
    this.#parts.admissions.lift();
    this.#setReason(null);
  }

  #setReason(reason: string | null): void {
    if (this.#fencedFor !== reason) this.#parts.onFenced(reason);
    this.#fencedFor = reason;
  }
}

/** The Redis of the highest generation that a serving node is connected to. */
function newestOf(others: readonly OtherNode[]): RecordedRedis | null {
  return others.reduce<RecordedRedis | null>(
    (newest, { hasJoined, redis }) =>
      hasJoined && redis !== null && redis.generation > (newest?.generation ?? 0) ? redis : newest,
    null,
  );
}

/** Whether a serving node uses a newer server. A server keeps its data when only its replication id changes. */
function hasNewer(others: readonly OtherNode[], own: RecordedRedis | null): boolean {
  const newest = newestOf(others);
  return newest !== null && own !== null && newest.generation > own.generation && newest.runId !== own.runId;
}

/** Whether no other node can admit requests by another Redis. */
function isRequiredByAll(own: RecordedRedis, others: readonly OtherNode[]): boolean {
  if (hasNewer(others, own)) return false;
  return others.every(({ minGeneration }) => minGeneration === null || minGeneration >= own.generation);
}
