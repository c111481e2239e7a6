import { isIP, type LookupFunction } from "node:net";
import postgres from "postgres";
import type { Connection, ConnectionHooks, Driver, Statement } from "./connection.ts";
import { ConnectionPool, type PoolUse } from "./connection-pool.ts";
import { IS_OF_SERVICE, sessionSettings } from "./session-settings.ts";

/** What statements are written with, as tagged templates. */
export interface Statements {
  <Rows extends readonly (object | undefined)[] = postgres.Row[]>(
    template: TemplateStringsArray,
    ...parameters: readonly postgres.ParameterOrFragment<bigint>[]
  ): postgres.PendingQuery<Rows>;
  /** The name of a table or column. */
  (name: string): postgres.Helper<string>;
  readonly json: Driver["json"];
  readonly unsafe: Driver["unsafe"];
}

/** Statements of one transaction: all take effect, or none. */
export interface Transaction extends Statements {
  /** Adds rows to `target`, a table and its columns, from lines in the text format of PostgreSQL's `copy`. */
  copy(target: string, lines: string): Promise<void>;
}

/** A part of a statement that was made with a template, to be put into another. */
export type SqlFragment = postgres.PendingQuery<postgres.Row[]>;

/**
 * The database. Each statement has a connection to itself while it runs, and a deadline. A statement without an answer by then
 * fails with `Unavailable`, and its connection is destroyed.
 */
export interface Database extends Statements {
  /** Runs `work` between SQL's `begin <mode>` and `commit`. Each statement has its own deadline. */
  transaction<Result>(mode: string, work: (transaction: Transaction) => Promise<Result>): Promise<Result>;
  /** The same database with another deadline for its statements. The deadline for the wait for a connection stays. */
  withTimeout(statementTimeoutMs: number): Database;
  /** How its connections are used at the moment. */
  poolUse(): PoolUse;
  /** Closes all connections when what runs on them has ended, after `timeout` seconds at the latest. */
  end(options?: { readonly timeout?: number }): Promise<void>;
}

/** Where the database is: a URL, or the socket folder and credentials of the bundled one. */
export type DatabaseAddress =
  | {
      readonly url: string;
      /** Certificates in PEM. If set, connections use TLS and require a certificate for the server's host that one of them has signed. */
      readonly ca?: string | null;
    }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    };

interface DatabaseOptions {
  readonly maxConnections: number;
  readonly connectTimeoutS: number;
  /** {@link STATEMENT_TIMEOUT_MS} by default. */
  readonly statementTimeoutMs?: number;
  /** Looks up the server's host. Default: that of the runtime. */
  readonly lookup?: LookupFunction | undefined;
}

/** For a statement that a request waits for, the wait for a connection included. */
const STATEMENT_TIMEOUT_MS = 5_000;
/** For reads that may go through all of an account's entries. */
export const LONG_READ_TIMEOUT_MS = 30_000;
/** For work that no request waits for. */
export const BACKGROUND_TIMEOUT_MS = 10 * 60_000;

/**
 * The server cancels a statement this long before the client's deadline (or a fifth of the time before), so that only
 * connections without an answer are destroyed. The margin also covers a busy event loop.
 */
const SERVER_FIRST_MS = 1_000;
/** After this time without traffic, and ten unanswered probes a second apart, the peer counts as gone. */
const KEEP_ALIVE_S = 10;
const END_TIMEOUT_S = 5;
const POSTGRES_PORT = 5_432;
/**
 * The part of a statement's time that it may wait for a connection. With the rest a server that works can answer; with less,
 * busy times would cost connections on which nothing is wrong.
 */
const WAIT_SHARE = 0.6;

/** Opens a pool. Nothing is connected until the first statement. */
export function openDatabase(address: DatabaseAddress, options: DatabaseOptions): Database {
  const timeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const settings = {
    connect_timeout: options.connectTimeoutS,
    keep_alive: KEEP_ALIVE_S,
    // The pool does both.
    idle_timeout: 0,
    max_lifetime: null,
    // Arrays are never sent as parameters (batches go as jsonb), so the look-up of their types can be saved.
    fetch_types: false,
    types: { bigint: postgres.BigInt },
    onnotice: () => {},
    connection: sessionSettings(onServer(timeoutMs)),
  };
  const open = (more: { readonly max: number } & Partial<ConnectionHooks>): Driver =>
    "url" in address
      ? postgres(address.url, { ...settings, ...hostOf(address), ...verifiedBy(address), ...more })
      : postgres({ ...address, ...settings, ...more });
  const pool = new ConnectionPool({
    maxConnections: options.maxConnections,
    lookup: options.lookup,
    open: (hooks) => open({ max: 1, ...hooks }),
  });
  // Has no connection: it only makes the statements that the pool's connections run.
  return databaseOn({ pool, maker: open({ max: 0 }), timeoutMs }, timeoutMs);
}

/** A URL with one IPv6 address. */
const IPV6 = /^[^/]*\/\/(?:[^/?#]*@)?\[(?<host>[^\]]+)\](?::(?<port>\d+))?(?:[/?#]|$)/;

/** The driver takes the host and port of an IPv6 address from these settings alone, as arrays: it splits every other host at its colons. */
function hostOf({ url }: { readonly url: string }): { readonly host?: string; readonly port?: number } {
  const { host, port } = IPV6.exec(url)?.groups ?? {};
  if (host === undefined) return {};
  // The driver's types know one host and one port only.
  return { host: [host], port: [Number(port ?? POSTGRES_PORT)] } as unknown as { host: string; port: number };
}

/** TLS that requires a certificate of one of these authorities, for the server's host: PostgreSQL's `verify-full`. */
function verifiedBy({ url, ca = null }: { readonly url: string; readonly ca?: string | null }) {
  if (ca === null) return {};
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  // The driver names the host only if it is no address. Without a name the certificate would have to be for "localhost".
  return { ssl: { ca, ...(isIP(host) === 0 ? {} : { host }) } };
}

interface Parts {
  readonly pool: ConnectionPool;
  readonly maker: Driver;
  /** The statement timeout that the pool's connections are opened with. */
  readonly timeoutMs: number;
}

function databaseOn(parts: Parts, timeoutMs: number): Database {
  const { pool, maker } = parts;
  const isLonger = timeoutMs !== parts.timeoutMs;
  const run = isLonger ? runLonger : runAlone;
  return Object.assign(
    statementsOf(maker, (statement) => void run(parts, statement, timeoutMs)),
    {
      transaction: <Result>(mode: string, work: (transaction: Transaction) => Promise<Result>) =>
        runTransaction(parts, mode, timeoutMs, work),
      withTimeout: (longerMs: number) => databaseOn(parts, longerMs),
      poolUse: () => pool.use,
      end: ({ timeout = END_TIMEOUT_S } = {}) => pool.close(timeout * 1_000),
    },
  );
}

/** Makes the driver's statements, and passes each to `run` when it is first awaited. */
function statementsOf(maker: Driver, run: (statement: Statement) => void): Statements {
  const handed = <Made>(made: Made): Made => {
    // The driver makes names and values, too; only statements are promises.
    if (made instanceof Promise) (made as unknown as Statement).handler = run;
    return made;
  };
  // The driver's overloads, as one signature.
  const make = maker as unknown as (...first: readonly unknown[]) => unknown;
  const statements = (...parameters: readonly unknown[]) => {
    const made = handed(make(...parameters));
    if (made instanceof Promise) noteOrigin(made, parameters[0] as TemplateStringsArray, statements);
    return made;
  };
  return Object.assign(statements, {
    json: maker.json,
    unsafe: ((...parameters: Parameters<Driver["unsafe"]>) =>
      handed(maker.unsafe(...parameters))) as Driver["unsafe"],
  }) as Statements;
}

const ORIGIN_FRAMES = 4;
const origins = new WeakMap<TemplateStringsArray, string>();

/** The driver adds the origin of a statement to its error's stack: where the statement was written, instead of this file. */
function noteOrigin(
  statement: object,
  template: TemplateStringsArray,
  above: (...parameters: never) => unknown,
): void {
  let origin = origins.get(template);
  if (origin === undefined) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = ORIGIN_FRAMES;
    const holder = { stack: "" };
    Error.captureStackTrace(holder, above);
    Error.stackTraceLimit = stackTraceLimit;
    origin = holder.stack;
    origins.set(template, origin);
  }
  Object.defineProperty(statement, "origin", { value: origin });
}

async function runAlone(parts: Parts, statement: Statement, timeoutMs: number): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  await withConnection(parts, (connection) => connection.run(statement, deadlineMs)).catch((error: unknown) =>
    statement.reject(error),
  );
}

/** The server must answer within the usual time before it gets a longer one. */
async function runLonger(parts: Parts, statement: Statement, timeoutMs: number): Promise<void> {
  const { maker } = parts;
  const deadlineMs = performance.now() + parts.timeoutMs;
  await withConnection(parts, async (connection) => {
    const set = `set statement_timeout = ${onServer(timeoutMs)}`;
    await command(maker, connection, set, deadlineMs);
    await connection.run(statement, performance.now() + timeoutMs);
    const reset = command(maker, connection, "reset statement_timeout", performance.now() + parts.timeoutMs);
    // The statement has its result. A connection that keeps the longer time must not be used again.
    await reset.catch((error: unknown) => connection.lose(error));
  }).catch((error: unknown) => statement.reject(error));
}

async function runTransaction<Result>(
  parts: Parts,
  mode: string,
  timeoutMs: number,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const { maker } = parts;
  const isLonger = timeoutMs !== parts.timeoutMs;
  const beginMs = performance.now() + parts.timeoutMs;
  return withConnection(parts, async (connection) => {
    const longer = isLonger ? `; set local statement_timeout = ${onServer(timeoutMs)}` : "";
    await command(maker, connection, `begin ${mode}${longer}`, beginMs);
    const state: TransactionState = { failed: null, isOver: false };
    try {
      const result = await work(statementsIn(state, maker, connection, timeoutMs));
      if (state.failed !== null) throw state.failed.error;
      state.isOver = true;
      const ended = await command(maker, connection, "commit", performance.now() + parts.timeoutMs);
      // The server answers a commit in this way if a statement of the transaction has failed.
      if (ended.command === "ROLLBACK")
        throw new Error("the transaction was rolled back instead of committed");
      return result;
    } catch (error) {
      state.isOver = true;
      // A connection that can't roll back must not be used again.
      await command(maker, connection, "rollback", performance.now() + parts.timeoutMs).catch(
        (lost: unknown) => connection.lose(lost),
      );
      throw firstOf(state, error);
    }
  });
}

interface TransactionState {
  /** The error of the first statement that failed. */
  failed: { readonly error: unknown } | null;
  isOver: boolean;
}

/** A function of its own, so that statements do not refer to what the transaction's caller does: see `empty` in `connection.ts`. */
function statementsIn(
  state: TransactionState,
  maker: Driver,
  connection: Connection,
  timeoutMs: number,
): Transaction {
  const fail = (error: unknown): void => {
    // The server has aborted the transaction then, even if the caller ignores the error.
    state.failed ??= { error };
  };
  const statements = statementsOf(maker, (statement) => {
    if (state.isOver) return statement.reject(tooLate());
    statement.catch(fail);
    void connection.run(statement, performance.now() + timeoutMs);
  });
  const copy = async (target: string, lines: string): Promise<void> => {
    if (state.isOver) throw tooLate();
    const statement = maker.unsafe(`copy ${target} from stdin`) as unknown as Statement;
    const copied = connection.copy(statement, lines, performance.now() + timeoutMs);
    copied.catch(fail);
    await copied;
  };
  return Object.assign(statements, { copy });
}

function tooLate(): Error {
  return new Error("the statement came after the end of its transaction");
}

/** Statements after a failed one fail because of it (25P02): the first failure says why. */
function firstOf({ failed }: TransactionState, error: unknown): unknown {
  return hasCode(error, "25P02") && failed !== null ? failed.error : error;
}

function command(
  maker: Driver,
  connection: Connection,
  text: string,
  deadlineMs: number,
): Promise<{ readonly command: string }> {
  const made = maker.unsafe(text);
  const statement = made as unknown as Statement;
  statement.handler = () => void connection.run(statement, deadlineMs);
  return made;
}

async function withConnection<Result>(
  parts: Parts,
  use: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { pool, timeoutMs } = parts;
  const connection = await pool.acquire(performance.now() + timeoutMs * WAIT_SHARE);
  try {
    return await use(connection);
  } finally {
    pool.release(connection);
    if (connection.silentPid !== null) void terminate(parts, connection.silentPid);
  }
}

/** Ends the server's process for a connection that has gone silent, and so its transaction, if the server can be reached. */
async function terminate({ pool, maker }: Parts, pid: number): Promise<void> {
  const deadlineMs = performance.now() + STATEMENT_TIMEOUT_MS;
  // Only a process of this service that is at work: behind a connection pooler the number may be another one's.
  const text = `
    select pg_terminate_backend(pid) from pg_stat_activity
    where pid = ${pid} and ${IS_OF_SERVICE} and state <> 'idle'`;
  try {
    const connection = await pool.acquire(deadlineMs);
    try {
      await command(maker, connection, text, deadlineMs);
    } finally {
      pool.release(connection);
    }
  } catch {
    // The server does not answer at all, or does not allow this: then its own time-outs and TCP keep-alive have to do.
  }
}

function onServer(timeoutMs: number): number {
  return Math.ceil(timeoutMs - Math.min(SERVER_FIRST_MS, timeoutMs / 5));
}

/** Whether the error says that a row with the same value exists already, by this constraint. */
export function violatesUnique(error: unknown, constraint: string): boolean {
  return hasCode(error, "23505") && error.constraint_name === constraint;
}

/** Whether the error says that a row refers to one that does not exist, or that a deleted row is referred to, by this constraint. */
export function violatesForeignKey(error: unknown, constraint: string): boolean {
  return hasCode(error, "23503") && error.constraint_name === constraint;
}

/** Lets the transaction wait for each lock no longer than this: see {@link isLockTimeout}. */
export async function limitLockWaits(transaction: Transaction, timeoutMs: number): Promise<void> {
  await transaction.unsafe(`set local lock_timeout = ${timeoutMs}`);
}

/** Whether a lock could not be taken in the time that {@link limitLockWaits} sets. */
export function isLockTimeout(error: unknown): boolean {
  return hasCode(error, "55P03");
}

function hasCode(error: unknown, ...codes: readonly string[]): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && codes.includes(error.code);
}

const ATTEMPTS = 3;
/** Serialization failures and deadlocks: the loser of a race, which may simply run again. */
const RETRIED = ["40001", "40P01"];

/** A transaction, run again when it lost a race. `work` must do nothing outside of it. */
export async function inTransaction<Result>(
  database: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction("", work);
    } catch (error) {
      if (!hasCode(error, ...RETRIED) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** A transaction that reads one moment, whatever is changed meanwhile. */
export function atOneMoment<Result>(
  database: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return database.transaction("isolation level repeatable read read only", work);
}

/** The time by the database's clock. */
export async function readDatabaseClock(database: Database): Promise<Date> {
  const [row] = await database<{ now: Date }[]>`select clock_timestamp() as now`;
  if (row === undefined) throw new Error("the database returned no time");
  return row.now;
}
