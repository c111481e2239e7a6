import type { Logger } from "pino";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { Admissions } from "../admission/admissions.ts";
import { positionInDatabase } from "../admission/database-epoch.ts";
import { PostgresNodes } from "../admission/nodes-store.ts";
import type { RedisAdmissionStore } from "../admission/redis-store.ts";
import { makeAuditPartitions } from "../audit/audit-partitions.ts";
import { endAbandonedTransactions } from "../database/abandoned-transactions.ts";
import { lockDataDir } from "../database/data-dir-lock.ts";
import { type Database, isLockTimeout, readDatabaseClock } from "../database/database.ts";
import { keyMacSecret } from "../database/installation-store.ts";
import { MIGRATION_IS_BLOCKED, migrate, schemaVersion, untilMigrated } from "../database/migrate.ts";
import { reasonOf } from "../errors/problems.ts";
import { openClocks } from "./clocks.ts";
import { openDataDir } from "./data-dir.ts";
import { nodeId } from "./node-id.ts";
import { joinNodes, type Membership } from "./node-membership.ts";
import { openAdmissionStore, redisErrorLog } from "./open-admission-store.ts";
import { openConfiguredDatabase } from "./open-database.ts";
import { complaintAbout } from "./readiness.ts";
import type { Startup } from "./startup.ts";
import { probeOf } from "./store-probe.ts";

const PARTITION_ATTEMPTS_AT_START = 3;
const PROBE_MS = 5 * SECOND_MS;
const END_ABANDONED_MS = 5 * SECOND_MS;
/** How long a service that must not migrate waits for another process that does. */
const MIGRATED_TIMEOUT_MS = 5 * MINUTE_MS;

export type OpenNode = Awaited<ReturnType<typeof openNode>>;

type JobParts = Pick<OpenNode, "database" | "longReads" | "clocks" | "redisMemory"> & {
  readonly membership: Membership;
  readonly registry: PostgresNodes;
};

/**
 * Opens the node's data folder, the database and the admission store, and joins the nodes that share them.
 *
 * @throws {StartupFailure} if one of them can't be used, or other nodes exclude this one.
 */
export async function openNode(startup: Startup) {
  const { settings, log, teardown, shutdown, now, monotonicMs, passedMs } = startup;
  const { config } = settings;
  await openDataDir(config.dataDir);
  const lock = await lockDataDir(config.dataDir);
  teardown.add("data folder", () => lock.release());

  const { close, ...stores } = await openConfiguredDatabase(config, log);
  const { database, longReads } = stores;
  teardown.add("database", close);
  const schema = await openSchema(startup, database);
  const clocks = openClocks({ databaseNow: () => readDatabaseClock(database), now, monotonicMs, log });
  await makeFirstPartitions(database, await clocks.compare(), log);

  // This creates the installation's row, which joining the nodes reads.
  const macSecret = await keyMacSecret(database);
  const id = await nodeId(config.dataDir);
  const logRedisError = redisErrorLog(log, monotonicMs);
  const { store, redis, redisMemory } = await openAdmissionStore(config, log, logRedisError);
  const admissions = new Admissions(store);
  teardown.add("admission store", () => store.close());
  let isReplaced = false;
  const registry = new PostgresNodes(database);
  const joining = joinNodes(config, {
    id,
    registry,
    position: positionInDatabase(database),
    redis,
    admissions,
    passedMs,
    log,
    isStopping: () => shutdown.hasBegun,
    onReplaced: (reason, what) => {
      isReplaced = true;
      log.error(`${reason}: stopping`);
      if (what === "node") startup.worker?.replaced();
      shutdown.begin(what === "database" ? "restored" : "replaced");
    },
  });
  // A signal may arrive before the node has joined. It then leaves as soon as it has joined, because the entry of a node that does not run keeps
  // others from starting.
  teardown.add("membership", async () => (await joining.catch(() => null))?.leave());
  const membership = await joining;
  addJobs(startup, { database, longReads, clocks, redisMemory, membership, registry });
  const probes = await openProbes(startup, stores.requireUsable, redis);
  return {
    id,
    macSecret,
    ...stores,
    schema,
    clocks,
    admissions,
    redis,
    redisMemory,
    logRedisError,
    probes,
    /** Records the settings of this node. Returns those of the other nodes: none without Redis. */
    nodeSettings: membership.exchangeSettings,
    renewMembership: membership.renewMembership,
    /** Whether the node stops because another node has its database, or because it was restored. */
    isReplaced: () => isReplaced,
  };
}

/** Measures the stores, and adds the job that measures them again. */
async function openProbes(
  { log, jobs, monotonicMs }: Startup,
  askDatabase: () => PromiseLike<unknown>,
  redis: RedisAdmissionStore | null,
) {
  const probes = {
    database: probeOf(askDatabase, monotonicMs, logChanges(log, "PostgreSQL")),
    redis: redis === null ? null : probeOf(() => redis.ping(), monotonicMs, logChanges(log, "Redis")),
  };
  const measure = () => Promise.all([probes.database.measure(), probes.redis?.measure()]);
  jobs.add({ name: "measure the stores", everyMs: PROBE_MS, run: measure });
  await measure();
  return probes;
}

/** Adds the background jobs that keep the node a member, and its database in order. */
function addJobs(
  { log, jobs }: Startup,
  { database, longReads, clocks, redisMemory, membership, registry }: JobParts,
): void {
  jobs.add(
    { name: "renew the node's membership", everyMs: SECOND_MS, run: () => membership.renew() },
    {
      name: "notice that the node was stopped",
      everyMs: SECOND_MS,
      run: async () => membership.fenceIfPresumedGone(),
    },
    {
      name: "end abandoned transactions",
      everyMs: END_ABANDONED_MS,
      run: async () => {
        const ended = await endAbandonedTransactions(database);
        if (ended > 0)
          log.warn({ ended }, "ended transactions of a node that had stopped in the middle of them");
      },
    },
    { name: "remove absent nodes", everyMs: HOUR_MS, run: () => registry.removeAbsent() },
    { name: "compare clocks", everyMs: MINUTE_MS, run: () => clocks.compare() },
    { name: "check Redis's memory policy", everyMs: MINUTE_MS, run: async () => redisMemory?.check() },
    {
      name: "create audit partitions",
      everyMs: HOUR_MS,
      run: async () => makeAuditPartitions(longReads, await clocks.compare()),
    },
  );
}

/** Returns a function that logs that a store does not answer or refuses to write, or answers again. */
function logChanges(log: Logger, store: string): (error: unknown) => void {
  return (error) => {
    if (error === null) log.info(`${store} answers again`);
    else log.error(reasonOf(error), `${store} ${complaintAbout(error)}`);
  };
}

/** Creates the missing partitions, unless a long transaction keeps them from being created: a job does it later, and entries have a place meanwhile. */
async function makeFirstPartitions(database: Database, now: Date, log: Logger): Promise<void> {
  try {
    await makeAuditPartitions(database, now, PARTITION_ATTEMPTS_AT_START);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    log.warn(
      "a transaction of another session, such as that of a backup, uses the audit log: its partitions of the next months are created later",
    );
  }
}

/** Applies the migrations of this version, or waits until another process has. */
async function openSchema(
  { settings, folders, log }: Startup,
  database: Database,
): Promise<{ readonly version: string | null; readonly newer: readonly string[] }> {
  const { newer } = settings.config.migrate
    ? await migrate(database, folders.migrations, {
        onWaiting: () => log.info("waiting for the migration of another process"),
        onBlocked: () => log.warn(MIGRATION_IS_BLOCKED),
      })
    : await untilMigrated(database, folders.migrations, {
        timeoutMs: MIGRATED_TIMEOUT_MS,
        onWaiting: (missing) => log.warn({ missing }, "waiting until the database is migrated"),
      });
  if (newer.length > 0) {
    log.info({ newer }, "a newer version of the service has migrated the database; this one works with it");
  }
  return { version: await schemaVersion(database), newer };
}
