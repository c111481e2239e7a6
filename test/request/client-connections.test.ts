import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ClientConnections } from "../../server/src/http/client-connections.ts";

// Addresses that this machine does not have.

class Connection extends EventEmitter {
  isClosed = false;
  readonly remoteAddress: string;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    this.isClosed = true;
    this.emit("close");
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a host that opens connections from many addresses of its IPv6 network", () => {
  it.each(["192.0.2.1", "::ffff:192.0.2.1", "2001:db8:1::1", "fe80::1%eth0"])(
    "has its own closed, and not the idle ones of a client at %s",
    (address) => {
      const server = new EventEmitter();
      new ClientConnections(server as unknown as Server, 100);
      const open = (from: string) => {
        const connection = new Connection(from);
        server.emit("connection", connection);
        return connection;
      };
      const client = Array.from({ length: 8 }, () => open(address));
      vi.advanceTimersByTime(10_000);
      const host = Array.from({ length: 84 }, (_, at) => open(`2001:db8:2:0:${(at + 1).toString(16)}::1`));
      vi.advanceTimersByTime(2_000);
      for (let at = 0; at < 4; at++) open("198.51.100.7");
      expect(host.some(({ isClosed }) => isClosed)).toBe(true);
      expect(client.some(({ isClosed }) => isClosed)).toBe(false);
    },
  );
});
