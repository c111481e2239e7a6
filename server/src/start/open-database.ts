import { startEmbeddedPostgres } from "@ostiary/embedded-postgres";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { databasePlace } from "../config/store-places.ts";
import type { PoolUse } from "../database/connection-pool.ts";
import { type DatabaseAddress, openDatabase } from "../database/database.ts";
import { requireReadable } from "../database/readable.ts";
import { requireWritable } from "../database/writable.ts";
import { sharedLookup } from "../networks/shared-lookup.ts";
import { type DatabaseUse, requireUsableDatabase } from "./database-check.ts";

/**
 * The connections of a node by purpose, so that long reads do not delay the revocation of a key or the recording of requests.
 * docs/how-to/run-several-nodes.md documents their sum.
 */
export const CONNECTIONS = {
  /** For access and management: statements that end soon. */
  access: 5,
  /** For long reads and background jobs. Reads leave one connection to the jobs: see {@link Reads}. */
  reads: 4,
  /** For the recorder, which inserts one batch at a time, and operators who repair what it left. */
  recording: 2,
  /** For stored responses, which may be as large as request bodies. */
  responses: 4,
  readiness: 1,
} as const;
/** Shorter than a statement's deadline: once silent connections are closed, requests fail sooner. */
const CONNECT_TIMEOUT_S = 3;
/** `/readyz` answers within two seconds; the rest is for the request itself. */
const PING_TIMEOUT_MS = 1_500;
/** For statements that still run when everything else has stopped. */
const END_TIMEOUT_S = 1;

/**
 * Opens the configured database, or the bundled one. `label` names it for people.
 *
 * @throws {StartupFailure} if it can't be used.
 */
export async function openConfiguredDatabase(
  config: Config,
  log: Logger,
  use: DatabaseUse = { isOnlyRead: false },
) {
  if (config.databaseUrl === null) {
    const embedded = await startEmbeddedPostgres({
      dataDir: config.dataDir,
      log: (message, level) => log[level]({ part: "postgres" }, message),
    });
    const { close, ...database } = openPools(embedded.connection);
    return {
      ...database,
      label: `bundled PostgreSQL in ${config.dataDir}`,
      close: async () => {
        await close();
        await embedded.stop();
      },
    };
  }
  const address = { url: config.databaseUrl, ca: config.databaseCa };
  const label = `PostgreSQL at ${databasePlace(config.databaseUrl)}`;
  for (const warning of await requireUsableDatabase(address, label, use))
    log.warn({ part: "postgres" }, warning);
  return { ...openPools(address), label };
}

/** Connections by purpose. `requireReadable` and `requireUsable` have their own, so that busy connections do not count as a failure. */
function openPools(address: DatabaseAddress) {
  // Each connection would make a look-up of its own, and keep upstreams from being connected to.
  const lookup = sharedLookup();
  const open = (maxConnections: number) =>
    openDatabase(address, { maxConnections, connectTimeoutS: CONNECT_TIMEOUT_S, lookup });
  /** By the names that metrics have for them. */
  const pools = {
    access: open(CONNECTIONS.access),
    reads: open(CONNECTIONS.reads),
    recording: open(CONNECTIONS.recording),
    responses: open(CONNECTIONS.responses),
  };
  const probe = openDatabase(address, {
    maxConnections: CONNECTIONS.readiness,
    connectTimeoutS: PING_TIMEOUT_MS / 1_000,
    statementTimeoutMs: PING_TIMEOUT_MS,
    lookup,
  });
  return {
    database: pools.access,
    longReads: pools.reads,
    recording: pools.recording,
    responses: pools.responses,
    /** For `/readyz`: a node answers most requests without a write. */
    requireReadable: () => requireReadable(probe),
    requireUsable: async () => {
      await requireReadable(probe);
      await requireWritable(probe);
    },
    /** The use of the connections, by what they are for. */
    poolUses: (): ReadonlyMap<string, PoolUse> =>
      new Map(Object.entries(pools).map(([name, pool]) => [name, pool.poolUse()])),
    close: async () => {
      await Promise.all([...Object.values(pools), probe].map((pool) => pool.end({ timeout: END_TIMEOUT_S })));
    },
  };
}
