import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import { Admissions } from "../../server/src/admission/admissions.ts";
import type { PositionInDatabase } from "../../server/src/admission/database-epoch.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { PostgresNodes } from "../../server/src/admission/nodes-store.ts";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { Config } from "../../server/src/config/config.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { joinNodes } from "../../server/src/start/node-membership.ts";

const MINUTE_MS = 60_000;

/** What the database of a node without others does and is asked. */
interface LoneDatabase {
  /** Whether the node's row is there. */
  isRegistered: boolean;
  isAway: boolean;
  /** How far it is in its history. */
  tick: bigint;
  /** What the node has done, in order. */
  readonly done: string[];
  /** Why the node can't continue, as often as it has said so. */
  readonly replaced: string[];
}

const loneDatabase = (): LoneDatabase => ({
  isRegistered: false,
  isAway: false,
  tick: 1n,
  done: [],
  replaced: [],
});

/** A node without others. `passedMs` is the time that its process knows to have passed. */
async function joinAlone(passedMs: () => number, database = loneDatabase()) {
  let beforeAnswer = () => {};
  const answer = <Value>(value: Value) => {
    if (database.isAway) throw new Error("connection refused");
    return value;
  };
  const registry: Pick<PostgresNodes, "enter" | "renew" | "remove" | "removeOthers"> = {
    enter: async () => {
      database.isRegistered = true;
      return [];
    },
    renew: async () => {
      beforeAnswer();
      return answer(database.isRegistered);
    },
    remove: async () => {
      database.isRegistered = false;
    },
    removeOthers: async () => {
      database.done.push("others removed");
    },
  };
  const position: PositionInDatabase = {
    read: async () => answer({ epoch: "", tick: database.tick }),
    advance: async () => {
      database.done.push("advanced");
      return answer({ epoch: "", tick: ++database.tick });
    },
    begin: async () => {},
  };
  const store = new MemoryAdmissionStore();
  const publish = store.publish.bind(store);
  store.publish = (accountId, version) => {
    database.done.push("published");
    return publish(accountId, version);
  };
  const admissions = new Admissions(store);
  const membership = await joinNodes({ databaseUrl: "postgres://", takeOver: false, dataDir: "" } as Config, {
    id: crypto.randomUUID(),
    registry: registry as PostgresNodes,
    position,
    redis: null,
    admissions,
    passedMs,
    log: pino({ level: "silent" }),
    isStopping: () => false,
    onReplaced: (_reason, what) => database.replaced.push(what),
  });
  return {
    admissions,
    membership,
    /** Sets what happens before the database answers a renewal. */
    beforeAnswer: (happens: () => void) => {
      beforeAnswer = happens;
    },
  };
}

describe("a node that is alone", () => {
  it("stays fenced when a renewal that began before a suspension is answered after it", async () => {
    let passedMs = 0;
    const { admissions, membership, beforeAnswer } = await joinAlone(() => passedMs);
    beforeAnswer(() => {
      passedMs += 10 * MINUTE_MS;
      membership.fenceIfPresumedGone();
      expect(admissions.isFenced).toBe(true);
    });
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    // Such a node has no Redis.
    expect(admissions.isApart).toBe(false);
    beforeAnswer(() => {});
    await membership.renew();
    expect(admissions.isFenced).toBe(false);
  });

  it("admits no request that arrived while its process was stopped, although none of its timers has run", async () => {
    let passedMs = 0;
    const { admissions, membership } = await joinAlone(() => passedMs);
    const account = crypto.randomUUID() as AccountId;
    await admissions.commitRead(account, 1n, await admissions.epoch(account));
    expect(await admissions.check(account, 1n)).toBe("current");
    passedMs += 10 * MINUTE_MS;
    await expect(admissions.check(account, 1n)).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    await membership.renew();
    expect(await admissions.check(account, 1n)).toBe("current");
  });

  it("leaves no row that keeps others from starting if its start fails after it has entered", async () => {
    const database = { ...loneDatabase(), isAway: true };
    await expect(joinAlone(() => 0, database)).rejects.toThrow("connection refused");
    expect(database.isRegistered).toBe(false);
  });

  it("publishes a change only after the database's position covers it", async () => {
    const database = loneDatabase();
    const { admissions } = await joinAlone(() => 0, database);
    database.done.length = 0;
    await admissions.publish(crypto.randomUUID() as AccountId, 2n);
    expect(database.done).toEqual(["advanced", "published"]);
  });

  it("confirms no change and admits nothing once another node has taken its place, and says so once", async () => {
    const database = loneDatabase();
    const { admissions, membership } = await joinAlone(() => 0, database);
    database.isRegistered = false;
    await expect(admissions.publish(crypto.randomUUID() as AccountId, 2n)).rejects.toThrow("taken over");
    expect(admissions.isFenced).toBe(true);
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    expect(database.replaced).toEqual(["node"]);
  });

  it("notices in a renewal that another node has taken its place", async () => {
    const database = loneDatabase();
    const { admissions, membership } = await joinAlone(() => 0, database);
    database.isRegistered = false;
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    expect(database.replaced).toEqual(["node"]);
  });

  it("ends when its database lacks changes that it has seen, as after a restore", async () => {
    const database = loneDatabase();
    const { admissions, membership } = await joinAlone(() => 0, database);
    await membership.renew();
    database.tick = 1n;
    await membership.renew();
    expect(database.replaced).toEqual(["database"]);
    expect(admissions.isFenced).toBe(true);
  });

  it("is fenced before its first request if its start took too long, even though the database does not answer then", async () => {
    let passedMs = 0;
    const database = loneDatabase();
    const { admissions, membership } = await joinAlone(() => passedMs, database);
    passedMs += 10 * MINUTE_MS;
    database.isAway = true;
    await membership.renewMembership();
    expect(admissions.isFenced).toBe(true);
    expect(database.replaced).toEqual([]);
  });
});

/** A node whose Redis is a replica while `isReplica` is set. */
async function joinByRedis(server: { isReplica: boolean }) {
  const registry: Partial<PostgresNodes> = {
    enter: async () => [],
    remove: async () => {},
    redisOwner: async () => "owner",
    recordRedis: async (runId) => ({ runId, generation: 1 }),
    renewRecord: async () => [],
    others: async () => [],
    hasOtherRunning: async () => false,
  };
  const redis: Partial<RedisAdmissionStore> = {
    connection: 1,
    reconnect: () => {},
    server: async () => ({ runId: "run", promotionId: "promotion", isReplica: server.isReplica }),
    owner: async () => "owner",
    claim: async () => false,
    position: async () => null,
    moveTo: async () => {},
    useEpoch: () => {},
    onInvalidated: () => {},
    onRestored: () => {},
  };
  let tick = 1n;
  const admissions = new Admissions(new MemoryAdmissionStore());
  const membership = await joinNodes({ databaseUrl: "postgres://", takeOver: false, dataDir: "" } as Config, {
    id: crypto.randomUUID(),
    registry: registry as PostgresNodes,
    position: {
      read: async () => ({ epoch: "", tick }),
      advance: async () => ({ epoch: "", tick: ++tick }),
      begin: async () => {},
    },
    redis: redis as RedisAdmissionStore,
    admissions,
    passedMs: () => 0,
    log: pino({ level: "silent" }),
    isStopping: () => false,
    onReplaced: (reason) => {
      throw new Error(reason);
    },
  });
  return { admissions, membership };
}

describe("a node whose Redis has become a replica", () => {
  it("counts as apart from the others, for the alert, until Redis is a primary again", async () => {
    const server = { isReplica: false };
    const { admissions, membership } = await joinByRedis(server);
    await membership.renew();
    expect(admissions.isFenced).toBe(false);
    server.isReplica = true;
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    expect(admissions.isApart).toBe(true);
    server.isReplica = false;
    await membership.renew();
    expect(admissions.isFenced).toBe(false);
    expect(admissions.isApart).toBe(false);
  });
});
