import type { NodeSettings, SettingDigests } from "../contract/node-settings.ts";
import { ADVISORY_LOCKS } from "../database/advisory-locks.ts";
import { type Database, inTransaction } from "../database/database.ts";
import type { NodeRecord, NodeRecords, OtherNode, RecordedRedis } from "./redis-agreement.ts";

/** How a node learns of changes that other nodes make. */
export type Coordination = "alone" | "redis";

export interface NodeRow {
  readonly id: string;
  readonly coordination: Coordination;
  readonly label: string;
  /** Time since the node was last seen, by the database's clock. */
  readonly seenAgoMs: number;
}

/** One start of a node. */
export interface NodeLife {
  /** The id of the node. */
  readonly id: string;
  /** Identifies the start. */
  readonly life: string;
}

/** A node that was not seen for this long counts as gone. Each node updates its row every second. */
const LIVE_S = 10;
/** A node with Redis that was not seen for this long, such as one that was killed and lost its data folder, is removed. */
const MAX_ABSENCE_DAYS = 30;
/** Unused Redis servers beyond this number are deleted. */
const MAX_SERVERS = 1_000;

/**
 * The nodes that use the database, in its table `nodes`. Columns keep their first names: `redis_heeded` is a node's
 * {@link NodeRecord.minGeneration}, `shares_redis` its {@link NodeRecord.hasJoined}, and `installation.redis_mark` the owner of a Redis.
 *
 * A node that was last seen while the database's clock was ahead counts as seen when another node finds that: otherwise a node that is gone
 * would count as alive until its time has come.
 */
export class PostgresNodes implements NodeRecords {
  readonly #database: Database;
  /** The nodes that were absent for long at the last {@link removeAbsent}, with the times when they were seen. */
  #absent: readonly { readonly id: string; readonly seenAt: string }[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Registers a node unless other nodes prevent it, and removes nodes without Redis that do not prevent it. A removed node that still
   * runs finds this at its next renewal, and stops, because it would not receive the changes of this node.
   *
   * @returns the nodes that prevent it.
   */
  async enter(
    node: Pick<NodeRow, "coordination" | "label"> & NodeLife,
    isInTheWay: (other: NodeRow) => boolean,
  ): Promise<readonly NodeRow[]> {
    return inTransaction(this.#database, async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${ADVISORY_LOCKS.nodes})`;
      await transaction`update nodes set seen_at = now() where id <> ${node.id} and seen_at > clock_timestamp()`;
      // The lock makes a node that renews its row meanwhile wait: it then finds that it was removed.
      const others = await transaction<NodeRow[]>`
        select id, coordination, label, (extract(epoch from now() - seen_at) * 1000)::float8 as "seenAgoMs"
        from nodes where id <> ${node.id} for update`;
      const inTheWay = others.filter(isInTheWay);
      if (inTheWay.length > 0) return inTheWay;
      await transaction`delete from nodes where id <> ${node.id} and coordination = 'alone'`;
      await transaction`
        insert into nodes (id, coordination, label, seen_at, life, redis_heeded)
        values (${node.id}, ${node.coordination}, ${node.label}, now(), ${node.life}, 0)
        on conflict (id) do update
          set coordination = excluded.coordination, label = excluded.label, seen_at = excluded.seen_at,
              shares_redis = false, life = excluded.life, redis_sequence = 0, redis_generation = null,
              redis_heeded = 0`;
      return [];
    });
  }

  /**
   * Records that the node is alive. @returns `false` when it was removed, or another process has entered as this node, such as one on a
   * copy of its data folder.
   */
  async renew({ id, life }: NodeLife): Promise<boolean> {
    const { count } = await this.#database`
      update nodes set seen_at = now() where id = ${id} and life = ${life}`;
    return count > 0;
  }

  /** Writes the record of this node, and that it is alive. @returns the other live nodes; `null` when this one was removed. */
  async renewRecord(record: NodeRecord): Promise<readonly OtherNode[] | null> {
    // A statement whose answer was lost may arrive after a later one. The sequence number makes it change nothing.
    const rows = await this.#database<(OtherNode | { readonly label: null })[]>`
      with renewed as (
        update nodes
        set seen_at = now(), redis_sequence = ${record.sequence}, redis_generation = ${record.generation},
            redis_heeded = ${record.minGeneration}, shares_redis = ${record.hasJoined}
        where id = ${record.id} and life = ${record.life} and redis_sequence < ${record.sequence}
        returning id
      ),
      ahead as (
        update nodes set seen_at = now()
        where id in (
          select id from nodes where id <> ${record.id} and seen_at > clock_timestamp() for update skip locked
        )
      )
      select ${this.#otherNode()}
      from renewed
      left join nodes as other on other.id <> renewed.id and ${this.#isLive()}
      left join redis_servers on redis_servers.generation = other.redis_generation`;
    // Without other nodes the outer join returns one row of nulls.
    return rows.length === 0 ? null : rows.filter((row) => row.label !== null);
  }

  /** Returns the other live nodes that use Redis. */
  async others(id: string): Promise<readonly OtherNode[]> {
    return this.#database<OtherNode[]>`
      select ${this.#otherNode()}
      from nodes as other left join redis_servers on redis_servers.generation = other.redis_generation
      where other.id <> ${id} and ${this.#isLive()}`;
  }

  /**
   * Records a Redis server, unless a node has done so before. A server that reports no promotion may have lost the record of one: it counts
   * as the newest server that was recorded of its run.
   */
  async recordRedis(runId: string, promotionId: string): Promise<RecordedRedis> {
    return inTransaction(this.#database, async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${ADVISORY_LOCKS.nodes})`;
      const [known] = await transaction<{ generation: number }[]>`
        select generation from redis_servers
        where run_id = ${runId} and ${promotionId} in ('', replication_id)
        order by generation desc limit 1`;
      if (known !== undefined) return { ...known, runId };
      const [row] = await transaction<[{ generation: number }]>`
        insert into redis_servers (generation, run_id, replication_id)
        select coalesce(max(generation), 0) + 1, ${runId}, ${promotionId} from redis_servers
        returning generation`;
      await transaction`
        delete from redis_servers
        where generation <= ${row.generation - MAX_SERVERS}
          and not exists (select from nodes where redis_generation = generation)`;
      return { generation: row.generation, runId };
    });
  }

  /** Removes the node, unless another process has entered as this node. */
  async remove({ id, life }: NodeLife): Promise<void> {
    await this.#database`delete from nodes where id = ${id} and life = ${life}`;
  }

  /**
   * Removes the nodes with Redis that were not seen for 30 days, and since the call before. Call it about every hour. The database's clock alone
   * removes none, because it may have jumped ahead.
   */
  async removeAbsent(): Promise<void> {
    this.#absent = await this.#database`
      with removed as (
        delete from nodes using jsonb_to_recordset(${this.#database.json([...this.#absent])}) as known (id uuid, "seenAt" timestamptz)
        where nodes.id = known.id and coordination = 'redis' and seen_at = known."seenAt"
          and seen_at < now() - make_interval(days => ${MAX_ABSENCE_DAYS})
        returning nodes.id
      )
      select id, seen_at::text as "seenAt" from nodes
      where coordination = 'redis' and seen_at < now() - make_interval(days => ${MAX_ABSENCE_DAYS})
        and id not in (select id from removed)`;
  }

  /** Removes all other nodes, because the operator has confirmed that they are gone. */
  async removeOthers(id: string): Promise<void> {
    await this.#database`delete from nodes where id <> ${id}`;
  }

  /** Returns whether another node that shares this installation's Redis was seen within the time. */
  async hasOtherRunning(id: string, withinMs: number): Promise<boolean> {
    const rows = await this.#database`
      select from nodes
      where id <> ${id} and shares_redis and seen_at > now() - ${withinMs} * interval '1 millisecond'`;
    return rows.length > 0;
  }

  /** Records the settings of a process of a node, unless the node was removed. @returns those of the other live nodes. */
  async exchangeSettings(
    { id, life }: NodeLife,
    { version, digests }: { readonly version: string; readonly digests: SettingDigests },
  ): Promise<readonly NodeSettings[]> {
    return this.#database<NodeSettings[]>`
      with recorded as (
        insert into node_settings (node_id, life, version, digests)
        select id, life, ${version}, ${this.#database.json({ ...digests })}
        from nodes where id = ${id} and life = ${life}
        on conflict (node_id) do update
          set life = excluded.life, version = excluded.version, digests = excluded.digests
          where (node_settings.life, node_settings.version, node_settings.digests)
            is distinct from (excluded.life, excluded.version, excluded.digests)
      )
      select other.id as "nodeId", label, version, digests
      from nodes as other
      left join node_settings on node_id = other.id and node_settings.life = other.life
      where other.id <> ${id} and ${this.#isLive()}
      order by label`;
  }

  /** Returns the id that identifies this installation as the owner of its keys in Redis. */
  async redisOwner(): Promise<string> {
    const [row] = await this.#database<{ redis_mark: string }[]>`select redis_mark from installation`;
    if (row === undefined) throw new Error("the installation has no row");
    return row.redis_mark;
  }

  /** Whether a row `other` is of a live node that uses Redis. */
  #isLive() {
    return this.#database`
      other.coordination = 'redis' and other.seen_at > now() - make_interval(secs => ${LIVE_S})`;
  }

  /** The columns of an {@link OtherNode}, of `nodes` and `redis_servers`. */
  #otherNode() {
    return this.#database`
      label, shares_redis as "hasJoined", redis_heeded as "minGeneration",
      case when run_id is not null then jsonb_build_object('generation', generation, 'runId', run_id) end as redis`;
  }
}
