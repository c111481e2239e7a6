import { pino } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { Admissions } from "../../server/src/admission/admissions.ts";
import type { DatabasePosition } from "../../server/src/admission/database-epoch.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { NodeRow, PostgresNodes } from "../../server/src/admission/nodes-store.ts";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { Config } from "../../server/src/config/config.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { joinNodes } from "../../server/src/start/node-membership.ts";

/** The database and the Redis of a starting node, and what it has done with them, in order. */
let world: {
  /** Another node in the registry. */
  other: Pick<NodeRow, "coordination" | "seenAgoMs" | "label"> | null;
  isOtherRunning: boolean;
  /** The owner id that Redis has. */
  ownerInRedis: string | null;
  position: DatabasePosition;
  positionInRedis: DatabasePosition | null;
  /** The lives of the nodes that have entered. */
  readonly lives: string[];
  readonly done: string[];
  readonly replaced: string[];
  tries: number;
  passedMs: number;
};

beforeEach(() => {
  world = {
    other: null,
    isOtherRunning: false,
    ownerInRedis: "owner",
    position: { epoch: "", tick: 5n },
    positionInRedis: null,
    lives: [],
    done: [],
    replaced: [],
    tries: 0,
    passedMs: 0,
  };
});

function fakeRegistry(): Partial<PostgresNodes> {
  return {
    enter: async ({ life }, blocks) => {
      world.tries++;
      const other = world.other as NodeRow | null;
      if (other !== null && blocks(other)) return [other];
      world.lives.push(life);
      world.done.push("entered");
      return [];
    },
    remove: async () => {
      world.done.push("removed");
    },
    removeOthers: async () => {
      world.done.push("others removed");
      world.other = null;
    },
    redisOwner: async () => "owner",
    recordRedis: async (runId) => {
      world.done.push("Redis recorded");
      return { runId, generation: 1 };
    },
    renewRecord: async () => [],
    others: async () => [],
    hasOtherRunning: async () => {
      world.tries++;
      return world.isOtherRunning;
    },
  };
}

function fakeRedis(): Partial<RedisAdmissionStore> {
  return {
    connection: 1,
    reconnect: () => {},
    server: async () => ({ runId: "run", promotionId: "promotion", isReplica: false }),
    owner: async () => world.ownerInRedis,
    claim: async () => {
      world.done.push("claimed");
      return false;
    },
    position: async () => world.positionInRedis,
    moveTo: async (position) => {
      world.positionInRedis = position;
    },
    useEpoch: () => {},
    onInvalidated: () => {},
    onRestored: () => {},
  };
}

/** Starts a node with Redis, on a service that is stopping: it tries everything once, and does not wait. */
async function join({ takeOver = false, hasRedis = true, id = crypto.randomUUID() } = {}) {
  const store = new MemoryAdmissionStore();
  const publish = store.publish.bind(store);
  store.publish = (accountId, version) => {
    world.done.push("published");
    return publish(accountId, version);
  };
  const admissions = new Admissions(store);
  const membership = await joinNodes({ databaseUrl: "postgres://", takeOver, dataDir: "" } as Config, {
    id,
    registry: fakeRegistry() as PostgresNodes,
    position: {
      read: async () => world.position,
      advance: async () => {
        world.done.push("advanced");
        world.position = { ...world.position, tick: world.position.tick + 1n };
        return world.position;
      },
      begin: async () => {},
    },
    redis: hasRedis ? (fakeRedis() as RedisAdmissionStore) : null,
    admissions,
    passedMs: () => world.passedMs,
    log: pino({ level: "silent" }),
    isStopping: () => true,
    onReplaced: (_reason, what) => world.replaced.push(what),
  });
  return { admissions, membership };
}

describe("a starting node with Redis", () => {
  it("records which server its Redis is, and claims it", async () => {
    await join();
    expect(world.done.filter((step) => step !== "advanced")).toEqual([
      "entered",
      "Redis recorded",
      "claimed",
    ]);
  });

  it("refuses the Redis of another database, and leaves no row", async () => {
    world.ownerInRedis = "the owner of another database";
    await expect(join()).rejects.toThrow("used by the nodes of another database");
    expect(world.done).not.toContain("claimed");
    expect(world.done.at(-1)).toBe("removed");
  });

  it("does not claim an empty Redis while others run, which may have another one, and ends at once when it is told to stop", async () => {
    world.ownerInRedis = null;
    world.isOtherRunning = true;
    await expect(join()).rejects.toThrow("another Redis server");
    expect(world.done).not.toContain("claimed");
    expect(world.done.at(-1)).toBe("removed");
    expect(world.tries).toBe(2);
  });

  it("does not use the data of a copy of its database", async () => {
    world.positionInRedis = { epoch: "another", tick: 3n };
    await expect(join()).rejects.toThrow("another copy of this database");
    expect(world.done).not.toContain("claimed");
    expect(world.done.at(-1)).toBe("removed");
  });

  it("starts beside other nodes with Redis, however long ago they were seen, but not beside one without", async () => {
    world.other = { coordination: "redis", seenAgoMs: 0, label: "other" };
    await join();
    world.other = { coordination: "alone", seenAgoMs: 60_000, label: "other" };
    await expect(join()).rejects.toThrow("A node without REDIS_URL uses the database");
    world.other = { coordination: "alone", seenAgoMs: 10 * 60_000, label: "other" };
    await join();
  });

  it("has another life each time, so that a process that was replaced notices it", async () => {
    const id = crypto.randomUUID();
    await join({ id });
    await join({ id });
    expect(new Set([id, ...world.lives]).size).toBe(3);
  });
});

describe("a starting node without Redis", () => {
  it("does not start beside a node with Redis, unless it takes over", async () => {
    world.other = { coordination: "redis", seenAgoMs: 3_600_000, label: "other" };
    await expect(join({ hasRedis: false })).rejects.toThrow("Another node uses the database");
    expect(world.done).toEqual([]);
    await join({ hasRedis: false, takeOver: true });
    expect(world.done.slice(0, 2)).toEqual(["others removed", "entered"]);
  });
});

describe("a running node with Redis", () => {
  it("publishes a change only after the database's position covers it", async () => {
    const { admissions } = await join();
    world.done.length = 0;
    await admissions.publish(crypto.randomUUID() as AccountId, 2n);
    expect(world.done.slice(0, 2)).toEqual(["advanced", "published"]);
  });

  it("is fenced when its process was stopped, until it has checked its membership", async () => {
    const { admissions, membership } = await join();
    await membership.renew();
    for (let second = 0; second < 10; second++) {
      world.passedMs += 1_000;
      membership.fenceIfPresumedGone();
      expect(admissions.isFenced).toBe(false);
    }
    world.passedMs += 6_000;
    membership.fenceIfPresumedGone();
    expect(admissions.isFenced).toBe(true);
    await membership.renew();
    expect(admissions.isFenced).toBe(false);
    world.passedMs += 1_000;
    membership.fenceIfPresumedGone();
    expect(admissions.isFenced).toBe(false);
  });

  it("ends when its database lacks changes that it has seen, and stays fenced", async () => {
    const { admissions, membership } = await join();
    await membership.renew();
    world.position = { epoch: "", tick: 1n };
    await membership.renew();
    expect(world.replaced).toEqual(["database"]);
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    expect(world.replaced).toEqual(["database"]);
  });

  it("admits nothing while Redis has the data of another copy of the database", async () => {
    const { admissions, membership } = await join();
    await membership.renew();
    world.positionInRedis = { epoch: "another", tick: 3n };
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    expect(admissions.isApart).toBe(true);
  });
});
