import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { isRequestPlane, type Listener, type ListenerOptions, type Served } from "./listener.ts";
import { NodeExchange } from "./node-exchange.ts";

/** Serves on `node:http`. Rejects with the system's error when the address can't be listened on. */
export async function serveOnNode(served: Served, options: ListenerOptions): Promise<Listener> {
  const web = getRequestListener(
    (request, env) => {
      const incoming = "incoming" in env ? env.incoming : null;
      return served.web(request, incoming?.socket?.remoteAddress ?? "");
    },
    { overrideGlobalObjects: false },
  );
  let retiring = false;
  let closing = false;
  /** Connections on which nothing was asked yet. */
  const unused = new Set<Socket>();
  const server = createServer({ noDelay: true, keepAliveTimeout: 65_000 }, (request, response) => {
    unused.delete(request.socket);
    if (retiring) response.shouldKeepAlive = false;
    // A connection that becomes idle after the listener was closed is one that `close` did not find.
    // `on`, here and below, of what happens once: `once` makes two functions more.
    response.on("close", () => closing && setImmediate(() => server.closeIdleConnections()));
    const target = request.url ?? "/";
    const question = target.indexOf("?");
    const path = question === -1 ? target : target.slice(0, question);
    if (isRequestPlane(path)) void served.requestPlane.handle(new NodeExchange(request, response));
    else void web(request, response);
  });
  server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  await listening(server, options);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server listens on no port");
  return {
    port: address.port,
    retire: () => {
      retiring = true;
    },
    close: (drainMs) => {
      closing = true;
      const closed = close(server, drainMs);
      // Nobody waits on them for an answer.
      for (const socket of unused) socket.destroy();
      return closed;
    },
  };
}

function listening(server: Server, { host, port }: ListenerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function close(server: Server, drainMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), drainMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
