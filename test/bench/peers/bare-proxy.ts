import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent } from "undici";

/** A connection that is closed while it is used again says nothing of anybody's speed. */
const KEEP_ALIVE_MS = 600_000;

/** Passes requests on, and answers back, and does nothing else: what a proxy on Node costs at least. */
async function serveBareProxy(origin: string): Promise<void> {
  const agent = new Agent({ connections: null, pipelining: 1 });
  const server = createServer(
    { noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS },
    async (incoming, response) => {
      let text = "";
      for await (const part of incoming.setEncoding("utf8")) text += part;
      const options = { origin, path: incoming.url ?? "/", method: "POST" as const, body: text };
      agent.dispatch(
        { ...options, headers: { "content-type": "application/json" } },
        {
          onRequestStart: () => {},
          onResponseStart: (_, status, headers) => void response.writeHead(status, headers),
          onResponseData: (_, chunk) => void response.write(chunk),
          onResponseEnd: () => void response.end(),
          onResponseError: (_, error) => void response.destroy(error),
        },
      );
    },
  ).listen({ port: 0, host: "127.0.0.1", backlog: 4_096 });
  await once(server, "listening");
  process.send?.((server.address() as AddressInfo).port);
}

// A process of its own, which sends its port to the measurement that has started it.
await serveBareProxy(process.argv[2] ?? "");
