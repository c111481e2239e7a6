import { randomUUID } from "node:crypto";
import { type Database, type DatabaseAddress, openDatabase } from "../database/database.ts";
import { RELIED_ON, UNKNOWN_TO_PGBOUNCER } from "../database/session-settings.ts";
import { requireWritable } from "../database/writable.ts";
import { StartupFailure } from "./startup-failure.ts";

/** A hosted database may have to start at the first connection. */
const FIRST_CONNECT_TIMEOUT_S = 10;
/** jsonb_to_recordset and partitions with unique indexes are older; 15 is the oldest that is tested. */
const OLDEST_POSTGRES = 15;
/** A pooler that chooses sessions at random may choose the same one again. */
const SESSION_CHECKS = 3;

export interface DatabaseUse {
  /** Whether a command only reads the database, so that a replica serves, too. */
  readonly isOnlyRead: boolean;
}

/**
 * Checks that the database of DATABASE_URL can be used: that it answers, that it is new enough, that each connection keeps its session, and,
 * unless it is only read, that it accepts writes and every character.
 *
 * @param label names the database for people.
 * @returns what the operator should be warned of.
 * @throws {StartupFailure}
 */
export async function requireUsableDatabase(
  address: DatabaseAddress,
  label: string,
  { isOnlyRead }: DatabaseUse,
): Promise<readonly string[]> {
  const [one, other] = [openOne(address), openOne(address)];
  try {
    await requireVersion(one);
    await requireOwnSessions(one, other);
    await requireReliedOn(one);
    await requireSchema(one);
    if (isOnlyRead) return [];
    await requireWritable(one);
    await requireUnicode(one);
    return await warningsOf(one);
  } catch (error) {
    if (error instanceof StartupFailure) throw error;
    const reason =
      error instanceof Error ? error.message || ("code" in error ? String(error.code) : error.name) : "";
    throw new StartupFailure(
      `Cannot use the database of DATABASE_URL (${label}): ${reason}${hintOn(reason)}`,
    );
  } finally {
    await Promise.all([one.end(), other.end()]);
  }
}

function openOne(address: DatabaseAddress): Database {
  return openDatabase(address, {
    maxConnections: 1,
    connectTimeoutS: FIRST_CONNECT_TIMEOUT_S,
    statementTimeoutMs: FIRST_CONNECT_TIMEOUT_S * 1_000,
  });
}

async function requireVersion(database: Database): Promise<void> {
  const [row] = await database<{ version: string }[]>`
    select current_setting('server_version_num') as version`;
  const major = Math.floor(Number(row?.version ?? 0) / 10_000);
  if (major < OLDEST_POSTGRES) {
    throw new StartupFailure(`DATABASE_URL is PostgreSQL ${major}. Use version ${OLDEST_POSTGRES} or newer.`);
  }
}

/** Encodings that have every character. SQL_ASCII, which `initdb` chooses without a locale, stores bytes as they are sent. */
const UNICODE_ENCODINGS: ReadonlySet<string> = new Set(["UTF8", "SQL_ASCII"]);

/** With another encoding the database refuses what clients send in other scripts, and entries with such text are not recorded. */
async function requireUnicode(database: Database): Promise<void> {
  const [row] = await database<{ encoding: string }[]>`
    select current_setting('server_encoding') as encoding`;
  const encoding = row?.encoding ?? "";
  if (UNICODE_ENCODINGS.has(encoding)) return;
  throw new StartupFailure(
    `The database of DATABASE_URL has the encoding ${encoding}, which does not have every character. Create one with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
  );
}

/**
 * Checks that each connection keeps its session, by a setting of one session. A pooler that lends sessions for single transactions gives that session
 * to the other connection, or another session to the first one. The statements are not prepared, because such a pooler may not keep prepared
 * statements either.
 */
async function requireOwnSessions(one: Database, other: Database): Promise<void> {
  const mark = randomUUID();
  const markOf = async (database: Pick<Database, "unsafe">) => {
    const [row] = await database.unsafe("select current_setting('ostiary.session', true) as mark");
    return row?.mark;
  };
  for (let check = 0; check < SESSION_CHECKS; check++) {
    await one.unsafe(`select set_config('ostiary.session', '${mark}', false)`);
    // While the other one holds a session, the first one can't have it.
    const isKept = await other.transaction(
      "",
      async (transaction) => (await markOf(transaction)) !== mark && (await markOf(one)) === mark,
    );
    if (isKept) continue;
    throw new StartupFailure(
      "DATABASE_URL leads to a connection pooler in transaction mode, in which connections lose the settings and prepared statements of their sessions. Use pool_mode = session for the service's database (PgBouncer), or connect to PostgreSQL itself.",
    );
  }
}

/** Checks that sessions have the settings that a node asks for when it connects: a pooler may be told to ignore them. */
async function requireReliedOn(database: Database): Promise<void> {
  for (const [name, expected] of Object.entries(RELIED_ON)) {
    const [row] = await database<{ value: string }[]>`select current_setting(${name}) as value`;
    // DateStyle also has the order of day and month, as in `ISO, DMY`: nothing that the service sends depends on it.
    if (row?.value.split(",")[0] === expected) continue;
    throw new StartupFailure(
      `The sessions of DATABASE_URL do not have the setting ${name} = ${expected}, on which the service relies: a connection pooler ignores what nodes ask for. Set it with: ALTER DATABASE … SET ${name} = '${expected}'. Then restart the pooler, so that it opens new sessions.`,
    );
  }
}

/** The tables are in the first schema of the search path that exists and that the user may use. */
async function requireSchema(database: Database): Promise<void> {
  const [row] = await database<{ schema: string | null }[]>`select current_schema() as schema`;
  if (row?.schema !== null) return;
  throw new StartupFailure(
    "The user of DATABASE_URL may use no schema of its search_path. Correct search_path in the URL or of the user or the database, create the schema, or grant USAGE and CREATE on it.",
  );
}

/** Warns if the server confirms transactions that are not on its disk yet. */
async function warningsOf(database: Database): Promise<readonly string[]> {
  const [row] = await database<{ value: string }[]>`select current_setting('synchronous_commit') as value`;
  if (row?.value !== "off") return [];
  return [
    "synchronous_commit of PostgreSQL is off: a crash of PostgreSQL can undo what the service has confirmed, such as revocations, charges and " +
      "entries of the audit log. Turn it on for the server, the database and its user.",
  ];
}

/** What to do about the most frequent reasons for which a database can't be used. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /unsupported startup parameter/,
    `If this is PgBouncer, set ignore_startup_parameters to ${UNKNOWN_TO_PGBOUNCER.join(",")}`,
  ],
  [/^database ".*" does not exist$/, "Create it with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"],
  [
    /^role ".*" does not exist$|^password authentication failed/,
    "Correct the user and the password of DATABASE_URL",
  ],
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|CONNECT_TIMEOUT/,
    "Start PostgreSQL, or correct the host and the port of DATABASE_URL",
  ],
  [/is a replica/, "Lead DATABASE_URL to the primary, or promote this server"],
  [
    /default_transaction_read_only/,
    "Turn it off for the server, the database and its user. Some providers turn it on while the disk is full",
  ],
  [/no encryption$/, "If the server requires TLS, set DATABASE_CA_FILE, or append ?sslmode=verify-full"],
  [/no pg_hba\.conf entry/, "Allow this user, database and host in the server's pg_hba.conf"],
  [
    /^sorry, too many clients|^too many connections|^remaining connection slots/,
    "A node uses up to 16 connections. Raise the limit (max_connections, or CONNECTION LIMIT of the database or its user), or close other connections",
  ],
  [/^permission denied for database/, "Allow it with: GRANT CONNECT ON DATABASE … TO …"],
  [
    /before secure TLS connection was established/,
    "If the server does not speak TLS, set ssl = on in PostgreSQL, or remove DATABASE_CA_FILE and sslmode",
  ],
  [
    /CONNECTION_CLOSED/,
    "The server's log says why it closed the connection. If this is PgBouncer, use pool_mode = session for the service's database",
  ],
  [
    /certificate|self.signed/i,
    "Set DATABASE_CA_FILE to the authority that has signed the server's certificate, which must be for the host of the URL",
  ],
  [
    /unrecognized configuration parameter/,
    "Remove the parameter from the URL: of libpq's parameters the service knows sslmode only",
  ],
];

function hintOn(reason: string): string {
  const hint = HINTS.find(([pattern]) => pattern.test(reason))?.[1];
  return hint === undefined ? "" : `. ${hint}`;
}
