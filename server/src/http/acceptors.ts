import { spawn } from "node:child_process";
import { Server, type Socket } from "node:net";
import process from "node:process";

/** Handles beside the server's own. A new connection costs one `accept` that finds nothing for each of the others. */
const COUNT = 31;
/** How long the process that sends the handles back may take. */
const TIMEOUT_MS = 10_000;
/** Connections that wait to be accepted. Linux allows as many by default; of a burst Node's own 511 drop too many. */
export const BACKLOG = 4_096;

/**
 * Sends a handle back as many times as it is told. Each time another file descriptor of the same socket arrives. It is sent as a bare
 * handle, because a process that receives a `Server` accepts connections by itself.
 */
const ECHO = `process.on("message", (times, handle) => {
  for (let index = 0; index < times; index++) process.send("handle", handle, { keepOpen: true });
  process.disconnect();
})`;

/**
 * Further handles of a server's listening socket, and the limit of its connections. In a turn of its event loop Node accepts one
 * connection for each handle. When turns are long because many requests come, a single handle lets new connections wait for
 * seconds, unseen by the process.
 *
 * Node has no call that makes another handle of a socket. It does so when it sends one to another process.
 */
export class Acceptors {
  readonly #server: Server;
  readonly #maxConnections: number;
  /** Open connections: all, and those that the further handles accepted. */
  #open = 0;
  #accepted = 0;
  readonly #closing = new AbortController();
  readonly #acceptors: Server[] = [];
  #opened: Promise<void> = Promise.resolve();

  /** Limits the connections of a server. */
  constructor(server: Server, maxConnections: number) {
    this.#server = server;
    this.#maxConnections = maxConnections;
    server.maxConnections = maxConnections;
    server.on("connection", (socket: Socket) => {
      this.#open++;
      socket.once("close", () => this.#open--);
    });
  }

  /** Opens the handles of a server that listens, soon after. Where that is not possible, the server accepts connections alone. */
  open(): void {
    this.#opened = copyHandle(this.#server, this.#closing.signal, (handle) => {
      const acceptor = new Server({ noDelay: true, allowHalfOpen: true }, (socket) => this.#hand(socket));
      // The server's own handle goes on, and so do the others.
      acceptor.on("error", () => acceptor.close());
      this.#acceptors.push(acceptor.listen(handle, BACKLOG));
    });
  }

  /** Accepts no connections any more. Resolves when those that were accepted here are closed. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#opened;
    const closed = (acceptor: Server) => new Promise<void>((resolve) => acceptor.close(() => resolve()));
    await Promise.all(this.#acceptors.map(closed));
  }

  #hand(socket: Socket): void {
    if (this.#open >= this.#maxConnections) {
      socket.destroy();
      return;
    }
    this.#count(1);
    socket.once("close", () => this.#count(-1));
    this.#server.emit("connection", socket);
  }

  /** The server itself counts only what it has accepted. */
  #count(difference: number): void {
    this.#accepted += difference;
    this.#server.maxConnections = this.#maxConnections - this.#accepted;
  }
}

/** Calls `copied` for each further handle of the server's socket. Never rejects, and ends soon when it is aborted. */
function copyHandle(server: Server, signal: AbortSignal, copied: (handle: object) => void): Promise<void> {
  return new Promise((resolve) => {
    const echo = spawn(process.execPath, ["--eval", ECHO], {
      env: {},
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
      signal,
    });
    echo.on("message", (_, handle) => {
      if (handle !== undefined && !signal.aborted) copied(handle);
    });
    echo.on("close", () => resolve());
    // It could not be started, or was aborted. A process that has started is awaited.
    echo.on("error", () => {
      if (echo.pid === undefined) resolve();
    });
    const { _handle: handle } = server as Server & { readonly _handle: Server | null };
    if (echo.pid !== undefined && handle !== null) echo.send(COUNT, handle, () => {});
  });
}
