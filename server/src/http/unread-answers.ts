import type { Server } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { networkOfPeer } from "./client-connections.ts";
import { mostUnreadFirst } from "./most-unread-first.ts";

/** How often the unread bytes are added up. */
const CHECK_MS = 250;

/**
 * Limits the bytes of answers that wait for their clients to read them. No other limit covers them: the request has ended and released its slot and
 * its body, and a client that reads nothing stays connected for up to two minutes. Beyond the limit, connections with unread bytes are closed, beginning
 * with the largest of the address with the most unread bytes. A connection that has just begun to wait is not closed, and a single answer may exceed the
 * limit.
 */
export class UnreadAnswers {
  readonly #maxBytes: number;
  readonly #open = new Set<Socket>();
  /** The connections that had unread bytes at the last check. */
  #waiting: ReadonlySet<Socket> = new Set();
  #timer: NodeJS.Timeout | null = null;

  constructor(server: Server | SecureServer, maxBytes: number) {
    this.#maxBytes = maxBytes;
    // With TLS, answers are written to another socket than the one that was accepted.
    const opened = server instanceof SecureServer ? "secureConnection" : "connection";
    server.on(opened, (socket: Socket) => this.#add(socket));
  }

  #add(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#remove(socket));
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
  }

  #remove(socket: Socket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #check(): void {
    const unread: Socket[] = [];
    let bytes = 0;
    for (const socket of this.#open) {
      if (socket.writableLength === 0) continue;
      unread.push(socket);
      bytes += socket.writableLength;
    }
    if (bytes > this.#maxBytes) this.#close(unread, bytes);
    this.#waiting = new Set(unread);
  }

  #close(unread: readonly Socket[], unreadBytes: number): void {
    let bytes = unreadBytes;
    let left = unread.length;
    const inOrder = mostUnreadFirst(unread, (socket) => ({
      network: networkOfPeer(socket.remoteAddress ?? ""),
      bytes: socket.writableLength,
    }));
    for (const socket of inOrder) {
      if (bytes <= this.#maxBytes || left === 1) return;
      if (!this.#waiting.has(socket)) continue;
      bytes -= socket.writableLength;
      left--;
      // A reset also drops what the system still holds, and shows the client that the answer is incomplete. A TLS socket can't be reset.
      if (socket instanceof TLSSocket) socket.destroy();
      else socket.resetAndDestroy();
    }
  }
}
