import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { Admissions } from "../../server/src/admission/admissions.ts";
import type { PositionInDatabase } from "../../server/src/admission/database-epoch.ts";
import { MemoryAdmissionStore } from "../../server/src/admission/memory-store.ts";
import type { PostgresNodes } from "../../server/src/admission/nodes-store.ts";
import type { Config } from "../../server/src/config/config.ts";
import { joinNodes } from "../../server/src/start/node-membership.ts";

const MINUTE_MS = 60_000;

describe("a node that is alone", () => {
  it("stays fenced when a renewal that began before a suspension is answered after it", async () => {
    let passedMs = 0;
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
    const membership = await joinNodes(
      { databaseUrl: "postgres://", takeOver: false, dataDir: "" } as Config,
      {
        id: crypto.randomUUID(),
        registry: registry as PostgresNodes,
        position,
        redis: null,
        admissions,
        passedMs: () => passedMs,
        log: pino({ level: "silent" }),
        isStopping: () => false,
        onReplaced: (reason) => {
          throw new Error(reason);
        },
      },
    );
    beforeAnswer = () => {
      passedMs += 10 * MINUTE_MS;
      membership.fenceIfPresumedGone();
      expect(admissions.isFenced).toBe(true);
    };
    await membership.renew();
    expect(admissions.isFenced).toBe(true);
    beforeAnswer = () => {};
    await membership.renew();
    expect(admissions.isFenced).toBe(false);
  });
});
