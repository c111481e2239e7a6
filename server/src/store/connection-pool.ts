import { Unavailable } from "../errors/failure.ts";
import { Connection, type ConnectionHooks, type Driver } from "./connection.ts";

const IDLE_MS = 60_000;
/** Connections are replaced after a while, so that none is older than changes of the server's configuration for long. */
const MAX_AGE_MS = 45 * 60_000;

export interface ConnectionPoolOptions {
  readonly maxConnections: number;
  readonly open: (hooks: ConnectionHooks) => Driver;
}

interface Waiter {
  readonly grant: (connection: Connection) => void;
  readonly refuse: (error: Unavailable) => void;
}

/**
 * Connections to PostgreSQL, of which each is used for one thing at a time: a statement or a transaction. Who finds none
 * free waits for one, in order, and no longer than until their deadline.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  readonly #connections = new Set<Connection>();
  /** The one that was used last comes last, and is used first: the others become idle. */
  readonly #idle = new Map<Connection, NodeJS.Timeout>();
  readonly #waiting = new Set<Waiter>();
  #closing: Promise<void> | null = null;
  #onEmpty: () => void = () => {};

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /**
   * A connection for the caller alone, to be given to {@link release}.
   *
   * @param deadlineMs by `performance.now()`.
   * @throws {Unavailable} when none is free by then, or the pool is closed.
   */
  acquire(deadlineMs: number): Promise<Connection> {
    if (this.#closing !== null) return Promise.reject(closing());
    const connection = this.#free();
    if (connection !== null) return Promise.resolve(connection);
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        grant: (granted) => {
          leave();
          resolve(granted);
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      const late = () => waiter.refuse(new Unavailable("no connection to PostgreSQL was free in time"));
      const timer = setTimeout(late, Math.max(0, deadlineMs - performance.now()));
      this.#waiting.add(waiter);
    });
  }

  release(connection: Connection): void {
    if (connection.isSilent) {
      // Those that nobody uses have most likely gone silent with it: whoever comes next should not have to find that out.
      for (const idle of [...this.#idle.keys()]) idle.lose(new Unavailable("PostgreSQL has gone silent"));
    }
    if (connection.isLost) return;
    if (this.#closing !== null || performance.now() - connection.openedMs > MAX_AGE_MS) {
      connection.close();
      return;
    }
    const [waiter] = this.#waiting;
    if (waiter !== undefined) waiter.grant(connection);
    else
      this.#idle.set(
        connection,
        setTimeout(() => connection.close(), IDLE_MS),
      );
  }

  /** Takes no more callers, and resolves when all connections are closed: in time, whatever runs on them. */
  close(timeoutMs: number): Promise<void> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async #close(timeoutMs: number): Promise<void> {
    for (const waiter of this.#waiting) waiter.refuse(closing());
    for (const idle of [...this.#idle.keys()]) idle.close();
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
    const idle = [...this.#idle.keys()].at(-1);
    if (idle !== undefined) {
      this.#leaveIdle(idle);
      return idle;
    }
    if (this.#connections.size >= this.#options.maxConnections) return null;
    const connection = new Connection(this.#options.open, (lost) => this.#forget(lost));
    this.#connections.add(connection);
    return connection;
  }

  #leaveIdle(connection: Connection): void {
    clearTimeout(this.#idle.get(connection));
    this.#idle.delete(connection);
  }

  #forget(connection: Connection): void {
    this.#leaveIdle(connection);
    this.#connections.delete(connection);
    if (this.#connections.size === 0) this.#onEmpty();
    const [waiter] = this.#waiting;
    if (waiter === undefined) return;
    const next = this.#free();
    if (next !== null) waiter.grant(next);
  }
}

function closing(): Unavailable {
  return new Unavailable("the connections to PostgreSQL are being closed");
}
