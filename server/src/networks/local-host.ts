import { isIP } from "node:net";

/**
 * Whether the host of an address can only be this machine's: `localhost`, a name below it (RFC 6761, section 6.3), or an IP address. A page of
 * another site can have its own name lead to this machine (DNS rebinding). Its browser then takes the service for a part of that site.
 *
 * @param hostname that of a `URL`.
 */
export function isLocalHost(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
