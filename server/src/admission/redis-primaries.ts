import type { Redis } from "ioredis";
import type { RedisAddress } from "../config/redis-url.ts";
import type { AccountId } from "../contract/account.ts";
import { AdmissionStoreUnavailable } from "./admission-store.ts";
import { openRedis, type RedisConnectionOptions } from "./redis-options.ts";

/** A Redis server that has the keys of accounts. */
export interface Primary {
  readonly client: Redis;
  /** Appended to the name of a key that this server has, apart from those of accounts. */
  readonly keySuffix: string;
}

/** The connections to the servers that together have the keys of all accounts: one server, or the primaries of a cluster. */
export interface RedisPrimaries {
  /** Whether commands can be sent to every primary. */
  readonly isConnected: boolean;
  connect(): Promise<void>;
  /**
   * Runs a command on the server that has the account's keys. It is sent before this function yields.
   *
   * @param options.mayRepeat whether it may be sent again, later, when the account's keys have moved to another server.
   * @throws {AdmissionStoreUnavailable}
   */
  run<Answer>(
    accountId: AccountId,
    command: (client: Redis) => Promise<Answer>,
    options: { readonly mayRepeat: boolean },
  ): Promise<Answer>;
  /** Every primary. @throws {AdmissionStoreUnavailable} when some accounts have none. */
  all(): readonly Primary[];
  /** Finds out which servers are the primaries. @throws {AdmissionStoreUnavailable} when no server answers. */
  refresh(): Promise<void>;
  /** Closes the connections and opens new ones, which may reach other servers. */
  reconnect(): void;
  close(): void;
}

/** Connections whose listeners are called when one is lost, and when all are there again. */
export class WatchedConnections {
  readonly #invalidated: (() => void)[] = [];
  readonly #restored: (() => void)[] = [];
  #connection = 0;

  /** Changes whenever a connection is lost or replaced, such as when the primaries of a cluster change. */
  get connection(): number {
    return this.#connection;
  }

  onInvalidated(listener: () => void): void {
    this.#invalidated.push(listener);
  }

  onRestored(listener: () => void): void {
    this.#restored.push(listener);
  }

  /** Must be called before a command can reach another server, or the same server on a new connection. */
  lost(): void {
    this.#connection++;
    for (const listener of this.#invalidated) listener();
  }

  /** Listeners send their commands first on the new connection, before it admits any request. */
  restored(): void {
    for (const listener of this.#restored) listener();
  }
}

/** How the server refused the last connection of a client, such as for its password. */
const refusedConnections = new WeakMap<Redis, Error>();

/** Calls `onError` with what goes wrong with a client's connections. */
export function watchConnections(client: Redis, onError: (message: string) => void): void {
  client.on("error", (error: Error) => {
    if (isRefusal(error)) refusedConnections.set(client, error);
    else refusedConnections.delete(client);
    onError(error.message);
  });
  client.on("ready", () => refusedConnections.delete(client));
}

/** Sends a command. @throws {AdmissionStoreUnavailable} when it fails. */
export async function askRedis<Answer>(
  client: Redis,
  command: (client: Redis) => Promise<Answer>,
): Promise<Answer> {
  const isConnected = client.status === "ready";
  sendTogether(client);
  try {
    return await command(client);
  } catch (error) {
    // Of a command without a connection, ioredis does not say why there is none.
    const cause = isConnected ? error : (refusedConnections.get(client) ?? error);
    const isRefused = isRefusal(cause);
    const message = isRefused ? "Redis refused a command" : "Redis did not answer";
    throw new AdmissionStoreUnavailable(message, { mayBeDone: isConnected && !isRefused, isRefused, cause });
  }
}

/**
 * Has the commands of one turn of the event loop sent by one system call. ioredis can collect commands, too, but sends none while earlier
 * ones are unanswered, and what it collects them in outlives several garbage collections.
 */
function sendTogether({ stream }: Redis): void {
  // Without a connection there is no stream.
  if (stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/** True when Redis has answered that it did not execute the command. */
export function isRefusal(cause: unknown): cause is Error {
  return cause instanceof Error && cause.name === "ReplyError";
}

export interface PrimariesParts {
  readonly timeouts: RedisConnectionOptions;
  readonly watched: WatchedConnections;
  readonly onError: (message: string) => void;
}

/** Connects, and fails if the server lacks the configured database: ioredis would use database 0, which may be another service's. */
async function connectToDatabase(client: Redis): Promise<void> {
  await client.connect();
  const { db = 0 } = client.options;
  if (db !== 0) await client.select(db);
}

/** A single server, or the primary that sentinels name. */
export function openSinglePrimary(
  address: Exclude<RedisAddress, { kind: "cluster" }>,
  { timeouts, watched, onError }: PrimariesParts,
): RedisPrimaries {
  const client = openRedis(address, timeouts, { lazyConnect: true });
  watchConnections(client, onError);
  client.on("close", () => watched.lost());
  client.on("ready", () => watched.restored());
  const all: readonly Primary[] = [{ client, keySuffix: "" }];
  return {
    get isConnected() {
      return client.status === "ready";
    },
    connect: () => askRedis(client, connectToDatabase),
    run: (_, command) => askRedis(client, command),
    all: () => all,
    refresh: async () => {},
    reconnect: () => {
      // ioredis ends a client that is disconnected while it asks sentinels. One that connects is new anyway.
      if (client.status !== "connecting") client.disconnect(true);
    },
    close: () => client.disconnect(),
  };
}
