import type { LookupFunction } from "node:net";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { parseRedisUrl, type RedisAddress, type RedisHost } from "../config/redis-url.ts";
import { sharedLookup } from "../networks/shared-lookup.ts";
import { lookingUpBy, primaryLookedUpBy, sentinelsLookingUpBy } from "./redis-connectors.ts";
import { closeSilentConnections } from "./redis-silence.ts";

/**
 * Looks up the hosts of Redis for all connections of the process. Each connection gives up after its timeout and tries again, while its look-up goes on:
 * if the name server does not answer, look-ups of their own would keep upstreams from being connected to.
 */
const redisLookup = sharedLookup();

/** How long a connection is idle before TCP probes it. Ten unanswered probes, a second apart, close it. */
const KEEP_ALIVE_MS = 10_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** A busy process reads answers late, so a shorter timeout would close healthy connections. */
const MIN_SILENCE_MS = 2_000;

export interface RedisConnectionOptions {
  /** A command that takes longer fails, and its connection is closed. */
  readonly commandTimeoutMs: number;
  /** The certificates (PEM) that may have signed the server's; `null`: those that the runtime contains. */
  readonly ca?: string | null;
  /** Looks up the hosts. Default: by the system, one look-up at a time for each host. */
  readonly lookup?: LookupFunction;
}

/** Options that some connections have, beside {@link redisOptions}. */
type MoreOptions = Pick<RedisOptions, "lazyConnect"> & {
  /** `null`: the connection is not made again. */
  readonly retryStrategy?: null;
};

/** Differs by up to a quarter, so that the nodes that have lost a server do not all come back to it at the same moment. */
const reconnectDelayMs = (attempt: number) =>
  Math.round(Math.min(50 * attempt, MAX_RECONNECT_DELAY_MS) * (1 - Math.random() / 4));

/**
 * How long a connection may owe an answer before it is closed. `commandTimeout` alone would reject the command and keep a connection that no longer
 * answers. Redis answers in order, so no later command is answered before the first one.
 */
function maxSilenceMs({ commandTimeoutMs }: RedisConnectionOptions): number {
  return Math.max(commandTimeoutMs, MIN_SILENCE_MS);
}

/** The options of every connection to Redis. */
function redisOptions({ commandTimeoutMs, lookup = redisLookup }: RedisConnectionOptions) {
  return {
    Connector: lookingUpBy(lookup),
    commandTimeout: commandTimeoutMs,
    connectTimeout: commandTimeoutMs,
    keepAlive: KEEP_ALIVE_MS,
    // A command that waits for a new connection would use a store that may have restarted empty.
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: reconnectDelayMs,
  };
}

/** Opens a connection to the server, or to the primary that the sentinels name. It asks them again each time it connects. */
export function openRedis(
  address: Exclude<RedisAddress, { kind: "cluster" }>,
  connection: RedisConnectionOptions,
  more: MoreOptions = {},
): Redis {
  const tls = tlsOf(connection);
  if (address.kind === "server") {
    const options = { ...redisOptions(connection), ...more };
    const client = new Redis(address.url, connection.ca == null ? options : { ...options, tls });
    return closeSilentConnections(client, maxSilenceMs(connection));
  }
  const { hosts, name, database, isTls, sentinelUser } = address;
  const { lookup = redisLookup } = connection;
  const client = new Redis({
    ...securedOptions(connection, isTls, address),
    Connector: sentinelsLookingUpBy(lookup),
    natMap: primaryLookedUpBy(lookup),
    ...more,
    sentinels: [...hosts],
    name,
    db: database,
    ...(isTls ? { sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
    ...(sentinelUser.username === null ? {} : { sentinelUsername: sentinelUser.username }),
    ...(sentinelUser.password === null ? {} : { sentinelPassword: sentinelUser.password }),
    sentinelCommandTimeout: connection.commandTimeoutMs,
    sentinelRetryStrategy: reconnectDelayMs,
  });
  return closeSilentConnections(client, maxSilenceMs(connection));
}

/**
 * Why the sentinels can't be reached; `null` when one can, or REDIS_URL names none. A connection to their primary reports only that none has
 * answered.
 */
export async function sentinelProblem(
  url: string,
  connection: RedisConnectionOptions,
): Promise<string | null> {
  const address = parseRedisUrl(url);
  if (address.kind !== "sentinel") return null;
  const options = securedOptions(connection, address.isTls, address.sentinelUser);
  let problem: string | null = null;
  for (const host of address.hosts) {
    const client = new Redis({ ...options, ...host, lazyConnect: true, retryStrategy: null });
    client.on("error", (error) => {
      problem = `The sentinels are unreachable. ${host.host}:${host.port}: ${error.message}`;
    });
    try {
      await client.connect();
      return null;
    } catch {
      // The listener has the reason.
    } finally {
      client.disconnect();
    }
  }
  return problem;
}

/** Opens a connection to one server of a cluster. */
export function openClusterServer(
  address: Extract<RedisAddress, { kind: "cluster" }>,
  { host, port }: RedisHost,
  connection: RedisConnectionOptions,
  more: MoreOptions,
): Redis {
  const client = new Redis({ ...securedOptions(connection, address.isTls, address), ...more, host, port });
  return closeSilentConnections(client, maxSilenceMs(connection));
}

/** Opens connections for commands with one key, which may follow redirections to servers that no node has identified. */
export function openAnyRedis(url: string, connection: RedisConnectionOptions): Redis | Cluster {
  const address = parseRedisUrl(url);
  if (address.kind !== "cluster") return openRedis(address, connection);
  const { lookup = redisLookup } = connection;
  return new Cluster([...address.hosts], {
    dnsLookup: (host, callback) =>
      lookup(host, {}, (error, found, family) => callback(error, String(found), family)),
    enableOfflineQueue: false,
    slotsRefreshTimeout: connection.commandTimeoutMs,
    clusterRetryStrategy: reconnectDelayMs,
    redisOptions: {
      ...securedOptions(connection, address.isTls, address),
      // These connections are opened by ioredis.
      socketTimeout: maxSilenceMs(connection),
    },
  });
}

function tlsOf({ ca = null }: RedisConnectionOptions) {
  return ca === null ? {} : { ca };
}

/** {@link redisOptions} with a user and TLS. */
function securedOptions(
  connection: RedisConnectionOptions,
  isTls: boolean,
  { username, password }: { readonly username: string | null; readonly password: string | null },
) {
  return {
    ...redisOptions(connection),
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(isTls ? { tls: tlsOf(connection) } : {}),
  };
}
