import { type ChildProcess, spawn } from "node:child_process";
import { Server, type Socket } from "node:net";
import process from "node:process";
import { maxOpenFiles, OTHER_FILES } from "./open-files.ts";

/** The handles that always accept, beside the server's own. Each new connection costs every other handle an `accept` that finds nothing. */
const BASE_HANDLES = 31;
/** The further handles that accept in a crowd, while many connections come at once and share that cost. */
const CROWD_HANDLES = 256;
/** Handles are made when this many connections are open. A service with fewer clients does not need them. */
const MIN_CONNECTIONS = 16;
/**
 * Connections come in a crowd if each turn of the event loop has brought one by each handle for this time. A burst after the process stood still
 * is shorter.
 */
const CROWD_AFTER_MS = 20;
/** A crowd is over this long after the last sign of it. */
const CROWD_MS = 10_000;
/** How long the process that sends the handles back may take. */
const TIMEOUT_MS = 10_000;
/**
 * The maximum number of connections that wait to be accepted, which is Linux's default. With Node's default of 511 too many connections of a burst
 * are dropped.
 */
export const BACKLOG = 4_096;

/**
 * The program of the child process: it sends a handle back the requested number of times. Each time, a new file descriptor of the same socket
 * arrives. It sends a bare handle, because a process that receives a `Server` begins to accept connections.
 */
const ECHO = `process.on("message", (times, handle) => {
  for (let index = 0; index < times; index++) process.send("handle", handle, { keepOpen: true });
  process.disconnect();
})`;

/** Node's handle of a listening socket, which has no public type. */
interface Handle {
  close(): void;
}

/**
 * Further handles of a server's listening socket, and the limit on its connections. In each turn of the event loop, Node accepts one connection per
 * handle. When many requests make turns long, new connections wait for a single handle for seconds, without the process noticing.
 *
 * Node has no call that makes another handle of a socket. It does so when it sends one to another process. In a crowd there is no time for that, so
 * the handles for it are made before, and do not accept until then.
 */
export class Acceptors {
  readonly #server: Server;
  readonly #maxConnections: number;
  /** Open connections: all, and those that the further handles accepted. */
  #open = 0;
  #accepted = 0;
  /** Connections of this turn of the event loop. */
  #inTurn = 0;
  /** When the first of a series of turns ended in which each handle accepted a connection; `null` after any other turn. */
  #fullSinceMs: number | null = null;
  /** The servers that accept with the base handles, and those of the present crowd. */
  readonly #base: Server[] = [];
  #inCrowd: Server[] = [];
  /** Handles for the next crowd, which do not accept yet. */
  #ready: Handle[] = [];
  /** Whether the process may open enough files for the handles of a crowd beside the maximum of connections. */
  readonly #hasCrowdHandles: boolean;
  /** Whether the server's handle may be copied. */
  #isAllowed = false;
  /** Whether the handles were made, or are being made. */
  #isMade = false;
  /** Ends the present crowd; `null` without one. */
  #crowdEnds: NodeJS.Timeout | null = null;
  readonly #closing = new AbortController();
  /** Resolves when no further handle will arrive. */
  #copying: Promise<unknown> = Promise.resolve();
  /** Set by {@link ended}; called when the last connection of the further handles has closed. */
  #ended: (() => void) | null = null;

  /** Limits the connections of a server. */
  constructor(server: Server, maxConnections: number) {
    this.#server = server;
    this.#maxConnections = maxConnections;
    this.#hasCrowdHandles = (maxOpenFiles() ?? 0) >= maxConnections + CROWD_HANDLES + OTHER_FILES;
    server.maxConnections = maxConnections;
    server.on("connection", (socket: Socket) => {
      this.#open++;
      socket.once("close", () => this.#open--);
      if (this.#open >= MIN_CONNECTIONS) this.#makeHandles();
      // During a series of full turns the end of each is awaited anyway.
      if (this.#inTurn === 0 && this.#fullSinceMs === null) setImmediate(() => this.#endTurn());
      this.#inTurn++;
    });
  }

  /** Allows further handles to be made, once the server listens. If they can't be made, the server accepts all connections itself. */
  allow(): void {
    this.#isAllowed = true;
  }

  /** Closes the further handles. The server accepts all connections itself from then on. */
  async stop(): Promise<void> {
    if (this.#crowdEnds !== null) clearTimeout(this.#crowdEnds);
    this.#closing.abort();
    await this.#copying;
    for (const each of [...this.#base, ...this.#inCrowd, ...this.#ready]) each.close();
  }

  /** Resolves when the connections that came by the further handles are closed. Call it after {@link stop}. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#accepted === 0) resolve();
      else this.#ended = resolve;
    });
  }

  #endTurn(): void {
    const isFull = this.#inTurn > BASE_HANDLES && this.#base.length > 0;
    this.#inTurn = 0;
    if (!isFull) {
      this.#fullSinceMs = null;
      return;
    }
    const nowMs = performance.now();
    this.#fullSinceMs ??= nowMs;
    if (nowMs - this.#fullSinceMs > CROWD_AFTER_MS) this.#beginCrowd();
    setImmediate(() => this.#endTurn());
  }

  #makeHandles(): void {
    if (this.#isMade || !this.#isAllowed) return;
    this.#isMade = true;
    const count = BASE_HANDLES - this.#base.length + (this.#hasCrowdHandles ? CROWD_HANDLES : 0);
    const copying = copyHandle(this.#server, count, this.#closing.signal, (handle) => {
      if (this.#base.length < BASE_HANDLES) this.#base.push(this.#listen(handle));
      else if (this.#crowdEnds === null) this.#ready.push(handle);
      else this.#inCrowd.push(this.#listen(handle));
    });
    this.#copying = Promise.all([this.#copying, copying]);
  }

  /** Begins to accept with the handles that are ready. If a crowd is present already, it lasts longer. */
  #beginCrowd(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#crowdEnds !== null) {
      this.#crowdEnds.refresh();
      return;
    }
    this.#inCrowd = this.#ready.splice(0).map((handle) => this.#listen(handle));
    this.#crowdEnds = setTimeout(() => this.#endCrowd(), CROWD_MS).unref();
  }

  /** A handle that has accepted connections can't stop, so others are made for the next crowd. */
  #endCrowd(): void {
    this.#crowdEnds = null;
    for (const acceptor of this.#inCrowd.splice(0)) acceptor.close();
    this.#isMade = false;
    if (this.#open >= MIN_CONNECTIONS) this.#makeHandles();
  }

  #listen(handle: Handle): Server {
    const acceptor = new Server({ noDelay: true, allowHalfOpen: true }, (socket) => this.#handOver(socket));
    // The other handles continue to accept.
    acceptor.on("error", () => acceptor.close());
    return acceptor.listen(handle, BACKLOG);
  }

  #handOver(socket: Socket): void {
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
    if (this.#accepted === 0) this.#ended?.();
  }
}

/** Calls `copied` for each further handle of the server's socket. Never rejects, and ends soon when it is aborted. */
function copyHandle(
  server: Server,
  count: number,
  signal: AbortSignal,
  copied: (handle: Handle) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let echo: ChildProcess;
    try {
      echo = spawn(process.execPath, ["--eval", ECHO], {
        env: {},
        stdio: ["ignore", "ignore", "ignore", "ipc"],
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
        signal,
      });
    } catch {
      // Some failures are thrown, such as a lack of memory; those below are events.
      resolve();
      return;
    }
    echo.on("message", (_, handle) => {
      if (handle === undefined) return;
      const copy = handle as object as Handle;
      if (signal.aborted) copy.close();
      else copied(copy);
    });
    echo.on("close", () => resolve());
    // It could not be started, or was aborted. A process that has started is awaited.
    echo.on("error", () => {
      if (echo.pid === undefined) resolve();
    });
    const { _handle: handle } = server as Server & { readonly _handle: Server | null };
    if (echo.pid !== undefined && handle !== null) echo.send(count, handle, () => {});
  });
}
