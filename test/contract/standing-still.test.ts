import { setImmediate } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RedisAdmissionStore } from "../../server/src/admission/redis-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { endAbandonedTransactions } from "../../server/src/database/abandoned-transactions.ts";
import { openAlone, openStatementDatabase, type StatementDatabase } from "../fixtures/statement-database.ts";
import { openRedisStore } from "./redis-store.ts";

const hasDatabaseServer = process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
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

  it.skipIf(!hasDatabaseServer)(
    "loses its transaction to the other nodes, whatever name DATABASE_URL gives their connections",
    async () => {
      if (!("url" in database.address)) throw new Error("no server");
      const named = new URL(database.address.url);
      named.searchParams.set("application_name", "gateway");
      await using table = await database.temporaryTable();
      const still = postgres(named.href, { max: 1 });
      // The server waits for lines that do not come.
      const lines = await still`copy ${still(table.name)} from stdin`.writable();
      const isEnded = new Promise((resolve) => lines.on("error", resolve).on("close", resolve));
      await using stranger = openAlone(database.address, STATEMENT_TIMEOUT_MS);
      await using other = openAlone({ url: named.href }, STATEMENT_TIMEOUT_MS);
      const isWaiting = () =>
        database.admin`select from pg_stat_activity where application_name = 'gateway' and wait_event = 'ClientRead' and state = 'active'`;
      await expect.poll(isWaiting).toHaveLength(1);
      expect(await endAbandonedTransactions(stranger, 0)).toBe(0);
      expect(await endAbandonedTransactions(other, 0)).toBe(1);
      await isEnded;
    },
  );
});
