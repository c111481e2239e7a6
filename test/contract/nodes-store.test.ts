import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Coordination, PostgresNodes } from "../../server/src/admission/nodes-store.ts";
import type { NodeRecord } from "../../server/src/admission/redis-agreement.ts";
import type { Database } from "../../server/src/database/database.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

const NONE = () => false;

let database: AuditDatabase;
let sql: Database;
let nodes: PostgresNodes;

beforeAll(async () => {
  database = await openAuditDatabase(auditEntry());
  sql = database.sql;
  nodes = new PostgresNodes(sql);
});

beforeEach(async () => {
  await sql`delete from nodes`;
  await sql`delete from redis_servers`;
});

afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
});

/** Enters a node as one of its processes. */
async function enter(label: string, coordination: Coordination = "redis", id: string = crypto.randomUUID()) {
  const node = { id, life: crypto.randomUUID() };
  const inTheWay = await nodes.enter({ ...node, label, coordination }, NONE);
  expect(inTheWay).toEqual([]);
  let sequence = 0;
  const record = (changes: Partial<NodeRecord> = {}) =>
    nodes.renewRecord({
      ...node,
      sequence: ++sequence,
      generation: null,
      minGeneration: 0,
      hasJoined: true,
      ...changes,
    });
  return { ...node, label, record };
}

/** Moves the time at which a node was seen. */
async function seenAgo({ id }: { readonly id: string }, time: string): Promise<void> {
  await sql`update nodes set seen_at = now() - ${time}::interval where id = ${id}`;
}

const labels = async () =>
  (await sql<{ label: string }[]>`select label from nodes order by label`).map(({ label }) => label);

describe("a node that enters", () => {
  it("is kept out by the nodes that are in its way, and then changes nothing", async () => {
    await enter("alone", "alone");
    const other = await enter("with Redis");
    await seenAgo(other, "7 seconds");
    const node = { id: crypto.randomUUID(), life: crypto.randomUUID() };
    const seen: string[] = [];
    const inTheWay = await nodes.enter({ ...node, label: "next", coordination: "alone" }, (row) => {
      seen.push(`${row.label} ${row.coordination} ${Math.round(row.seenAgoMs / 1_000)}`);
      return row.label === "with Redis";
    });
    expect(seen.toSorted()).toEqual(["with Redis redis 7"]);
    expect(inTheWay.map(({ label }) => label)).toEqual(["with Redis"]);
    expect(await labels()).toEqual(["with Redis"]);
  });

  it("removes those without Redis that are not in its way, which find that at their next renewal", async () => {
    const alone = await enter("alone", "alone");
    expect(await nodes.renew(alone)).toBe(true);
    await enter("with Redis");
    expect(await labels()).toEqual(["with Redis"]);
    expect(await nodes.renew(alone)).toBe(false);
  });

  it("is not kept out for longer than the lease of a node that was seen while the clock was ahead", async () => {
    const other = await enter("ahead", "alone");
    await seenAgo(other, "-1 hour");
    const seen: number[] = [];
    const node = { id: crypto.randomUUID(), life: crypto.randomUUID(), label: "next" };
    await nodes.enter({ ...node, coordination: "redis" }, ({ seenAgoMs }) => {
      seen.push(seenAgoMs);
      return true;
    });
    expect(seen).toHaveLength(1);
    expect(Math.abs(seen[0] ?? -1)).toBeLessThan(60_000);
  });

  it("begins with nothing that its process before has recorded, and ends what that still sends", async () => {
    const { generation } = await nodes.recordRedis("run", "");
    const before = await enter("first", "redis");
    await before.record({ sequence: 100, generation, minGeneration: generation });
    const other = await enter("other");
    expect(await other.record()).toEqual([
      { label: "first", hasJoined: true, redis: { generation, runId: "run" }, minGeneration: generation },
    ]);
    await seenAgo(before, "1 hour");
    const [restarted, seen] = [{ id: before.id, life: crypto.randomUUID() }, [] as string[]];
    await nodes.enter({ ...restarted, label: "started", coordination: "redis" }, ({ label }) => {
      seen.push(label);
      return false;
    });
    // Its own row keeps no node out.
    expect(seen).toEqual(["other"]);
    const after = await enter("second", "redis", before.id);
    expect(await other.record()).toEqual([
      { label: "second", hasJoined: false, redis: null, minGeneration: 0 },
    ]);
    expect(await before.record({ sequence: 200, generation })).toBeNull();
    expect(await nodes.renew(before)).toBe(false);
    await nodes.remove(before);
    expect(await after.record()).toHaveLength(1);
    await nodes.remove(after);
    expect(await labels()).toEqual(["other"]);
  });
});

describe("the record of a node", () => {
  it("says what it was given last, whatever arrives late, to the others and not to itself", async () => {
    const { generation } = await nodes.recordRedis("run", "");
    const [one, two] = [await enter("one"), await enter("two")];
    await one.record({ sequence: 2, generation, minGeneration: 7, hasJoined: true });
    // A late statement is no proof that the node is gone.
    expect(await one.record({ sequence: 1, minGeneration: 3, hasJoined: false })).toBeNull();
    const expected = [
      { label: "one", hasJoined: true, redis: { generation, runId: "run" }, minGeneration: 7 },
    ];
    expect(await two.record()).toEqual(expected);
    expect(await nodes.others(two.id)).toEqual(expected);
    await nodes.removeOthers(two.id);
    expect(await two.record()).toEqual([]);
    expect(await nodes.others(two.id)).toEqual([]);
  });

  it("counts for 10 seconds after it was written, also if the clock was ahead then", async () => {
    const [one, two] = [await enter("one"), await enter("two")];
    await one.record();
    for (const [time, expected] of [
      ["8 seconds", ["one"]],
      ["11 seconds", []],
    ] as const) {
      await seenAgo(one, time);
      expect((await nodes.others(two.id)).map(({ label }) => label)).toEqual(expected);
      expect((await two.record())?.map(({ label }) => label)).toEqual(expected);
    }
    await one.record();
    expect(await nodes.others(two.id)).toHaveLength(1);
    await seenAgo(one, "-1 hour");
    await two.record();
    const [row] = await sql<[{ isAhead: boolean }]>`
      select seen_at > clock_timestamp() as "isAhead" from nodes where id = ${one.id}`;
    expect(row.isAhead).toBe(false);
  });

  it("is written without waiting for that of another node, which is locked while that one writes it", async () => {
    const [one, two] = [await enter("one"), await enter("two")];
    await seenAgo(two, "-1 hour");
    await sql.transaction("", async (writing) => {
      await writing`select from nodes where id = ${two.id} for update`;
      expect(await one.record()).toHaveLength(1);
    });
  });

  it("does not count for a node without Redis", async () => {
    const one = await enter("one");
    await sql`
      insert into nodes (id, coordination, label, seen_at, life)
      values (${crypto.randomUUID()}, 'alone', 'alone', now(), ${crypto.randomUUID()})`;
    expect(await one.record()).toEqual([]);
  });

  it("tells whether another node runs that has begun to serve requests", async () => {
    const [one, two] = [await enter("one"), await enter("two")];
    await two.record({ hasJoined: false });
    expect(await nodes.hasOtherRunning(one.id, 5_000)).toBe(false);
    await two.record({ hasJoined: true });
    expect(await nodes.hasOtherRunning(one.id, 5_000)).toBe(true);
    expect(await nodes.hasOtherRunning(two.id, 5_000)).toBe(false);
    await seenAgo(two, "6 seconds");
    expect(await nodes.hasOtherRunning(one.id, 5_000)).toBe(false);
    expect(await nodes.hasOtherRunning(one.id, 10_000)).toBe(true);
  });
});

describe("the generation of a Redis", () => {
  it("is one for each run and promotion, and that of the newest promotion if the server does not tell", async () => {
    const generationOf = async (run: string, promotion: string) =>
      (await nodes.recordRedis(run, promotion)).generation;
    expect(await generationOf("a", "")).toBe(1);
    expect(await generationOf("b", "")).toBe(2);
    expect(await generationOf("a", "")).toBe(1);
    expect(await generationOf("a", "promoted")).toBe(3);
    expect(await generationOf("a", "promoted")).toBe(3);
    expect(await generationOf("a", "")).toBe(3);
    expect(await generationOf("b", "promoted")).toBe(4);
    expect(await nodes.recordRedis("b", "")).toEqual({ generation: 4, runId: "b" });
    // Nodes that find a server at the same time.
    const found = await Promise.all(["c", "c", "d"].map((run) => generationOf(run, "")));
    expect(found.toSorted()).toEqual([5, 5, 6].toSorted());
  });

  it("is kept of the last thousand servers, and of those that nodes use", async () => {
    const first = await nodes.recordRedis("first", "");
    await nodes.recordRedis("second", "");
    const one = await enter("one");
    await one.record({ generation: first.generation });
    await sql`
      insert into redis_servers (generation, run_id, replication_id)
      select number, 'run ' || number, '' from generate_series(3, 1001) as number`;
    expect((await nodes.recordRedis("next", "")).generation).toBe(1_002);
    const kept = await sql<
      { generation: number }[]
    >`select generation from redis_servers order by generation limit 2`;
    expect(kept.map(({ generation }) => generation)).toEqual([1, 3]);
  });
});

describe("the settings of nodes", () => {
  const digests = { plans: "a", catalog: "b", prices: "c", responses: "d" };
  const OWN = { version: "1", digests };

  it("are told to the other live nodes, of their present process only", async () => {
    const [one, two] = [await enter("one"), await enter("two")];
    expect(await nodes.exchangeSettings(one, OWN)).toMatchObject([{ nodeId: two.id, version: null }]);
    await nodes.exchangeSettings(two, { version: "2", digests });
    expect(await nodes.exchangeSettings(one, OWN)).toMatchObject([{ label: "two", version: "2" }]);
    await nodes.exchangeSettings(two, { version: "3", digests });
    expect(await nodes.exchangeSettings(one, OWN)).toMatchObject([{ version: "3" }]);
    await enter("two again", "redis", two.id);
    expect(await nodes.exchangeSettings(one, OWN)).toMatchObject([{ label: "two again", version: null }]);
    const written = () => sql`select node_id, xmin::text from node_settings order by node_id`;
    const before = [...(await written())];
    await nodes.exchangeSettings(one, OWN);
    // It is called again and again, so only changes are written.
    expect([...(await written())]).toEqual(before);
    // The former process is still running.
    await nodes.exchangeSettings(two, { version: "4", digests });
    expect(await nodes.exchangeSettings(one, OWN)).toMatchObject([{ version: null }]);
    await seenAgo(two, "1 minute");
    expect(await nodes.exchangeSettings(one, OWN)).toEqual([]);
  });
});
