import { once } from "node:events";
import { Server as HttpServer } from "node:http";
import { connect, Server, type Socket } from "node:net";
import process from "node:process";
import { describe, expect, it, vi } from "vitest";
import type { Listener } from "../../server/src/http/listener.ts";
import { serveOnNode } from "../../server/src/http/node.ts";

const REQUEST = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/** A listener that answers every request with 200, and the number of its requests. */
function listen(): Promise<Listener> {
  const served = {
    requests: null,
    web: async () => new Response("ok"),
    newRequestId: () => "req_1",
  };
  const options = {
    host: "127.0.0.1",
    port: 0,
    maxConnections: 1_000,
    keepAliveS: 65,
    maxUnreadBytes: 1_000_000,
    tls: null,
    sharesPort: false,
  };
  return serveOnNode(served, options);
}

/** What the client of a connection has received when the connection is closed, or the code of the error that closed it. */
function received(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  return new Promise((resolve) => {
    socket.once("error", (error) => resolve(String(error)));
    socket.once("close", () => resolve(text));
  });
}

/** Closes a listener as a service that stops, and never cuts its requests off. */
function stop(listener: Listener): Promise<void> {
  listener.retire();
  return listener.close(new Promise(() => {}));
}

/** Keeps this process from accepting and reading, while the system completes its connections and delivers what was sent on them. */
function standStill(ms = 100): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("a listener that is closed", () => {
  it("answers the requests of connections that a proxy has opened just before", async () => {
    const listener = await listen();
    const answers = Array.from({ length: 20 }, () => {
      const socket = connect(listener.port, "127.0.0.1");
      socket.write(REQUEST);
      return received(socket);
    });
    await new Promise<void>((resolve) => process.nextTick(resolve));
    standStill();
    await stop(listener);
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 .*close/s);
  });

  it("answers the request of a connection that has come in a long turn, after the system was asked", async () => {
    const listener = await listen();
    const answer = new Promise<string>((resolve) => {
      const open = () => {
        const socket = connect(listener.port, "127.0.0.1");
        socket.write(REQUEST);
        received(socket).then(resolve);
      };
      // In the next turn but one, in which the listener finds that no connection has come.
      setImmediate(() => {
        setImmediate(open);
        setImmediate(standStill);
      });
    });
    await stop(listener);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*close/s);
  });

  it("answers the request of a connection that comes while the handles for many connections are closed", async () => {
    using listens = vi.spyOn(Server.prototype, "listen");
    const listener = await listen();
    const sockets = Array.from({ length: 20 }, () => connect(listener.port, "127.0.0.1"));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    // The server itself listens once.
    await vi.waitFor(() => expect(listens.mock.calls.length).toBeGreaterThan(1), { timeout: 10_000 });
    for (const socket of sockets) socket.destroy();
    let answer: Promise<string> | null = null;
    const { close } = Server.prototype;
    using _ = vi.spyOn(Server.prototype, "close").mockImplementation(function (this: Server, done) {
      if (answer === null && !(this instanceof HttpServer)) {
        const late = connect(listener.port, "127.0.0.1");
        late.write(REQUEST);
        answer = received(late);
      }
      return close.call(this, done);
    });
    await stop(listener);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*close/s);
  });

  it("answers a request that arrives on a connection that was accepted just before", async () => {
    const listener = await listen();
    const first = connect(listener.port, "127.0.0.1");
    await once(first, "connect");
    // A request on a later connection is answered, so that the first one has been accepted.
    const second = connect(listener.port, "127.0.0.1");
    second.write(REQUEST);
    await once(second, "data");
    const answer = received(first);
    const stopped = stop(listener);
    setImmediate(() => setImmediate(() => first.write(REQUEST)));
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*close/s);
    await stopped;
  });

  it("answers a request that arrives in a turn during which the time for it ends", async () => {
    const listener = await listen();
    const socket = connect(listener.port, "127.0.0.1");
    await once(socket, "connect");
    const answer = received(socket);
    using closes = vi.spyOn(Server.prototype, "close");
    const stopped = stop(listener);
    await vi.waitFor(() => expect(closes).toHaveBeenCalled(), { interval: 1 });
    setImmediate(() => {
      socket.write(REQUEST);
      standStill(1_000);
    });
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*close/s);
    await stopped;
  });

  it("answers a request that has arrived on an idle connection", async () => {
    const listener = await listen();
    const socket = connect(listener.port, "127.0.0.1");
    socket.write(REQUEST);
    await once(socket, "data");
    const answer = received(socket);
    socket.write(REQUEST);
    standStill();
    await stop(listener);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*close/s);
  });

  it("closes connections on which no request comes", async () => {
    const listener = await listen();
    const unused = connect(listener.port, "127.0.0.1");
    await once(unused, "connect");
    const answer = received(unused);
    await stop(listener);
    expect(await answer).toBe("");
  });
});
