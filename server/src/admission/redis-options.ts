/** The interval of TCP keep-alive probes on an idle connection. */
const KEEP_ALIVE_MS = 10_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** A busy process reads answers late, so a shorter timeout would close healthy connections. */
const MIN_SOCKET_TIMEOUT_MS = 2_000;

export interface RedisConnectionOptions {
  /** A command that takes longer fails, and its connection is closed. */
  readonly commandTimeoutMs: number;
  /** Certificates in PEM, of which one must have signed the server's; `null`: the system's. */
  readonly ca?: string | null;
}

/**
 * The options of every connection to Redis. Each command has a deadline, after which the connection is closed. `commandTimeout`
 * alone would reject the command and keep a connection that no longer answers.
 */
export function redisOptions({ commandTimeoutMs, ca = null }: RedisConnectionOptions) {
  return {
    ...(ca === null ? {} : { tls: { ca } }),
    commandTimeout: commandTimeoutMs,
    connectTimeout: commandTimeoutMs,
    // Redis answers in order, so no later command is answered before the first one.
    socketTimeout: Math.max(commandTimeoutMs, MIN_SOCKET_TIMEOUT_MS),
    keepAlive: KEEP_ALIVE_MS,
    // A command that waits for a new connection would use a store that may have restarted empty.
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt: number) => Math.min(50 * attempt, MAX_RECONNECT_DELAY_MS),
  };
}
