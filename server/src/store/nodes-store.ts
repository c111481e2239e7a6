import { type Database, inTransaction } from "./database.ts";

/** Any number that nothing else in the database locks on. */
const NODES_LOCK = 7_305_113_003n;

/** How a node hears of other nodes' changes. */
export type Coordination = "alone" | "redis";

export interface NodeRow {
  readonly id: string;
  readonly coordination: Coordination;
  readonly label: string;
  /** Since it was last seen, by the database's clock. */
  readonly seenAgoMs: number;
}

/** The nodes that use a database. */
export class PostgresNodes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Enters a node unless another one is in its way. @returns those that are. */
  async enter(
    node: Pick<NodeRow, "id" | "coordination" | "label">,
    isInTheWay: (other: NodeRow) => boolean,
  ): Promise<readonly NodeRow[]> {
    return inTransaction(this.#database, async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${NODES_LOCK})`;
      const rows = await transaction<
        { id: string; coordination: Coordination; label: string; seen_ago_ms: number }[]
      >`
        select id, coordination, label, (extract(epoch from now() - seen_at) * 1000)::float8 as seen_ago_ms
        from nodes where id <> ${node.id}`;
      const inTheWay = rows
        .map(({ seen_ago_ms: seenAgoMs, ...row }) => ({ ...row, seenAgoMs }))
        .filter(isInTheWay);
      if (inTheWay.length > 0) return inTheWay;
      await transaction`
        insert into nodes (id, coordination, label, seen_at)
        values (${node.id}, ${node.coordination}, ${node.label}, now())
        on conflict (id) do update
          set coordination = excluded.coordination, label = excluded.label, seen_at = excluded.seen_at,
              shares_redis = false`;
      return [];
    });
  }

  /** Says that the node is there still. @returns `false` when it was removed. */
  async renew(id: string): Promise<boolean> {
    const { count } = await this.#database`update nodes set seen_at = now() where id = ${id}`;
    return count > 0;
  }

  async sharesRedis(id: string): Promise<void> {
    await this.#database`update nodes set shares_redis = true where id = ${id}`;
  }

  async remove(id: string): Promise<void> {
    await this.#database`delete from nodes where id = ${id}`;
  }

  /** Removes all others: somebody knows that they are gone. */
  async removeOthers(id: string): Promise<void> {
    await this.#database`delete from nodes where id <> ${id}`;
  }

  /** Whether another node, whose Redis bears the mark, was seen in the last while. */
  async hasCompany(id: string, withinMs: number): Promise<boolean> {
    const rows = await this.#database`
      select from nodes
      where id <> ${id} and shares_redis and seen_at > now() - ${withinMs} * interval '1 millisecond'`;
    return rows.length > 0;
  }

  /** What marks the Redis of this database's nodes. */
  async redisMark(): Promise<string> {
    const [row] = await this.#database<{ redis_mark: string }[]>`select redis_mark from installation`;
    if (row === undefined) throw new Error("the installation has no row");
    return row.redis_mark;
  }
}
