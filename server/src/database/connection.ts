import { type LookupFunction, Socket } from "node:net";
import type { Writable } from "node:stream";
import postgres from "postgres";
import { Unavailable } from "../errors/failure.ts";
import { refusesWrites } from "./writable.ts";

/** The driver, as one of its instances. */
export type Driver = postgres.Sql<{ bigint: bigint }>;

/**
 * A statement as the driver makes it of a tagged template (porsager/postgres 3.4.9, `src/query.js`). When it is first awaited
 * it passes itself to its handler.
 */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void;
  /** The stack at which it was written, after a line to be ignored. */
  readonly origin: string;
  /** The connection that it was sent on; `pid` is the server's process for it. */
  readonly state?: { readonly pid: number | null } | null;
  /** Its parameters, as they were written and as they are sent. */
  args: readonly unknown[];
  parameters?: readonly unknown[] | undefined;
  /** The error after which the driver sends the statement once more. */
  retried?: unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** What a connection adds to the driver's settings. */
export interface ConnectionHooks {
  readonly socket: (options: postgres.ParsedOptions) => Socket;
  readonly onclose: () => void;
}

/**
 * One connection to PostgreSQL: an instance of the driver that connects once, at its first statement.
 *
 * The driver has no deadline for an answer, and what it does with a connection that has broken can't be relied on: it
 * writes to a socket that is gone, which ends the process (porsager/postgres issue 1208), or connects again in the middle
 * of a transaction. So the socket belongs to this class, which destroys it at a statement's deadline, and an instance
 * whose connection is lost is never used again.
 */
export class Connection {
  readonly openedMs = performance.now();
  readonly #driver: Driver;
  readonly #send: (statement: Statement) => void;
  /** The statements that run, which are few. A `Set` would keep deleted ones until a major collection: see `InFlight`. */
  readonly #running: Statement[] = [];
  readonly #onLost: (connection: Connection) => void;
  readonly #lookup: LookupFunction | undefined;
  #socket: Socket | null = null;
  /** Why the last socket failed. */
  #socketError: Error | null = null;
  #attempts = 0;
  #isLost = false;
  #isSilent = false;
  #silentPid: number | null = null;

  /** `onLost` is called once, when the connection becomes unusable. */
  constructor(
    open: (hooks: ConnectionHooks) => Driver,
    onLost: (connection: Connection) => void,
    lookup?: LookupFunction,
  ) {
    this.#onLost = onLost;
    this.#lookup = lookup;
    this.#driver = open({
      socket: (options) => this.#openSocket(options),
      onclose: () => this.lose(closed()),
    });
    // Each statement of the driver has the function that sends it. This statement only provides that function: it is never awaited, and so never
    // sent.
    this.#send = (this.#driver`` as unknown as Statement).handler;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Whether it was lost because the server did not answer in time. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /**
   * The server's process for a connection that was lost because the server did not answer in time; `null` if there was none.
   * That process may wait for the client for as long as it does not learn that the client is gone, and keep the locks of its
   * transaction: while it waits for a statement's parameters, or for lines to copy, neither `statement_timeout` nor
   * `idle_in_transaction_session_timeout` applies (PostgreSQL 15 to 18).
   */
  get silentPid(): number | null {
    return this.#silentPid;
  }

  /**
   * Makes the server run a statement. Resolves when the statement has ended, whether it failed or not. At the deadline, by `performance.now()`, it
   * fails with {@link Unavailable} and the connection is lost.
   */
  async run(statement: Statement, deadlineMs: number): Promise<void> {
    await this.#runUntil(deadlineMs, statement, () => statement).catch((error: unknown) =>
      statement.reject(error),
    );
  }

  /**
   * Makes the server run a `copy … from stdin` with these lines, in PostgreSQL's text format.
   *
   * @throws what a statement of {@link run} fails with.
   */
  copy(statement: Statement, lines: string, deadlineMs: number): Promise<void> {
    // It is sent here, not when it is awaited.
    statement.handler = NOTHING;
    // The driver resolves the statement twice: with a sink for the lines, and when the server has all of them. It rejects it if the server
    // refuses them. This is listened to before anything is sent, because the server may say all of it at once.
    const copied = new Promise<void>((resolve, reject) => {
      statement.reject = reject;
      statement.resolve = (sink: Writable) => {
        statement.resolve = () => resolve();
        // The driver would tell the server that the copy has failed, after each one, whatever its outcome.
        sink._destroy = (error, done) => done(error);
        sink.once("error", reject);
        sink.end(lines);
      };
    });
    return this.#runUntil(deadlineMs, statement, () => copied);
  }

  async #runUntil(deadlineMs: number, statement: Statement, outcome: () => Promise<unknown>): Promise<void> {
    if (this.#isLost) throw closed();
    // An answer that has arrived while the process stood still is read first.
    const overdue = () => setImmediate(() => this.#loseSilent(statement));
    const timer = setTimeout(overdue, Math.max(0, deadlineMs - performance.now()));
    this.#running.push(statement);
    void Object.defineProperty(statement, "retried", RETRIED);
    this.#send(statement);
    try {
      await outcome();
    } catch (error) {
      if (isEndOfConnection(error)) this.lose(error);
      throw error;
    } finally {
      clearTimeout(timer);
      this.#running.splice(this.#running.indexOf(statement), 1);
      empty(statement);
    }
  }

  /** Ends the connection at once: what runs on it fails with `error`. */
  lose(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const statement of this.#running) statement.reject(error);
    this.#socket?.destroy();
    this.#onLost(this);
  }

  /** Closes a connection on which nothing runs, and lets the server know. */
  close(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const destroy = () => this.#socket?.destroy();
    this.#driver.end({ timeout: 1 }).then(destroy, destroy);
    this.#onLost(this);
  }

  #loseSilent(statement: Statement): void {
    if (!this.#running.includes(statement)) return;
    const { origin, state } = statement;
    this.#isSilent = true;
    this.#silentPid = state?.pid ?? null;
    const error = new Unavailable("PostgreSQL did not answer in time");
    error.stack = `${error.stack}${origin.replace(/.*\n/, "\n")}`;
    this.lose(error);
  }

  /** The driver asks for a socket for each configured host until one answers. Later it would reconnect, which is refused. */
  #openSocket({ host, port, path }: postgres.ParsedOptions): Socket {
    const attempt = this.#attempts++;
    if (this.#isLost || attempt >= host.length) {
      const error = this.#socketError ?? closed();
      this.lose(error);
      throw error;
    }
    const socket = new Socket();
    // Where the system refuses to connect at once, for lack of descriptors or of a route, the socket fails before the driver listens to it.
    // Without a listener that would end the process. The driver learns of it when the socket closes.
    socket.on("error", (error) => {
      this.#socketError = error;
    });
    // The driver sends the lines of a copy and their end separately. The end would wait for the acknowledgement of the lines: 40 ms.
    socket.setNoDelay(true);
    this.#socket = socket;
    if (path) return socket.connect(path);
    const address = { host: host[attempt] ?? "", port: port[attempt % port.length] ?? 0 };
    // The driver reads both from its socket: for its messages, and the host's name to check the certificate.
    return Object.assign(socket.connect({ ...address, lookup: this.#lookup }), address);
  }
}

const NOTHING = () => {};

const errorsBeforeRetry = new WeakMap<Statement, unknown>();

/**
 * The driver sends a prepared statement once more if its session does not have it, as behind a pooler of transactions, or if a migration
 * has changed its result. It would serialize parameters a second time that are serialized already, which makes other values of those
 * that are bytes or JSON: a key would not be found. Without them, it takes them from `args` again.
 */
const RETRIED: PropertyDescriptor & ThisType<Statement> = {
  get() {
    return errorsBeforeRetry.get(this);
  },
  set(error: unknown) {
    errorsBeforeRetry.set(this, error);
    this.parameters = undefined;
  },
};

/**
 * Frees what a statement that has ended refers to. V8 creates a function that is assigned to a property in the old generation, so
 * that minor collections keep everything it refers to. The driver's statements have two of those, and with them a whole batch of
 * entries would stay until the next major collection.
 */
function empty(statement: Statement): void {
  statement.handler = NOTHING;
  statement.args = [];
  statement.parameters = [];
}

function closed(): Unavailable {
  return new Unavailable("the connection to PostgreSQL was closed");
}

/**
 * Whether the connection must not be used again: the server closes it after the error, the error is not the server's, or a new
 * connection may find what this session lacks, as a session keeps the setting that makes it read-only.
 */
function isEndOfConnection(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return true;
  return ["FATAL", "PANIC"].includes(error.severity) || refusesWrites(error);
}
