import type { Logger } from "pino";
import { type AttemptCounters, memoryCounters } from "../accounts/attempt-counters.ts";
import { MemoryAdmissionStore } from "../admission/memory-store.ts";
import type { RedisAdmissionStore } from "../admission/redis-store.ts";
import type { Config } from "../config/config.ts";
import { redisPlace } from "../config/store-places.ts";
import { atMostOnceIn } from "./repeated-messages.ts";
import { StartupFailure } from "./startup-failure.ts";

const REDIS_COMMAND_TIMEOUT_MS = 2_000;
/** A sign-in updates several counters in turn, and can do without the shared ones. */
const ATTEMPTS_TIMEOUT_MS = 300;
const REPEATED_ERROR_MS = 60_000;

/**
 * Opens the configured admission store. Without REDIS_URL it is in the memory of the process, and the Redis client is not loaded.
 *
 * @throws {StartupFailure} if Redis can't be reached.
 */
export async function openAdmissionStore(config: Config, log: Logger, logRedisError: LogRedisError) {
  if (config.redisUrl === null) return { store: new MemoryAdmissionStore(), redis: null, redisMemory: null };
  const { RedisAdmissionStore } = await import("../admission/redis-store.ts");
  const connection = { commandTimeoutMs: REDIS_COMMAND_TIMEOUT_MS, ca: config.redisCa };
  let lastError: string | null = null;
  const store = new RedisAdmissionStore({
    ...connection,
    url: config.redisUrl,
    prefix: config.redisPrefix,
    onError: (message) => {
      lastError = message;
      logRedisError(message);
    },
  });
  const redisMemory = watchRedisMemory(store, log);
  try {
    await store.connect();
    await store.ping().catch(ignoreStateOfServer);
    await redisMemory.check();
  } catch (error) {
    await store.close();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "no answer";
    // The client reports why a connection failed to `onError`. The command's own error only says that the connection was closed.
    const { sentinelProblem } = await import("../admission/redis-options.ts");
    const problem = (await sentinelProblem(config.redisUrl, connection)) ?? lastError ?? cause;
    // Some messages of the client end with a full stop, and others do not.
    const reason = problem.replace(/\.$/, "");
    const { sufficientRule } = await import("../admission/redis-permissions.ts");
    const hint = reason.includes("NOPERM")
      ? `. Allow the user of REDIS_URL ${sufficientRule(config.redisPrefix)}, and on a cluster also +cluster`
      : connectionHint(config.redisUrl, reason);
    const place = redisPlace(config.redisUrl);
    throw new StartupFailure(`Cannot use the Redis of REDIS_URL (${place}): ${reason}${hint}`);
  }
  return { store, redis: store, redisMemory };
}

/** How Redis refuses to write in a state that may end by itself: as a replica, with too few replicas, and when it can't save. */
const REFUSED_IN_STATE = /^(?:READONLY|NOREPLICAS|MISCONF)\b/;

/** A node may start with such a Redis. It waits to join the others where it has to, and is not ready before Redis writes. */
function ignoreStateOfServer(thrown: unknown): void {
  const cause = thrown instanceof Error ? thrown.cause : null;
  if (!(cause instanceof Error) || !REFUSED_IN_STATE.test(cause.message)) throw thrown;
}

/** What to do about what Redis says, or why it can't be connected to. */
const REDIS_HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH/,
    "Start Redis, or correct the host and the port of REDIS_URL",
  ],
  // Scripts with flags are of Redis 7.
  [/compiling script/, "The server is older than Redis 7. Use Redis 7 or newer, or Valkey 8 or newer"],
  [/\b(?:WRONGPASS|NOAUTH)\b/, "Correct the user and the password of REDIS_URL"],
  [/DB index is out of range/, "Correct the number of the database at the end of REDIS_URL"],
  [/max number of clients/, "Raise maxclients of Redis, or close other connections"],
  [
    /certificate|self.signed|altnames/i,
    "Set REDIS_CA_FILE to the authority that has signed the server's certificate, which must be for the host of the URL",
  ],
];

/** What to do if Redis can't be used. If only one side speaks TLS, a server with TLS closes the connection, and one without it waits for more. */
function connectionHint(redisUrl: string, reason: string): string {
  const hint = REDIS_HINTS.find(([pattern]) => pattern.test(reason))?.[1];
  if (hint !== undefined) return `. ${hint}`;
  const isTls = redisUrl.startsWith("rediss");
  if (!isTls && /ECONNRESET|EPIPE|closed/i.test(reason)) {
    return ". If the server speaks TLS, begin the URL with rediss instead of redis";
  }
  if (isTls && /ETIMEDOUT|EPROTO|wrong version number|ECONNRESET|closed/i.test(reason)) {
    return ". If the server does not speak TLS, begin the URL with redis instead of rediss";
  }
  return "";
}

/**
 * Logs an error when Redis may evict keys. An evicted key lifts a limit, because the counts of its account begin again at zero. Nothing else is harmed:
 * the store may lose everything at any time. So the service starts nevertheless. Often only the provider of the Redis can change the setting, and
 * a refusal would turn an inexact limit into an outage.
 */
function watchRedisMemory(redis: RedisAdmissionStore, log: Logger) {
  let mayEvict: boolean | null = null;
  return {
    /** Whether Redis may drop counts of limits before their time; `null` when it does not say. */
    mayEvict: () => mayEvict,
    /** Asks Redis again. Call it regularly, because the setting can be changed at run time. */
    check: async () => {
      const memory = await redis.memory();
      if (memory?.mayEvict === true && mayEvict !== true) {
        log.error(
          { part: "redis", policy: memory.policy },
          `Redis may evict keys (maxmemory is set and maxmemory-policy is ${memory.policy}), which would lift rate limits. Set maxmemory-policy to noeviction.`,
        );
      } else if (mayEvict === true && memory?.mayEvict === false) {
        log.info({ part: "redis" }, "Redis no longer evicts keys");
      }
      mayEvict = memory?.mayEvict ?? null;
    },
  };
}

/** Opens the counters of sign-in attempts, which all nodes share if they use Redis. */
export async function openAttemptCounters(
  config: Config,
  logRedisError: LogRedisError,
): Promise<AttemptCounters> {
  if (config.redisUrl === null) return memoryCounters();
  const { redisCounters } = await import("../accounts/redis-attempt-counters.ts");
  return redisCounters({
    url: config.redisUrl,
    ca: config.redisCa,
    prefix: config.redisPrefix,
    commandTimeoutMs: ATTEMPTS_TIMEOUT_MS,
    onError: logRedisError,
  });
}

/** Logs an error of a connection to Redis. */
type LogRedisError = (message: string) => void;

/** Returns a function that logs errors of Redis, the same error once a minute at most: each attempt of each connection fails with it. */
export function redisErrorLog(log: Logger, monotonicMs: () => number): LogRedisError {
  return atMostOnceIn(REPEATED_ERROR_MS, monotonicMs, (message) => log.warn({ part: "redis" }, message));
}
