import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { serveOnDeno } from "../../server/src/http/deno.ts";
import type { TlsPair } from "../../server/src/http/tls-pair.ts";

it("a former server on Deno that fails to shut down does not end the process", async () => {
  let opened = 0;
  const serve = () => ({
    addr: { port: ++opened },
    shutdown: () => Promise.reject(new Error("the server can't be shut down")),
  });
  vi.stubGlobal("Deno", { serve });
  const served = { requests: null, web: async () => new Response(), newRequestId: () => "" };
  const options = {
    host: "127.0.0.1",
    port: 0,
    tls: null,
    maxConnections: 10,
    keepAliveS: 65,
    maxUnreadBytes: 1e6,
    sharesPort: false,
  };
  const listener = await serveOnDeno(served as unknown as Parameters<typeof serveOnDeno>[0], options);
  const pair: TlsPair = { cert: "", key: "", validFrom: new Date(), expiresAt: new Date() };
  await listener.renew(pair);
  // An unhandled rejection would be reported by now.
  await setImmediate();
  expect(opened).toBe(2);
  vi.unstubAllGlobals();
});
