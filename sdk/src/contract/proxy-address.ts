// What the SDK and the service read alike in the proxies that the environment names.
import { isWithin, networkOf } from "./network.ts";

/** Hosts that are this machine, which no proxy reaches. */
export const THIS_MACHINE: RegExp = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** An entry of `NO_PROXY` that is no block: a name or an address, and its port. */
const EXEMPT_HOST = /^\*?\.?(.*?)(?::(\d+))?$/;

/** A part of a URL without its escapes. A percent sign that begins none, as in the password `50%off`, makes it a text as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An address of IPv6 as it stands outside of a URL. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

/**
 * Whether an entry of `NO_PROXY`, in lower case, has the host of a URL. An entry is a host with its subdomains, an address or a CIDR block;
 * `*` is every host. All but a block may have a port.
 */
export function isExempt(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === "*") return true;
  const ownPort = port || (protocol === "https:" ? "443" : "80");
  const bare = networkOf(entry);
  const [, name = "", onlyPort = ownPort] = bare === null ? (EXEMPT_HOST.exec(entry) ?? []) : [];
  const network = bare ?? networkOf(withoutBrackets(name));
  if (onlyPort !== ownPort) return false;
  if (network === null) return name !== "" && (hostname === name || hostname.endsWith(`.${name}`));
  const address = networkOf(withoutBrackets(hostname));
  return address !== null && isWithin(address, network);
}
