/** How often an idle connection is asked by the system whether its other end is still there. */
const KEEP_ALIVE_MS = 10_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** A process that is busy finds answers late: a connection is not given up for less. */
const MIN_SOCKET_TIMEOUT_MS = 2_000;

/**
 * What every connection to Redis has in common: each wait on it has a deadline, and one that has passed closes the
 * connection. `commandTimeout` alone would reject the command and keep a connection of which nothing comes any more.
 */
export function redisOptions({ commandTimeoutMs }: { readonly commandTimeoutMs: number }) {
  return {
    commandTimeout: commandTimeoutMs,
    connectTimeout: commandTimeoutMs,
    // Redis answers in order: where one command is not answered, no later one is.
    socketTimeout: Math.max(commandTimeoutMs, MIN_SOCKET_TIMEOUT_MS),
    keepAlive: KEEP_ALIVE_MS,
    // A command that waits for a lost connection would decide by a store that may have restarted empty.
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, MAX_RECONNECT_DELAY_MS),
  };
}
