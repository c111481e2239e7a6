import { afterEach, describe, expect, it, vi } from "vitest";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import type { ConfirmPublication } from "../../server/src/admission/admissions.ts";
import {
  type NodeRecord,
  type OtherNode,
  RedisAgreement,
} from "../../server/src/admission/redis-agreement.ts";
import type { RedisServer } from "../../server/src/admission/redis-info.ts";
import { ANSWER_TIMEOUT_MS } from "../../server/src/errors/deadline.ts";
import { NODES, SimulatedCluster } from "./simulated-cluster.ts";
import { settle } from "./simulated-network.ts";

const SCHEDULES = Number(process.env.OSTIARY_TEST_SIMULATION_RUNS ?? 150);
const STEPS = 500;

/** A node by itself; the test says what others have recorded. */
function nodeAmong(others: () => readonly OtherNode[] | null, whileRecorded: () => void = () => {}) {
  const records: (NodeRecord & { readonly admitted: boolean })[] = [];
  /** Redis servers that the node has recorded, and whether it admitted requests then. */
  const servers: { readonly runId: string; readonly promotionId: string; readonly admitted: boolean }[] = [];
  /** What the node has told of being fenced. */
  const told: (string | null)[] = [];
  let fencedFor: string | null = null;
  let isApart = false;
  let reconnections = 0;
  let server: RedisServer | null = { runId: "own", promotionId: "r", isReplica: false };
  /** Called before each answer of Redis, and of the database. */
  let onIdentify = () => {};
  let onDatabase: (what: "recordRedis" | "renewRecord" | "others") => Promise<void> = async () => {};
  let confirm: ConfirmPublication = (publish) => publish();
  const listeners: (() => void)[] = [];
  const restoredListeners: (() => void)[] = [];
  const redis = {
    connection: 0,
    reconnect: () => {
      reconnections++;
    },
    server: async () => {
      onIdentify();
      return server;
    },
    onInvalidated: (listener: () => void) => {
      listeners.push(listener);
    },
    onRestored: (listener: () => void) => {
      restoredListeners.push(listener);
    },
  };
  const agreement = new RedisAgreement({
    id: "own",
    life: "first",
    records: {
      recordRedis: async (runId, promotionId) => {
        servers.push({ runId, promotionId, admitted: fencedFor === null });
        await onDatabase("recordRedis");
        return { runId, generation: 5 };
      },
      renewRecord: async (record) => {
        records.push({ ...record, admitted: fencedFor === null });
        await onDatabase("renewRecord");
        whileRecorded();
        return others();
      },
      others: async () => {
        await onDatabase("others");
        return others() ?? [];
      },
    },
    redis,
    admissions: {
      fence: (reason) => {
        fencedFor = reason;
      },
      fenceApart: (reason) => {
        fencedFor = reason;
        isApart = true;
      },
      lift: () => {
        fencedFor = null;
        isApart = false;
      },
      confirmPublications: (confirmation) => {
        confirm = confirmation;
      },
    },
    onFenced: (reason) => {
      told.push(reason);
    },
  });
  return {
    agreement,
    records,
    servers,
    told,
    isApart: () => isApart,
    admits: () => fencedFor === null,
    refusesBecause: () => fencedFor,
    reconnections: () => reconnections,
    publish: (meanwhile: () => void | Promise<void> = () => {}) => confirm(async () => meanwhile()),
    /** Sets what happens before Redis says which server it is. */
    onIdentify: (happens: () => void) => {
      onIdentify = happens;
    },
    /** Sets what happens before the database answers. */
    onDatabase: (happens: typeof onDatabase) => {
      onDatabase = happens;
    },
    leadsTo: (to: RedisServer | null) => {
      server = to;
    },
    loseConnection: () => {
      redis.connection++;
      for (const listener of listeners) listener();
    },
    restore: () => {
      for (const listener of restoredListeners) listener();
    },
  };
}

const silent = () => {
  throw new AdmissionStoreUnavailable("Redis did not answer");
};

const other = (generation: number, minGeneration: number | null = generation): OtherNode => ({
  label: "other",
  hasJoined: true,
  redis: { generation, runId: generation === 5 ? "own" : `run ${generation}` },
  minGeneration,
});

describe("a node among others", () => {
  it("admits requests when it is alone, and when the others use the same Redis or an older one", async () => {
    for (const others of [[], [other(5)], [other(4)], [other(4), other(5)]]) {
      const node = nodeAmong(() => others);
      expect(node.admits()).toBe(false);
      await node.agreement.join();
      expect(node.admits()).toBe(true);
    }
  });

  it("stops admitting requests before it announces that, and announces that it resumes before it does", async () => {
    let others = [other(5)];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    others = [other(6)];
    await node.agreement.check();
    expect(node.admits()).toBe(false);
    expect(node.records.at(-1)).toMatchObject({ minGeneration: 6, generation: 5, admitted: false });
    expect(node.records.filter(({ minGeneration, admitted }) => minGeneration === 6 && admitted)).toEqual([]);
    // It connects again at every check, as long as the other is there.
    expect(node.reconnections()).toBe(1);
    await node.agreement.check();
    expect(node.reconnections()).toBe(2);
    others = [];
    await node.agreement.check();
    expect(node.records.at(-1)).toMatchObject({ minGeneration: 5, admitted: false });
    expect(node.admits()).toBe(true);
  });

  it("admits nothing on a new connection until it has recorded which Redis it leads to", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    const before = node.records.length;
    node.loseConnection();
    expect(node.admits()).toBe(false);
    await node.agreement.check();
    expect(node.records.length).toBeGreaterThan(before);
    expect(node.admits()).toBe(true);
  });

  it.each<[string, (node: ReturnType<typeof nodeAmong>) => void]>([
    ["its connection is lost", (node) => node.loseConnection()],
    ["its process is stopped", (node) => node.agreement.paused()],
  ])(
    "admits nothing until a check that begins afterwards has ended if %s during a check",
    async (_, happens) => {
      let whileRecorded = () => {};
      const node = nodeAmong(
        () => [],
        () => whileRecorded(),
      );
      await node.agreement.join();
      whileRecorded = () => {
        whileRecorded = () => {};
        happens(node);
      };
      const before = node.records.length;
      await node.agreement.check();
      await node.agreement.check();
      expect(node.records.length).toBeGreaterThan(before + 1);
      expect(node.records[before + 1]).toMatchObject({ admitted: false });
      expect(node.admits()).toBe(true);
    },
  );

  it("says that Redis can't be reached while that is so, and then that it is not known yet which one it is", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.restore();
    expect(node.refusesBecause()).toBeNull();
    node.loseConnection();
    expect(node.refusesBecause()).toBe("Redis cannot be reached");
    expect(node.isApart()).toBe(false);
    node.restore();
    expect(node.refusesBecause()).toContain("it is not known yet");
    await node.agreement.check();
    expect(node.refusesBecause()).toBeNull();
  });

  it("admits nothing after its process was stopped until a check that begins afterwards has ended", async () => {
    let others: readonly OtherNode[] = [other(5)];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    const begunBefore = node.agreement.check();
    node.agreement.paused();
    others = [other(6)];
    expect(node.admits()).toBe(false);
    await begunBefore;
    expect(node.admits()).toBe(false);
    await node.agreement.check();
    expect(node.admits()).toBe(false);
    others = [other(5)];
    await node.agreement.check();
    expect(node.admits()).toBe(true);
  });

  it("does not count a change as published before all other nodes use its Redis", async () => {
    let others = [other(5)];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    await node.publish();
    for (const unheeding of [other(4), other(5, 4), other(6)]) {
      others = [other(5), unheeding];
      await expect(node.publish()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    }
    // A node of an older version, which does not report this, is not waited for.
    others = [other(5), other(5, null)];
    await node.publish();
    node.loseConnection();
    await expect(node.publish()).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    await node.agreement.check();
    await node.publish();
    const cutOff = node.publish(() => node.loseConnection());
    await expect(cutOff).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
  });

  it("admits nothing by what it knows when its connection leads to another Redis, until that one is recorded", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.leadsTo({ runId: "another", promotionId: "r", isReplica: false });
    await node.agreement.check();
    expect(node.records.at(-1)).toMatchObject({ admitted: false });
    expect(node.admits()).toBe(true);
  });

  it("admits nothing while its Redis is a replica, and reconnects", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.leadsTo({ runId: "own", promotionId: "other", isReplica: true });
    await node.agreement.check();
    expect(node.admits()).toBe(false);
    expect(node.reconnections()).toBe(1);
    expect(node.records.at(-1)).toMatchObject({ generation: null });
    expect(node.isApart()).toBe(true);
  });

  it("assumes that all nodes agree when Redis does not identify itself", async () => {
    const node = nodeAmong(() => [other(6)]);
    node.leadsTo(null);
    expect(await node.agreement.mayJoin(false)).toBe("may join");
    await node.agreement.join();
    expect(node.admits()).toBe(true);
    expect(node.agreement.isUnknown).toBe(true);
    await node.publish();
  });

  it("joins nodes that use its Redis, and refuses to join nodes that use another", async () => {
    const joining = (others: readonly OtherNode[], isLastTry = false) =>
      nodeAmong(() => others).agreement.mayJoin(isLastTry);
    expect(await joining([])).toBe("may join");
    expect(await joining([other(5)])).toBe("may join");
    expect(await joining([other(4)])).toBe("elsewhere");
    expect(await joining([other(6)], true)).toBe("elsewhere");
    // A node that is still starting does not count.
    expect(await joining([{ ...other(6), hasJoined: false }])).toBe("may join");
    const lost = { ...other(5), redis: null };
    expect(await joining([lost])).toBe("waiting");
    expect(await joining([lost], true)).toBe("may join");
  });

  it("connects again while it waits to join nodes that use another Redis, or for a primary", async () => {
    const among = nodeAmong(() => [other(6)]);
    await among.agreement.mayJoin(false);
    expect(among.reconnections()).toBe(1);
    const beside = nodeAmong(() => []);
    beside.leadsTo({ runId: "own", promotionId: "r", isReplica: true });
    expect(await beside.agreement.mayJoin(true)).toBe("replica");
    expect(beside.reconnections()).toBe(1);
    // A server that was promoted since the other node has recorded it has the same data.
    const promoted = { ...other(4), redis: { generation: 4, runId: "own" } };
    expect(await nodeAmong(() => [promoted]).agreement.mayJoin(true)).toBe("may join");
  });

  it("waits to join while Redis does not answer, and admits nothing before it has joined", async () => {
    const node = nodeAmong(() => []);
    node.onIdentify(silent);
    expect(await node.agreement.mayJoin(true)).toBe("waiting");
    node.onIdentify(() => {});
    expect(await node.agreement.mayJoin(false)).toBe("may join");
    expect(node.records.every(({ hasJoined }) => !hasJoined)).toBe(true);
    const { length } = node.records;
    node.loseConnection();
    node.restore();
    await settle();
    expect(node.records).toHaveLength(length);
    expect(node.admits()).toBe(false);
    await node.agreement.join();
    // The first record of a node that serves requests says so: others must respect its Redis from then on.
    expect(node.records.slice(length).every(({ hasJoined }) => hasJoined)).toBe(true);
    expect(node.admits()).toBe(true);
  });

  it("checks by itself after a lost connection and a pause, once for all who ask for a check", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    for (const happens of [node.loseConnection, () => node.agreement.paused()]) {
      happens();
      expect(node.admits()).toBe(false);
      await settle();
      expect(node.admits()).toBe(true);
    }
    const before = node.records.length;
    await Promise.all(Array.from({ length: 10 }, () => node.agreement.check()));
    expect(node.records).toHaveLength(before + 1);
  });

  it("goes on after a check that has failed", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.onDatabase(() => Promise.reject(new Error("the database is away")));
    await expect(node.agreement.check()).rejects.toThrow("away");
    expect(node.admits()).toBe(true);
    node.agreement.paused();
    await settle();
    expect(node.admits()).toBe(false);
    node.onDatabase(async () => {});
    await node.agreement.check();
    expect(node.admits()).toBe(true);
  });

  it("never admits anything again once another node has removed it", async () => {
    let others: readonly OtherNode[] | null = [];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    others = null;
    await node.agreement.check();
    expect(node.agreement.isRemoved).toBe(true);
    node.agreement.paused();
    await settle();
    await node.agreement.check();
    expect(node.admits()).toBe(false);
  });

  it("admits nothing by a Redis that does not answer on a new connection, and still keeps others from older ones", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.onIdentify(silent);
    node.loseConnection();
    await node.agreement.check();
    expect(node.admits()).toBe(false);
    // Nodes that use this Redis can confirm changes meanwhile: this one admits nothing by an older one.
    expect(node.records.at(-1)).toMatchObject({ generation: null, minGeneration: 5 });
    node.restore();
    expect(node.admits()).toBe(false);
    node.onIdentify(() => {});
    await node.agreement.check();
    expect(node.admits()).toBe(true);
  });

  it("continues if Redis does not answer once on a connection that was not lost", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    node.onIdentify(silent);
    await node.agreement.check();
    expect(node.admits()).toBe(true);
    expect(node.records.at(-1)).toMatchObject({ generation: 5 });
    await node.publish();
  });

  it("does not record a Redis whose connection was lost before it was identified", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    const { length } = node.records;
    node.onIdentify(() => {
      node.onIdentify(silent);
      node.loseConnection();
    });
    await node.agreement.check();
    await settle();
    const generations = node.records.slice(length).map(({ generation }) => generation);
    expect(new Set(generations)).toEqual(new Set([null]));
    expect(node.admits()).toBe(false);
  });

  it("records a Redis again that was promoted, and admits requests meanwhile, as it has the same data", async () => {
    const node = nodeAmong(() => [{ ...other(6), redis: { generation: 6, runId: "own" } }]);
    await node.agreement.join();
    expect(node.admits()).toBe(true);
    await node.agreement.check();
    node.leadsTo({ runId: "own", promotionId: "promoted", isReplica: false });
    await node.agreement.check();
    expect(node.servers).toEqual([
      { runId: "own", promotionId: "r", admitted: false },
      { runId: "own", promotionId: "promoted", admitted: true },
    ]);
  });

  it("admits requests beside a node that is still starting with a newer Redis", async () => {
    const node = nodeAmong(() => [{ ...other(6), hasJoined: false }]);
    await node.agreement.join();
    expect(node.admits()).toBe(true);
  });

  it("confirms no change that another Redis may have got, or that it published while it admits nothing", async () => {
    let others: readonly OtherNode[] = [];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    const refused = (publication: Promise<void>) =>
      expect(publication).rejects.toBeInstanceOf(AdmissionStoreUnavailable);
    await refused(
      node.publish(async () => {
        node.loseConnection();
        await node.agreement.check();
      }),
    );
    await refused(
      node.publish(async () => {
        node.leadsTo({ runId: "another", promotionId: "r", isReplica: false });
        await node.agreement.check();
      }),
    );
    await node.publish();
    // Until the next server is recorded, others don't know of it.
    node.leadsTo({ runId: "third", promotionId: "r", isReplica: false });
    node.onDatabase((what) =>
      what === "recordRedis" ? Promise.reject(new Error("away")) : Promise.resolve(),
    );
    await expect(node.agreement.check()).rejects.toThrow("away");
    await refused(node.publish());
    node.onDatabase(async () => {});
    await node.agreement.check();
    await node.publish();
    others = [other(6)];
    await node.agreement.check();
    others = [];
    await refused(node.publish());
    await node.agreement.check();
    await node.publish();
  });

  it("tells once why it admits nothing, and once that it admits requests again", async () => {
    const node = nodeAmong(() => []);
    await node.agreement.join();
    expect(node.told).toEqual([]);
    node.leadsTo({ runId: "own", promotionId: "r", isReplica: true });
    await node.agreement.check();
    await node.agreement.check();
    node.leadsTo({ runId: "own", promotionId: "r", isReplica: false });
    await node.agreement.check();
    await node.agreement.check();
    expect(node.told).toEqual([expect.stringContaining("replica"), null]);
  });

  it("keeps its reason when Redis was emptied, which no lost connection has told", async () => {
    let others: readonly OtherNode[] = [];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    node.loseConnection();
    await node.agreement.check();
    // As a cluster is connected again without having said so.
    node.restore();
    expect(node.admits()).toBe(true);
    node.loseConnection();
    node.restore();
    others = [other(6)];
    await node.agreement.check();
    node.restore();
    expect(node.refusesBecause()).toContain("newer");
  });

  it("does not stop for a Redis that has stopped to identify itself, until it does so again", async () => {
    const node = nodeAmong(() => []);
    node.leadsTo(null);
    await node.agreement.join();
    node.loseConnection();
    expect(node.admits()).toBe(true);
    node.restore();
    expect(node.admits()).toBe(true);
    node.agreement.paused();
    expect(node.admits()).toBe(true);
    node.leadsTo({ runId: "own", promotionId: "r", isReplica: false });
    await node.agreement.check();
    expect(node.agreement.isUnknown).toBe(false);
    node.loseConnection();
    expect(node.admits()).toBe(false);
  });

  it("reconnects once for a newer Redis that it finds between two checks", async () => {
    let others: readonly OtherNode[] = [];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    for (const [generation, reconnections] of [
      [7, 1],
      [7, 1],
      [6, 1],
      [8, 2],
    ] as const) {
      others = [other(generation)];
      node.restore();
      await settle();
      expect(node.reconnections()).toBe(reconnections);
    }
  });

  it("reconnects because of an older Redis only after several checks in a row, by the checks of every second", async () => {
    let others: readonly OtherNode[] = [other(4)];
    const node = nodeAmong(() => others);
    await node.agreement.join();
    for (let restored = 0; restored < 30; restored++) {
      node.restore();
      await settle();
    }
    expect(node.reconnections()).toBe(0);
    const connecting = { ...other(4), redis: null };
    // The second check after they were together, and the third one, with one between them that says nothing.
    for (const [present, reconnections] of [
      [other(4), 0],
      [other(5), 0],
      [other(4), 0],
      [connecting, 0],
      [connecting, 0],
      [other(4), 0],
      [other(4), 1],
    ] as const) {
      others = [present];
      await node.agreement.check();
      expect(node.reconnections()).toBe(reconnections);
    }
  });

  it("reconnects from time to time to check the address, while another node stays with an older Redis", async () => {
    const node = nodeAmong(() => [other(4)]);
    await node.agreement.join();
    for (let checks = 0; checks < 100; checks++) await node.agreement.check();
    expect(node.admits()).toBe(true);
    expect(node.reconnections()).toBe(5);
  });
});

describe("a node whose database does not answer", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each(["recordRedis", "renewRecord", "others"] as const)(
    "waits for it no longer than a request may: %s",
    async (hangs) => {
      const node = nodeAmong(() => []);
      await node.agreement.join();
      vi.useFakeTimers();
      node.onDatabase((what) => (what === hangs ? new Promise(() => {}) : Promise.resolve()));
      node.leadsTo({ runId: "another", promotionId: "r", isReplica: false });
      const asked = hangs === "others" ? node.publish() : node.agreement.check();
      const ended = vi.fn();
      asked.catch(ended);
      await vi.advanceTimersByTimeAsync(ANSWER_TIMEOUT_MS);
      expect(ended).toHaveBeenCalledOnce();
    },
  );
});

describe("nodes that share a Redis, under random failovers, restarts and lost connections", () => {
  it("never admit requests against a confirmed change, and all admit again in the end", {
    timeout: 600_000,
  }, async () => {
    let admitted = 0;
    let suspensions = 0;
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const cluster = new SimulatedCluster(seed);
      await cluster.join();
      cluster.database.losesAnswers = () => cluster.random() < 0.05;
      for (let step = 0; step < STEPS; step++) {
        if (cluster.network.isQuiet || cluster.random() < 0.12) {
          cluster.act();
          await settle();
        } else await cluster.network.step();
        if (cluster.answered.state === "suspended") suspensions++;
      }
      cluster.database.losesAnswers = () => false;
      await cluster.quiet();
      expect(cluster.wrong, `seed ${seed}`).toEqual([]);

      // Once every new connection leads to the primary, a few checks bring all together: there, or where they all were.
      for (let number = 0; number < NODES; number++) cluster.unstick();
      for (let round = 0; round < 60 && !cluster.isTogether; round++) {
        for (const node of cluster.nodes) cluster.check(node);
        await cluster.quiet();
      }
      expect(cluster.isTogether, `seed ${seed}`).toBe(true);
      admitted += cluster.admitted;
    }
    // Otherwise nothing was tried.
    expect(admitted).toBeGreaterThan(SCHEDULES);
    expect(suspensions).toBeGreaterThan(SCHEDULES);
  });
});
