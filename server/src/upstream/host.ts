import type { Upstream } from "../catalog/catalog.ts";

/** Parsing a URL takes longer than reading a short request. */
const hosts = new WeakMap<Upstream, string>();

/** The host of an upstream's address. Returns an empty text for an upstream without one, which has its dialect's. */
export function hostOf(upstream: Upstream): string {
  let host = hosts.get(upstream);
  if (host === undefined) {
    const { baseUrl } = upstream;
    host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
    hosts.set(upstream, host);
  }
  return host;
}
