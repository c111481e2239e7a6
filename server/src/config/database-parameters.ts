/** How a connection may use TLS, as libpq names it. */
const SSL_MODES: ReadonlySet<string> = new Set([
  ...["", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
]);

/** Parameters of libpq and of other clients that PostgreSQL does not know: the driver would send them, and the server refuse them. */
const OF_OTHER_CLIENTS: ReadonlySet<string> = new Set([
  ...["sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "sslcrldir", "sslcertmode", "sslsni"],
  ...["sslcompression", "requiressl", "channel_binding", "require_auth", "requirepeer"],
  ...["gssencmode", "gsslib", "gssdelegation", "krbsrvname", "service", "servicefile"],
  ...["host", "hostaddr", "port", "dbname", "password", "passfile", "load_balance_hosts"],
  ...["keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"],
  ...["fallback_application_name", "replication"],
  ...["schema", "pgbouncer", "connection_limit", "pool_timeout", "socket_timeout", "statement_cache_size"],
  ...["sslaccept", "sslidentity"],
]);

/**
 * Options of the driver, which it would take from the URL, as text, or which the service sets itself, so that they had no effect. `connect_timeout`
 * is not one of them: other programs' URLs often have it.
 */
const OF_THE_DRIVER: ReadonlySet<string> = new Set([
  ...["max", "idle_timeout", "max_lifetime", "keep_alive", "fetch_types"],
  ...["prepare", "max_pipeline", "backoff", "debug", "publications"],
]);

/** What the driver and the statements rely on: a URL may only say the same. */
const RELIED_ON: ReadonlyMap<string, RegExp> = new Map([
  ["datestyle", /^iso\b/i],
  ["bytea_output", /^hex$/i],
  ["standard_conforming_strings", /^on$/i],
  ["default_transaction_isolation", /^read committed$/i],
  ["client_encoding", /^utf-?8$/i],
]);

const TIMES = /^(?:statement|lock|transaction|idle_session|idle_in_transaction_session)_timeout$/;
const TIME = /^\s*(?<count>\d+(?:\.\d+)?)\s*(?<unit>us|ms|s|min|h|d)?\s*$/;
/** PostgreSQL stores times as whole numbers of 32 bits. */
const MAX_TIME = 2_147_483_647;

/**
 * What is wrong with the parameters of a DATABASE_URL that can be parsed; `null`: nothing that can be known without the server. A parameter
 * without a value is not sent. Messages have no values, which may be secret.
 */
export function databaseParameterProblem(parameters: URLSearchParams): string | null {
  if (!parameters.getAll("sslmode").every((mode) => SSL_MODES.has(mode))) {
    return `must have a known value of sslmode: ${[...SSL_MODES].filter((mode) => mode !== "").join(", ")}`;
  }
  for (const [spelled, value] of parameters) {
    const name = spelled.toLowerCase();
    if (value === "") continue;
    if (OF_OTHER_CLIENTS.has(name)) {
      const instead = name === "sslrootcert" ? ", and set DATABASE_CA_FILE instead" : "";
      return `must not have the parameter ${name}: of libpq's parameters the service knows sslmode only. Remove it${instead}`;
    }
    if (OF_THE_DRIVER.has(name)) {
      return `must not have the parameter ${name}: the service decides how it connects. Remove it`;
    }
    if (RELIED_ON.get(name)?.test(value) === false) {
      return `must not have this value of ${name}: the service relies on another one. Remove the parameter`;
    }
    if (TIMES.test(name) && !isTime(value)) {
      return `must have a time as ${name}, such as 5000 (milliseconds) or 5s`;
    }
  }
  return null;
}

/** Whether a DATABASE_URL asks for a connection without TLS. */
export function disablesTls(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { searchParams } = new URL(url);
  // The driver uses the last one.
  const last = (name: string) => searchParams.getAll(name).at(-1);
  return ["disable", "false"].includes(last("sslmode") || last("ssl") || "");
}

function isTime(value: string): boolean {
  const { count, unit } = TIME.exec(value)?.groups ?? {};
  return count !== undefined && (unit !== undefined || Number(count) <= MAX_TIME);
}
