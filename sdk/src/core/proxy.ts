import { readVariable } from "./environment.ts";

/** Hosts that are this machine. */
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Finds the proxy for a URL; `null` to reach it directly. */
export type FindProxy = (url: URL) => URL | null;

/**
 * The proxies that the environment names now: `HTTPS_PROXY` and `HTTP_PROXY`, also in lower case, unless `NO_PROXY` has the host. This
 * machine is never reached by a proxy.
 *
 * @returns `null` without a proxy; also for values that are not URLs of HTTP.
 */
export function proxiesOfEnvironment(): FindProxy | null {
  const [secure, plain] = [proxyIn("HTTPS_PROXY"), proxyIn("HTTP_PROXY")];
  if (secure === null && plain === null) return null;
  const exempt = (variable("NO_PROXY") ?? "").toLowerCase().split(/[\s,]+/);
  return (url) => {
    if (LOOPBACK.test(url.hostname) || exempt.some((entry) => isExempt(entry, url))) return null;
    return url.protocol === "https:" ? secure : plain;
  };
}

function proxyIn(name: string): URL | null {
  const text = variable(name);
  if (text === undefined) return null;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const proxy = URL.canParse(address) ? new URL(address) : null;
  return proxy !== null && /^https?:$/.test(proxy.protocol) ? proxy : null;
}

/** The address of a proxy without user and password, which are in {@link proxyHeaders}: Node throws at a percent sign in them that begins no escape. */
export function proxyAddress(proxy: URL): URL {
  return new URL(`${proxy.protocol}//${proxy.host}`);
}

/** The header that authenticates with the proxy, from the user and password of its URL. */
export function proxyHeaders({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === "" && password === "") return {};
  const bytes = new TextEncoder().encode(`${decoded(username)}:${decoded(password)}`);
  return { "proxy-authorization": `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

/** A part of a URL without its escapes. A percent sign that begins none, as in the password `50%off`, makes it a text as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A host of `NO_PROXY` includes its subdomains, and may have a port; `*` is every host. */
function isExempt(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === "*") return true;
  const ownPort = port || (protocol === "https:" ? "443" : "80");
  const [, name = "", onlyPort = ownPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  return name !== "" && onlyPort === ownPort && (hostname === name || hostname.endsWith(`.${name}`));
}

function variable(name: string): string | undefined {
  return readVariable(name.toLowerCase()) ?? readVariable(name);
}
