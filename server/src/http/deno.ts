import { FetchExchange } from "./fetch-exchange.ts";
import { isApiPath, type Listener, type ListenerOptions, type Served } from "./listener.ts";

/** The parts of Deno's namespace that are used here. Deno's own types conflict with those of Node. */
interface DenoNamespace {
  serve(
    options: {
      hostname: string;
      port: number;
      /** Whether other processes may listen on the port, too. */
      reusePort?: boolean;
      onListen: () => void;
      signal: AbortSignal;
    },
    handler: (request: Request, info: { remoteAddr: { hostname?: string } }) => Promise<Response>,
  ): { addr: { port: number }; finished: Promise<void>; shutdown(): Promise<void> };
}

/** Serves on `Deno.serve`. */
export async function serveOnDeno(
  served: Served,
  { host, port, sharesPort }: ListenerOptions,
): Promise<Listener> {
  const { Deno } = globalThis as unknown as { Deno: DenoNamespace };
  const cut = new AbortController();
  const server = Deno.serve(
    { hostname: host, port, reusePort: sharesPort, onListen: () => {}, signal: cut.signal },
    (request, { remoteAddr }) => {
      const peer = remoteAddr.hostname ?? "";
      const { pathname } = new URL(request.url);
      const isForPlane = isApiPath(pathname, () => request.headers.get("accept"));
      if (!isForPlane) return served.web(request, peer);
      const exchange = new FetchExchange(request, peer);
      void served.requests.handle(exchange);
      return exchange.response;
    },
  );
  return {
    port: server.addr.port,
    // Deno closes idle connections at shutdown by itself.
    retire: () => {},
    close: async (drainMs) => {
      const timer = setTimeout(() => cut.abort(), drainMs);
      await server.shutdown();
      clearTimeout(timer);
    },
  };
}
