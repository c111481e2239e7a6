import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { openAlone, openStatementDatabase, type StatementDatabase } from "../fixtures/statement-database.ts";
import { openRedisStore } from "./redis-store.ts";

const REDIS_URL = process.env.OSTIARY_TEST_REDIS_URL;
/** A connection to Redis is closed if it owes an answer for 2 seconds. */
const STILL_MS = 2_500;
const STATEMENT_TIMEOUT_MS = 1_000;

/** Stops this process, so that timers are due and answers have arrived when it goes on. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("a process that stood still", () => {
  let database: StatementDatabase;
  let store: RedisAdmissionStore | null = null;

  beforeAll(async () => {
    database = await openStatementDatabase();
    if (REDIS_URL !== undefined) store = await openRedisStore(REDIS_URL, { nowMs: Date.now });
  });

  afterAll(async () => {
    await store?.close();
    await database?.[Symbol.asyncDispose]();
  });

  it.skipIf(REDIS_URL === undefined)(
    "keeps its connection to Redis, which has answered meanwhile",
    async () => {
      if (store === null) throw new Error("not connected");
      const { connection } = store;
      const answer = store.check(crypto.randomUUID() as AccountId, 1n);
      // It is sent at the end of this turn.
      await setImmediate();
      standStill(STILL_MS);
      expect(await answer).toBe("stale");
      expect(await store.check(crypto.randomUUID() as AccountId, 1n)).toBe("stale");
      expect(store.connection).toBe(connection);
    },
  );

  it("keeps its connection to PostgreSQL, which has answered meanwhile", async () => {
    await using sql = openAlone(database.address, STATEMENT_TIMEOUT_MS);
    const [before] = await sql`select pg_backend_pid() as pid`;
    const answer = sql`select pg_backend_pid() as pid from pg_sleep(0.2)`.execute();
    // It is sent within a few turns.
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    standStill(1.5 * STATEMENT_TIMEOUT_MS);
    expect(await answer).toEqual([before]);
    expect(await sql`select pg_backend_pid() as pid`).toEqual([before]);
  });
});
