/// <reference path="./undici-parts.d.ts" />
import type { LookupFunction, Socket } from "node:net";
import buildConnector from "undici/lib/core/connect.js";

/** The first line of an interim answer. 101 is not one: another protocol follows it. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r\n]/;
const EXAMPLE = "HTTP/1.1 100 ";
const END = "\r\n\r\n";
/** The maximum that undici accepts of a response's headers. */
const MAX_BYTES = 16 * 1024;

/**
 * Connects for undici. Interim answers, which servers and proxies may send unasked, are dropped: undici breaks off a connection on which a 100
 * arrives.
 */
export function connectWithoutInterim(timeoutMs: number, lookup: LookupFunction): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      dropInterim(socket);
      callback(null, socket);
    });
}

/** Filters what is read from a connection after something was written to it, until the final answer begins. */
function dropInterim(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...sent: unknown[]) => boolean;
  let isExpected = false;
  let held: Buffer | null = null;
  socket.write = (...sent: unknown[]) => {
    isExpected = true;
    return write(...sent);
  };
  socket.read = (size?: number) => {
    for (let chunk: Buffer | null = read(size); ; chunk = read(size)) {
      if (!isExpected || chunk === null) return chunk;
      const rest = withoutInterim(held === null ? chunk : Buffer.concat([held, chunk]));
      isExpected = isInterim(rest) && rest.length < MAX_BYTES;
      if (!isExpected) {
        held = null;
        return rest;
      }
      held = rest;
    }
  };
}

/** What follows the interim answers that have arrived to their end. */
function withoutInterim(bytes: Buffer): Buffer {
  let rest = bytes;
  while (isInterim(rest)) {
    const end = rest.indexOf(END);
    if (end === -1) break;
    rest = rest.subarray(end + END.length);
  }
  return rest;
}

/** Whether an interim answer begins here, as far as anything has arrived. */
function isInterim(bytes: Buffer): boolean {
  const start = bytes.toString("latin1", 0, EXAMPLE.length);
  return INTERIM.test(start + EXAMPLE.slice(start.length));
}
