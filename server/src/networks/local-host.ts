import { isIP } from "node:net";

/**
 * Whether no page of another site can have the host of an address lead to this machine (DNS rebinding), so that its browser would take the service for
 * a part of that site: an IP address, a name below `localhost` (RFC 6761, section 6.3), or one without a dot, which only this machine or its network
 * gives.
 *
 * @param hostname that of a `URL`.
 */
export function isLocalHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  if (!name.includes(".") || name.endsWith(".localhost")) return true;
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
