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

/** A node without others. `passedMs` is the time that its process knows to have passed. */
async function joinAlone(passedMs: () => number) {
  let beforeAnswer = () => {};
  const registry: Pick<PostgresNodes, "enter" | "renew" | "remove"> = {
    enter: async () => [],
    renew: async () => {
      beforeAnswer();
      return true;
    },
    remove: async () => {},
  };
  let tick = 1n;
  const position: PositionInDatabase = {
    read: async () => ({ epoch: "", tick }),
    advance: async () => ({ epoch: "", tick: ++tick }),
    begin: async () => {},
  };
  const admissions = new Admissions(new MemoryAdmissionStore());
  const membership = await joinNodes({ databaseUrl: "postgres://", takeOver: false, dataDir: "" } as Config, {
    id: crypto.randomUUID(),
    registry: registry as PostgresNodes,
    position,
    redis: null,
    admissions,
    passedMs,
    log: pino({ level: "silent" }),
    isStopping: () => false,
    onReplaced: (reason) => {
      throw new Error(reason);
    },
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
