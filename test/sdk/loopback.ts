import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** A real server: for what happens to connections, which interception by msw does not show. */
export async function loopback(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  let connections = 0;
  server.on("connection", () => connections++);
  // Listening on a port, it has an address with one.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
