import type { Database } from "../database/database.ts";
import { withAnswerTimeout } from "../errors/deadline.ts";
import type { Admissions } from "./admissions.ts";

/**
 * A position in the history of the database. Positions of one epoch are ordered by their ticks; those of different epochs are
 * not, because one of them was restored from a backup.
 */
export interface DatabasePosition {
  /** Empty before a first restore, then random. */
  readonly epoch: string;
  readonly tick: bigint;
}

/** More spenders than were opened in any time after a backup. */
const SKIPPED_SPENDERS = 1_000_000;

/** The position of the database in its own history, in the row of `installation`. */
export type PositionInDatabase = ReturnType<typeof positionInDatabase>;

export function positionInDatabase(database: Database) {
  const only = ([row]: readonly DatabasePosition[]): DatabasePosition => {
    if (row === undefined) throw new Error("the installation has no row");
    return row;
  };
  return {
    async read(): Promise<DatabasePosition> {
      return only(
        await database<DatabasePosition[]>`
          select database_epoch as epoch, epoch_tick as tick from installation`,
      );
    },
    /**
     * Raises the tick, unless the database lacks a position that was seen of its epoch: other nodes compare the ticks that it lacks, and would not
     * find that it went back if they were given again.
     *
     * @returns the position then.
     */
    async advance(seen: DatabasePosition | null): Promise<DatabasePosition> {
      const { epoch, tick } = seen ?? { epoch: "", tick: 0n };
      return only(
        await database<DatabasePosition[]>`
          update installation
          set epoch_tick = epoch_tick + case when database_epoch = ${epoch} and epoch_tick < ${tick} then 0 else 1 end
          returning database_epoch as epoch, epoch_tick as tick`,
      );
    },
    /**
     * Begins a new epoch, unless the present one is not `epoch` any more. Ids of spenders continue far above those of the epoch before,
     * which journals of nodes may name.
     */
    async begin(epoch: string): Promise<void> {
      // Two nodes that start together begin one epoch.
      await database`
        with begun as (
          update installation set database_epoch = left(md5(gen_random_uuid()::text), 12)
          where database_epoch = ${epoch}
          returning pg_get_serial_sequence('credit_spenders', 'id') as ids
        )
        select setval(ids, nextval(ids) + ${SKIPPED_SPENDERS}) from begun`;
    },
  };
}

/** The position of the database as its nodes have copied it to Redis. */
export interface PositionInRedis {
  /** @returns `null` when Redis is new or has lost its data. */
  position(): Promise<DatabasePosition | null>;
  /** Sets the position, unless Redis has one of another epoch than `from.epoch`, or a later one of the same epoch. */
  moveTo(position: DatabasePosition, from: { readonly epoch: string }): Promise<void>;
  /** Sets the epoch whose data is used from now on. */
  useEpoch(epoch: string): void;
}

interface DatabaseEpochParts {
  readonly position: PositionInDatabase;
  /** `null` for a node without Redis. */
  readonly redis: PositionInRedis | null;
  readonly admissions: Pick<Admissions, "fenceApart">;
}

/** The node must stop, because its database or its caches no longer belong to the service. Waiting does not help. */
export class DatabaseEpochEnded extends Error {
  override readonly name = "DatabaseEpochEnded";
}

/** Whether a starting node may use its Redis, or what it waits for. */
type DatabaseEpochJoining = "joined" | "watching" | "another copy";

/** A position that stood still for this many checks, a second apart, belongs to no running node. */
const IDLE_CHECKS = 5;
/** As {@link IDLE_CHECKS}, for a starting node, whose checks are half a second apart. */
const IDLE_START_CHECKS = 10;

const FOREIGN = "Redis has the data of another copy of this database";
const RESTORED =
  "the database lacks changes that this node has seen, as after a restore or a failover to a replica that lacked them";
const OTHER_COPY = "the nodes of another copy of this database use the Redis of REDIS_URL";

/**
 * Keeps a database that was restored from a backup apart from what Redis has of the time after the backup, and from nodes
 * that still have it in their caches. Account versions are compared as numbers, and the restored database assigns the same
 * numbers to other changes.
 *
 * Every node raises a tick in the database every second and before it publishes a change, and then repeats it in Redis. So
 * Redis is never ahead of the database, unless the database was restored to a time before such a change. A starting node
 * that finds Redis ahead begins a new epoch, whose data in Redis is separate. A running node that finds it ends, and leaves
 * the tick as it is, so that all other nodes find it, too.
 */
export class DatabaseEpoch {
  readonly #parts: DatabaseEpochParts;
  /** The last position that this node has seen in the database. */
  #own: DatabasePosition | null = null;
  /** What Redis has of another history, the epoch of the database then, and for how many checks neither has changed. */
  #watched: { readonly inRedis: DatabasePosition; readonly epoch: string; readonly checks: number } | null =
    null;
  #isForeign = false;
  #ended: DatabaseEpochEnded | null = null;

  constructor(parts: DatabaseEpochParts) {
    this.#parts = parts;
  }

  /** Whether the node must admit nothing, because Redis has the position of another epoch, or the node must stop. */
  get isForeign(): boolean {
    return this.#isForeign || this.#ended !== null;
  }

  /**
   * Returns whether a starting node may use its Redis. Must be repeated every half second until it may, or until the time for
   * joining is over.
   *
   * @param hasOtherRunning whether other nodes of this database are running, which keep the position in Redis.
   */
  async mayJoin(hasOtherRunning: () => Promise<boolean>): Promise<DatabaseEpochJoining> {
    const { redis, position } = this.#parts;
    // Redis is read first: what it has was in the database before.
    const inRedis = (await redis?.position()) ?? null;
    const own = await withAnswerTimeout(() => position.read());
    if (inRedis === null || (inRedis.epoch === own.epoch && inRedis.tick <= own.tick)) {
      await this.#enter(inRedis?.epoch ?? "");
      return "joined";
    }
    const watched = this.#watch(inRedis, own.epoch);
    if (watched === "moving") return "another copy";
    if (watched < IDLE_START_CHECKS || (await hasOtherRunning())) return "watching";
    await withAnswerTimeout(() => position.begin(own.epoch));
    await this.#enter(inRedis.epoch);
    return "joined";
  }

  /**
   * Advances the position in the database and in Redis. Must be called every second.
   *
   * @throws {DatabaseEpochEnded} when the node must stop.
   */
  async check(): Promise<void> {
    const { redis, admissions } = this.#parts;
    // `undefined` while Redis does not answer.
    const inRedis = redis === null ? null : await redis.position().catch(() => undefined);
    // This does not wait for the database, which may not answer.
    this.#isForeign = isOther(inRedis, this.#own);
    if (this.#isForeign) admissions.fenceApart(FOREIGN);
    const own = await this.#advance(inRedis ?? null);
    if (inRedis === undefined || redis === null) return;
    if (inRedis !== null && isOther(inRedis, own)) {
      const watched = this.#watch(inRedis, own.epoch);
      if (watched === "moving") throw this.#end(OTHER_COPY);
      // If no node advances it, an old Redis has returned. Its data of this epoch is not ahead of the database.
      if (watched < IDLE_CHECKS) return;
    }
    await redis.moveTo(own, { epoch: inRedis?.epoch ?? own.epoch });
    this.#watched = null;
    this.#isForeign = false;
  }

  /**
   * Advances the position in the database and in Redis. Must be called after a change was committed, before it is published.
   *
   * @throws {DatabaseEpochEnded} when the node must stop. Other nodes would not read what it publishes.
   */
  async advance(): Promise<void> {
    const { redis } = this.#parts;
    const own = await this.#advance((await redis?.position()) ?? null);
    await redis?.moveTo(own, own);
  }

  /** `inRedis` must have been read before: what it is was in the database then. `null`: unknown, or none. */
  async #advance(inRedis: DatabasePosition | null): Promise<DatabasePosition> {
    if (this.#ended !== null) throw this.#ended;
    const before = this.#own;
    const isAhead = before !== null && inRedis?.epoch === before.epoch && inRedis.tick > before.tick;
    const seen = isAhead ? inRedis : before;
    const own = await withAnswerTimeout(() => this.#parts.position.advance(seen));
    if (seen !== null && (own.epoch !== seen.epoch || own.tick <= seen.tick)) throw this.#end(RESTORED);
    // Changes advance beside the checks, and may have gone further.
    if (this.#own === null || this.#own.tick < own.tick) this.#own = own;
    return own;
  }

  #end(reason: string): DatabaseEpochEnded {
    this.#ended = new DatabaseEpochEnded(reason);
    return this.#ended;
  }

  async #enter(replaced: string): Promise<void> {
    const { redis, position } = this.#parts;
    const own = await withAnswerTimeout(() => position.advance(null));
    redis?.useEpoch(own.epoch);
    await redis?.moveTo(own, { epoch: replaced });
    this.#own = own;
    this.#watched = null;
  }

  /** @returns for how many checks nothing has changed, or that the position moves, because nodes of another copy keep it. */
  #watch(inRedis: DatabasePosition, epoch: string): number | "moving" {
    const before = this.#watched;
    const isSame = before !== null && before.inRedis.epoch === inRedis.epoch && before.epoch === epoch;
    const isMoving = isSame && before.inRedis.tick !== inRedis.tick;
    const checks = isSame && !isMoving ? before.checks + 1 : 0;
    this.#watched = { inRedis, epoch, checks };
    return isMoving ? "moving" : checks;
  }
}

function isOther(inRedis: DatabasePosition | null | undefined, own: DatabasePosition | null): boolean {
  return inRedis !== null && inRedis !== undefined && own !== null && inRedis.epoch !== own.epoch;
}
