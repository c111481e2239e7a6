import type { Server, ServerResponse } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { networkOf, withoutZone } from "../networks/networks.ts";

/** The share of the maximum that is kept free for new connections. With the default maximum that is more than one turn of the event loop accepts. */
const KEPT_FREE = 1 / 16;
/**
 * A connection is idle if it was neither opened nor used for a request in this time: a client that has just connected is about to send one. A request
 * that is older should have sent its body, and read an answer that is complete.
 */
const IDLE_AFTER_MS = 1_000;
/** How often idle connections are looked for while there are too many connections. */
const RECHECK_MS = 100;

const STATE = Symbol("state of a connection");

interface State {
  /** When the connection was opened, or when the last request began or was answered, by `performance.now()`. */
  sinceMs: number;
  /** Whether the connection has had a request. */
  isUsed: boolean;
  /** Requests that are not answered. More than one: the client does not wait for its answers. */
  unanswered: number;
  /** {@link ClientConnections.closeAnswered} leaves the connection open until then. */
  keptUntilMs: number;
  /** Whether the body of the present request counts among the concurrent requests of an account. */
  isOfAccount: boolean;
  /** The result of {@link networkOfPeer}. It is kept, because all connections are compared at once. */
  readonly network: string;
}

/** `_httpMessage` is private to Node's server: the answer that is being written. No public property tells whether there is one. */
export type ClientSocket = Socket & { [STATE]?: State; _httpMessage?: ServerResponse | null };

/** Stands in for an answer: Node does not close a connection whose answer has not ended. */
const UNFINISHED = { finished: false } as ServerResponse;

/**
 * The connections of a server's clients. When the maximum is nearly reached, it closes some to make room, as nginx does. It begins with the address (for
 * IPv6, the network) that has the most connections, and leaves addresses with fewer than the average alone. At each address it closes
 *
 * 1. idle connections, the longest idle first;
 * 2. connections whose client keeps a request from ending: it does not send the rest of the body, or does not read the answer.
 *
 * If that does not free enough, it also closes connections between two requests. The last free connections are reserved for addresses that have no
 * more than the average. So no client can keep others out by opening as many connections as it can, however often it uses them.
 */
export class ClientConnections {
  readonly #maximum: number;
  readonly #open = new Set<ClientSocket>();
  /** The number of open connections of each address or network. */
  readonly #openOf = new Map<string, number>();
  readonly #keptFree: number;
  #recheck: NodeJS.Timeout | null = null;

  constructor(server: Server | SecureServer, maximum: number) {
    this.#maximum = maximum;
    this.#keptFree = Math.ceil(maximum * KEPT_FREE);
    if (!(server instanceof SecureServer)) {
      server.on("connection", (socket) => this.#add(socket));
      return;
    }
    // A connection that negotiates TLS is another socket until that is done.
    const negotiating = new Map<string, Socket>();
    const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
    server.on("connection", (socket: Socket) => {
      const name = nameOf(socket);
      negotiating.set(name, socket);
      socket.once("close", () => {
        if (negotiating.get(name) === socket) negotiating.delete(name);
      });
      this.#add(socket);
    });
    server.on("secureConnection", (socket: Socket) => {
      const negotiated = negotiating.get(nameOf(socket));
      if (negotiated !== undefined) this.#forget(negotiated);
      this.#add(socket);
    });
  }

  /** Call it with the connection of each request. */
  begin({ [STATE]: state }: ClientSocket): void {
    if (state === undefined) return;
    state.isUsed = true;
    if (state.unanswered++ === 0) state.isOfAccount = false;
    state.sinceMs = performance.now();
  }

  /** Call it when a request of the connection was answered. {@link closeAnswered} leaves the connection open for `keptForMs`. */
  end({ [STATE]: state }: ClientSocket, keptForMs: number): void {
    if (state === undefined) return;
    state.unanswered--;
    state.sinceMs = performance.now();
    state.keptUntilMs = state.sinceMs + keptForMs;
  }

  /**
   * Closes idle connections by Node's function, except those that {@link end} keeps. Node also closes those whose answer is complete but not yet
   * sent: a client that reads slowly would lose the rest. Returns how many were kept.
   */
  closeAnswered(closeIdleConnections: () => void): number {
    const nowMs = performance.now();
    const kept = [...this.#open].filter(
      (socket) => answerOn(socket) === null && (socket[STATE]?.keptUntilMs ?? 0) > nowMs,
    );
    const unsent = [...this.#open].flatMap((socket) => {
      const answer = answerOn(socket);
      return answer?.finished && !answer.writableFinished ? [answer] : [];
    });
    for (const answer of unsent) answer.finished = false;
    for (const socket of kept) socket._httpMessage = UNFINISHED;
    closeIdleConnections();
    for (const socket of kept) socket._httpMessage = null;
    for (const answer of unsent) answer.finished = true;
    return kept.length;
  }

  /** Closes the connections without a request so far. Node takes them for connections with a request that is arriving. */
  closeUnused(): void {
    for (const socket of this.#open) if (socket[STATE]?.isUsed === false) socket.destroy();
  }

  #add(socket: ClientSocket): void {
    const network = networkOfPeer(socket.remoteAddress ?? "");
    const sinceMs = performance.now();
    socket[STATE] = { sinceMs, isUsed: false, unanswered: 0, keptUntilMs: 0, isOfAccount: false, network };
    this.#open.add(socket);
    this.#openOf.set(network, (this.#openOf.get(network) ?? 0) + 1);
    socket.once("close", () => this.#forget(socket));
    if (!this.#isCrowded) return;
    this.#makeRoom();
    // The average as if another address came.
    const average = this.#open.size / (this.#openOf.size + 1);
    if (this.#isNearlyFull && (this.#openOf.get(network) ?? 0) > average) this.#close(socket);
  }

  #close(socket: ClientSocket): void {
    // Otherwise the connection would count until it is closed.
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: ClientSocket): void {
    if (!this.#open.delete(socket)) return;
    const network = socket[STATE]?.network ?? "";
    const left = (this.#openOf.get(network) ?? 1) - 1;
    if (left === 0) this.#openOf.delete(network);
    else this.#openOf.set(network, left);
  }

  get #isCrowded(): boolean {
    return this.#open.size > this.#maximum - this.#keptFree;
  }

  get #isNearlyFull(): boolean {
    return this.#open.size > this.#maximum - this.#keptFree / 2;
  }

  /** Closes connections again and again, until there is room. */
  #makeRoom(): void {
    if (this.#recheck !== null) return;
    this.#closeUnneeded();
    this.#recheck = setTimeout(() => {
      this.#recheck = null;
      if (this.#isCrowded) this.#makeRoom();
    }, RECHECK_MS).unref();
  }

  /** Closes more connections than necessary, because each search through all of them takes some milliseconds. */
  #closeUnneeded(): void {
    const nowMs = performance.now();
    const count = this.#open.size - (this.#maximum - 2 * this.#keptFree);
    const byNetwork = new Map<string, ClientSocket[]>();
    for (const socket of this.#open) {
      const network = socket[STATE]?.network ?? "";
      const known = byNetwork.get(network);
      if (known === undefined) byNetwork.set(network, [socket]);
      else known.push(socket);
    }
    const average = this.#open.size / byNetwork.size;
    const mostFirst = [...byNetwork.values()]
      .filter(({ length }) => length >= average)
      .sort((one, other) => other.length - one.length);
    const longestFirst = mostFirst.flatMap((sockets) => {
      const resting = sockets.filter((socket) => nowMs - restingSince(socket) >= IDLE_AFTER_MS).sort(byRest);
      const idle = resting.filter((socket) => answerOn(socket) === null);
      return [...idle, ...resting.filter(isHeldByClient)];
    });
    for (const socket of longestFirst.slice(0, count)) this.#close(socket);
    // Closing those of the only address would give room to no other.
    if (!this.#isNearlyFull || byNetwork.size === 1) return;
    const inUse = mostFirst.flatMap((sockets) => sockets.filter(isBetweenRequests).sort(byRest));
    for (const socket of inUse.slice(0, count - longestFirst.length)) this.#close(socket);
  }
}

function byRest(one: ClientSocket, other: ClientSocket): number {
  return restingSince(one) - restingSince(other);
}

function restingSince(socket: ClientSocket): number {
  return socket[STATE]?.sinceMs ?? 0;
}

/**
 * Whether the connection has a request that waits for its client: for the rest of the body, or until a complete answer is read. Requests of accounts are
 * limited in their number, and large bodies take long.
 */
function isHeldByClient(socket: ClientSocket): boolean {
  const answer = answerOn(socket);
  if (answer === null || socket[STATE]?.isOfAccount === true) return false;
  return answer.finished || !answer.req.complete;
}

/** Whether the connection has had a request, and waits for the next one or has sent it already. Clients must expect that it is closed then. */
function isBetweenRequests(socket: ClientSocket): boolean {
  const state = socket[STATE];
  if (state === undefined || socket.destroyed || !state.isUsed || state.isOfAccount) return false;
  return state.unanswered > 1 || answerOn(socket) === null;
}

/** Call it with the connection of a request whose body counts among the concurrent requests of an account. */
export function countsForAccount({ [STATE]: state }: ClientSocket): void {
  if (state !== undefined) state.isOfAccount = true;
}

/** The address of a connection's client, or its network if a client there can have any number of addresses. */
export function networkOfPeer(address: string): string {
  // IPv4, also as a socket of both families writes it.
  return address.includes(".") ? address : networkOf(withoutZone(address));
}

/** The answer that is being written to the connection; `null`: none is. */
export function answerOn({ _httpMessage: answer }: ClientSocket): ServerResponse | null {
  return answer ?? null;
}
