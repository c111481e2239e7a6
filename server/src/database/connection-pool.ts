import type { LookupFunction } from "node:net";
import { Unavailable } from "../errors/failure.ts";
import { Connection, type ConnectionHooks, type Driver } from "./connection.ts";

const IDLE_MS = 60_000;
/** Connections of this age are replaced, so that changes of the server's configuration apply to all of them. */
const MAX_AGE_MS = 45 * 60_000;

/** The use of a pool at a moment. */
export interface PoolUse {
  readonly max: number;
  readonly open: number;
  /** Open connections on which something runs. */
  readonly busy: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

interface ConnectionPoolOptions {
  readonly maxConnections: number;
  readonly lookup: LookupFunction | undefined;
  readonly open: (hooks: ConnectionHooks) => Driver;
}

interface Idle {
  readonly connection: Connection;
  /** Closes it after {@link IDLE_MS}. */
  readonly expiry: NodeJS.Timeout;
}

/** Ends the wait of a caller. */
type Waiter = (outcome: Connection | Unavailable) => void;

/**
 * Connections to PostgreSQL. Each is used for one statement or transaction at a time. Callers that find none free wait in order,
 * until their deadline.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #connections = new Set<Connection>();
  /** In the order of their last use. The last is used first, so that the others can expire. */
  #idle: readonly Idle[] = [];
  /** In the order of their arrival. */
  readonly #waiting: Waiter[] = [];
  #closing: Promise<void> | null = null;
  #onEmpty: () => void = () => {};

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  get use(): PoolUse {
    const open = this.#connections.size;
    const { maxConnections: max } = this.#options;
    return { max, open, busy: open - this.#idle.length, waiting: this.#waiting.length };
  }

  /**
   * Resolves with a connection for the caller alone, to be passed to {@link release}.
   *
   * @param deadlineMs by `performance.now()`.
   * @throws {Unavailable} when none is free by then, or the pool is closed.
   */
  acquire(deadlineMs: number): Promise<Connection> {
    if (this.#closing !== null) return Promise.reject(closing());
    const connection = this.#free();
    if (connection !== null) return Promise.resolve(connection);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = (outcome) => {
        clearTimeout(timer);
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        if (outcome instanceof Connection) resolve(outcome);
        else reject(outcome);
      };
      const late = () => waiter(new Unavailable("no connection to PostgreSQL was free in time"));
      const timer = setTimeout(late, Math.max(0, deadlineMs - performance.now()));
      this.#waiting.push(waiter);
    });
  }

  /** Takes back a connection that {@link acquire} has returned, for the next caller. */
  release(connection: Connection): void {
    if (connection.isSilent) {
      // Idle connections have most likely gone silent with it. The next caller should not have to wait to find that out.
      for (const idle of this.#idle) idle.connection.lose(new Unavailable("PostgreSQL has gone silent"));
    }
    if (connection.isLost) return;
    if (this.#closing !== null || performance.now() - connection.openedMs > MAX_AGE_MS) {
      connection.close();
      return;
    }
    const [waiter] = this.#waiting;
    if (waiter !== undefined) waiter(connection);
    else this.#idle = [...this.#idle, { connection, expiry: setTimeout(() => connection.close(), IDLE_MS) }];
  }

  /** Refuses callers from now on. Resolves when all connections are closed; after `timeoutMs` what runs on them is cut off. */
  close(timeoutMs: number): Promise<void> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<void> {
    for (const waiter of [...this.#waiting]) waiter(closing());
    for (const idle of this.#idle) idle.connection.close();
    if (this.#connections.size === 0) return;
    await new Promise<void>((resolve) => {
      const cut = () => {
        for (const connection of this.#connections) connection.lose(closing());
      };
      const timer = setTimeout(cut, timeoutMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #free(): Connection | null {
    const idle = this.#idle.at(-1);
    if (idle !== undefined) {
      this.#leaveIdle(idle.connection);
      return idle.connection;
    }
    if (this.#connections.size >= this.#options.maxConnections) return null;
    const { open, lookup } = this.#options;
    const connection = new Connection(open, (lost) => this.#forget(lost), lookup);
    this.#connections.add(connection);
    return connection;
  }

  #leaveIdle(connection: Connection): void {
    clearTimeout(this.#idle.find((idle) => idle.connection === connection)?.expiry);
    this.#idle = this.#idle.filter((idle) => idle.connection !== connection);
  }

  #forget(connection: Connection): void {
    this.#leaveIdle(connection);
    this.#connections.delete(connection);
    if (this.#connections.size === 0) this.#onEmpty();
    const [waiter] = this.#waiting;
    if (waiter === undefined) return;
    const next = this.#free();
    if (next !== null) waiter(next);
  }
}

function closing(): Unavailable {
  return new Unavailable("the connections to PostgreSQL are being closed");
}
