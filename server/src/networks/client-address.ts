import { isIPv4 } from "node:net";
import { type Networks, parseAddress, withoutZone } from "./networks.ts";

/**
 * The address that a request came from: the socket's, unless the socket's peer is a trusted proxy; then the
 * right-most hop of `X-Forwarded-For` that is not one. Hops to the left of it are claims of the client.
 *
 * @returns the address in canonical form, or `null` when the deciding hop cannot be parsed.
 */
export function clientAddress(
  peer: string,
  forwardedFor: readonly string[],
  trustedProxies: Networks,
): string | null {
  if (!trustedProxies.contains(peer)) return canonical(peer);
  const hops = forwardedFor.flatMap((value) => value.split(",")).map((hop) => hop.trim());
  for (const hop of hops.toReversed()) {
    const address = canonical(withoutPort(hop));
    if (address === null) return null;
    if (!trustedProxies.contains(address)) return address;
  }
  return canonical(peer);
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(hop);
  if (bracketed?.[1] !== undefined) return bracketed[1];
  const dotted = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop);
  return dotted?.[1] ?? hop;
}

function canonical(address: string): string | null {
  // Most addresses are IPv4, which has one form.
  if (isIPv4(address)) return address;
  return parseAddress(withoutZone(address))?.toString() ?? null;
}
