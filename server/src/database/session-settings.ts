/** The name by which the server knows the connections of nodes, unless DATABASE_URL has another. */
const APPLICATION_NAME = "ostiary";

/**
 * The condition that a row of `pg_stat_activity` is of a node of the service: all nodes have the same DATABASE_URL, so their connections have the
 * name of the one that asks.
 */
export const IS_OF_SERVICE =
  "usename = current_user and application_name = current_setting('application_name')";

/** How long a node that is cut off in a transaction keeps its locks. */
const IDLE_IN_TRANSACTION_MS = 5_000;
const KEEP_ALIVE_S = 3;
const KEEP_ALIVES = 3;

/**
 * What the service relies on, whatever the server, the database or its user is set to. The driver reads times and bytes in one form, and the
 * statements are written for the isolation level in which each of them sees what was committed before it.
 */
export const RELIED_ON = {
  DateStyle: "ISO",
  bytea_output: "hex",
  standard_conforming_strings: "on",
  default_transaction_isolation: "read committed",
} as const;

/** The parameters of a session, which a node sets when it connects. */
export function sessionSettings(statementTimeoutMs: number) {
  return {
    application_name: APPLICATION_NAME,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    // A session whose client is gone in the middle of a statement keeps its locks until the server notices it.
    tcp_keepalives_idle: KEEP_ALIVE_S,
    tcp_keepalives_interval: KEEP_ALIVE_S,
    tcp_keepalives_count: KEEP_ALIVES,
    ...RELIED_ON,
  };
}

/** The parameters that PgBouncer passes on to the server. It refuses all others, unless it is told to ignore them. */
const KNOWN_TO_PGBOUNCER: ReadonlySet<string> = new Set([
  "application_name",
  "DateStyle",
  "standard_conforming_strings",
]);

/** The names of the parameters that PgBouncer must be told to ignore. */
export const UNKNOWN_TO_PGBOUNCER: readonly string[] = Object.keys(sessionSettings(0)).filter(
  (name) => !KNOWN_TO_PGBOUNCER.has(name),
);
