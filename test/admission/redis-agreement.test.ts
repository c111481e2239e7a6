import { describe, expect, it } from "vitest";
import { AdmissionStoreUnavailable } from "../../server/src/admission/admission-store.ts";
import type { ConfirmPublication } from "../../server/src/admission/admissions.ts";
import {
  type NodeRecord,
  type OtherNode,
  RedisAgreement,
} from "../../server/src/admission/redis-agreement.ts";
import type { RedisServer } from "../../server/src/admission/redis-info.ts";
import { NODES, SimulatedCluster } from "./simulated-cluster.ts";
import { settle } from "./simulated-network.ts";

const SCHEDULES = Number(process.env.OSTIARY_TEST_SIMULATION_RUNS ?? 150);
const STEPS = 500;

/** A node by itself; the test says what others have recorded. */
function nodeAmong(others: () => readonly OtherNode[], whileRecorded: () => void = () => {}) {
  const records: (NodeRecord & { readonly admitted: boolean })[] = [];
  let fencedFor: string | null = null;
  let isApart = false;
  let reconnections = 0;
  let server: RedisServer | null = { runId: "own", promotionId: "r", isReplica: false };
  let confirm: ConfirmPublication = (publish) => publish();
  const listeners: (() => void)[] = [];
  const restoredListeners: (() => void)[] = [];
  const redis = {
    connection: 0,
    reconnect: () => {
      reconnections++;
    },
    server: async () => server,
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
      recordRedis: async (runId) => ({ runId, generation: 5 }),
      renewRecord: async (record) => {
        records.push({ ...record, admitted: fencedFor === null });
        whileRecorded();
        return others();
      },
      others: async () => others(),
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
    onFenced: () => {},
  });
  return {
    agreement,
    records,
    isApart: () => isApart,
    admits: () => fencedFor === null,
    refusesBecause: () => fencedFor,
    reconnections: () => reconnections,
    publish: (meanwhile: () => void = () => {}) => confirm(async () => meanwhile()),
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

  it("reconnects from time to time to check the address, while another node stays with an older Redis", async () => {
    const node = nodeAmong(() => [other(4)]);
    await node.agreement.join();
    for (let checks = 0; checks < 100; checks++) await node.agreement.check();
    expect(node.admits()).toBe(true);
    expect(node.reconnections()).toBe(5);
  });
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
