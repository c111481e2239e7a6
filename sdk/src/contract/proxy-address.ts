// What the SDK and the service read alike in the proxies that the environment names.

/** Hosts that are this machine, which no proxy reaches. */
export const THIS_MACHINE: RegExp = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** An entry of `NO_PROXY` that is no block: a name or an address, and its port. */
export const EXEMPT_HOST: RegExp = /^\*?\.?(.*?)(?::(\d+))?$/;

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
