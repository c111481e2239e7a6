/// <reference path="./undici-parts.d.ts" />
import type { Socket } from "node:net";
import type buildConnector from "undici/lib/core/connect.js";
import { connectFailure } from "./connect-failures.ts";

/** The first line of an interim answer. 101 is not one: another protocol follows it. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r\n]/;
const EXAMPLE = "HTTP/1.1 100 ";
const END = "\r\n\r\n";
/** The maximum that undici accepts of a response's headers. */
const MAX_BYTES = 16 * 1024;
/**
 * The maximum number of interim answers before a final one. Some servers send one every second while they work, which makes some thousand in an hour. A
 * flood of them, which no timeout of undici's notices, would use up the processor.
 */
const MAX_INTERIM = 10_000;
/**
 * The maximum of bytes that arrive after a request was sent. The longest stream takes less, even if each of its chunks has one byte. What is no part of
 * the body, such as extensions of chunks, has no other limit.
 */
export const MAX_RECEIVED_BYTES = 1024 * 1024 * 1024;

/**
 * Connects for undici. Interim answers, which servers and proxies may send unasked, are dropped: undici breaks off a connection on which a 100
 * arrives. A connection on which too much arrives is closed.
 *
 * @param connect opens the connections.
 * @param maxReceivedBytes see {@link MAX_RECEIVED_BYTES}.
 */
export function connectWithoutInterim(
  connect: buildConnector.connector,
  maxReceivedBytes: number,
): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(connectFailure(error), null);
      dropInterim(socket, maxReceivedBytes);
      callback(null, socket);
    });
}

/** Filters what is read from a connection after something was written to it, until the final answer begins. */
function dropInterim(socket: Socket, maxReceivedBytes: number): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...sent: unknown[]) => boolean;
  let isExpected = false;
  /** The interim answers, and all bytes, since a request was sent. */
  let interim = 0;
  let received = 0;
  let held: Buffer | null = null;
  socket.write = (...sent: unknown[]) => {
    if (!isExpected) {
      interim = 0;
      received = 0;
    }
    isExpected = true;
    return write(...sent);
  };
  socket.read = (size?: number) => {
    for (let chunk: Buffer | null = read(size); ; chunk = read(size)) {
      if (chunk === null) return null;
      received += chunk.length;
      if (received > maxReceivedBytes) return closed(socket);
      if (!isExpected) return chunk;
      const { rest, dropped } = withoutInterim(held === null ? chunk : Buffer.concat([held, chunk]));
      interim += dropped;
      if (interim > MAX_INTERIM) return closed(socket);
      isExpected = isInterim(rest) && rest.length < MAX_BYTES;
      if (!isExpected) {
        held = null;
        return rest;
      }
      held = rest;
    }
  };
}

function closed(socket: Socket): null {
  socket.destroy(new Error("the upstream sends more than an answer can be"));
  return null;
}

/** What follows the interim answers that have arrived to their end, and how many they are. */
function withoutInterim(bytes: Buffer): { readonly rest: Buffer; readonly dropped: number } {
  let rest = bytes;
  let dropped = 0;
  while (isInterim(rest)) {
    const end = rest.indexOf(END);
    if (end === -1) break;
    rest = rest.subarray(end + END.length);
    dropped++;
  }
  return { rest, dropped };
}

/** Whether an interim answer begins here, as far as anything has arrived. */
function isInterim(bytes: Buffer): boolean {
  const start = bytes.toString("latin1", 0, EXAMPLE.length);
  return INTERIM.test(start + EXAMPLE.slice(start.length));
}
