import { Admissions } from "../admission/admissions.ts";
import { databaseEpochsIn } from "../admission/epoch-store.ts";
import { PostgresNodes } from "../admission/nodes-store.ts";
import { makeAuditPartitions } from "../audit/audit-partitions.ts";
import { lockDataDir } from "../database/data-dir-lock.ts";
import { readDatabaseClock } from "../database/database.ts";
import { keyMacSecret } from "../database/installation-store.ts";
import { migrate } from "../database/migrate.ts";
import { Clocks } from "./clocks.ts";
import { openDataDir } from "./data-dir.ts";
import { joinNodes, nodeId } from "./node-membership.ts";
import { openAdmissionStore, openConfiguredDatabase } from "./open-stores.ts";
import { DAY_MS, MINUTE_MS, SECOND_MS, type Startup } from "./startup.ts";

export type OpenNode = Awaited<ReturnType<typeof openNode>>;

/**
 * Opens the node's data folder, the database and the admission store, and joins the nodes that share them.
 *
 * @throws {StartupFailure} if one of them can't be used, or other nodes exclude this one.
 */
export async function openNode(startup: Startup) {
  const { settings, folders, log, jobs, teardown, shutdown, now } = startup;
  const { config } = settings;
  await openDataDir(config.dataDir);
  const lock = await lockDataDir(config.dataDir);
  teardown.add("data folder", () => lock.release());

  const { close, ...stores } = await openConfiguredDatabase(config, log);
  const { database, longReads } = stores;
  teardown.add("database", close);
  await migrate(database, folders.migrations);
  const clocks = new Clocks({ databaseNow: () => readDatabaseClock(database), now, log });
  await makeAuditPartitions(database, await clocks.compare());

  // This creates the installation's row, which joining the nodes reads.
  const macSecret = await keyMacSecret(database);
  const id = await nodeId(config.dataDir);
  const { store, redis, redisMemory } = await openAdmissionStore(config, log);
  const admissions = new Admissions(store);
  teardown.add("admission store", () => store.close());
  const membership = await joinNodes(config, {
    id,
    registry: new PostgresNodes(database),
    epochs: databaseEpochsIn(database),
    redis,
    fence: admissions,
    log,
    onReplaced: (reason) => {
      log.error(`${reason}: stopping`);
      shutdown.begin("replaced");
    },
  });
  teardown.add("membership", () => membership.leave());
  jobs.add(
    { name: "renew the node's membership", everyMs: SECOND_MS, run: () => membership.renew() },
    { name: "compare clocks", everyMs: MINUTE_MS, run: () => clocks.compare() },
    { name: "check Redis's memory policy", everyMs: MINUTE_MS, run: async () => redisMemory?.check() },
    {
      name: "create audit partitions",
      everyMs: DAY_MS,
      run: async () => makeAuditPartitions(longReads, await clocks.compare()),
    },
  );
  return { id, macSecret, ...stores, clocks, admissions, redisMemory };
}
