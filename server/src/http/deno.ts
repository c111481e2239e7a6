import { FetchExchange } from "./fetch-exchange.ts";
import { isApiPath, type Listener, type ListenerOptions, type Served } from "./listener.ts";

/** As much of Deno's namespace as is used here: its own types would clash with Node's. */
interface DenoNamespace {
  serve(
    options: { hostname: string; port: number; onListen: () => void; signal: AbortSignal },
    handler: (request: Request, info: { remoteAddr: { hostname?: string } }) => Promise<Response>,
  ): { addr: { port: number }; finished: Promise<void>; shutdown(): Promise<void> };
}

/** Serves on `Deno.serve`. */
export async function serveOnDeno(served: Served, { host, port }: ListenerOptions): Promise<Listener> {
  const { Deno } = globalThis as unknown as { Deno: DenoNamespace };
  const cut = new AbortController();
  const server = Deno.serve(
    { hostname: host, port, onListen: () => {}, signal: cut.signal },
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
    // Deno's server does this itself, at its shutdown only.
    retire: () => {},
    close: async (drainMs) => {
      const timer = setTimeout(() => cut.abort(), drainMs);
      await server.shutdown();
      clearTimeout(timer);
    },
  };
}
