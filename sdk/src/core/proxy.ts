import { readVariable } from "./environment.ts";

/** Hosts that are this machine. */
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The proxy that the environment names for a URL: `HTTPS_PROXY` or `HTTP_PROXY`, also in lower case, unless `NO_PROXY` has the host.
 * This machine is never reached by a proxy.
 *
 * @returns `null` without a proxy; also for one that is not a URL of HTTP.
 */
export function proxyFor(url: URL): URL | null {
  const text = variable(url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (text === undefined || LOOPBACK.test(url.hostname) || isExempt(url)) return null;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const proxy = URL.canParse(address) ? new URL(address) : null;
  return proxy !== null && /^https?:$/.test(proxy.protocol) ? proxy : null;
}

/** The header that authenticates with the proxy, from the user and password of its URL. */
export function proxyHeaders({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === "" && password === "") return {};
  const bytes = new TextEncoder().encode(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return { "proxy-authorization": `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

/** Hosts in `NO_PROXY` are separated by commas or spaces, include their subdomains, and may have a port; `*` is every host. */
function isExempt({ hostname, port, protocol }: URL): boolean {
  const ownPort = port || (protocol === "https:" ? "443" : "80");
  return (variable("NO_PROXY") ?? "").split(/[\s,]+/).some((entry) => {
    const [, name = "", onlyPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    if (entry === "*") return true;
    if (name === "" || (onlyPort !== undefined && onlyPort !== ownPort)) return false;
    return hostname === name || hostname.endsWith(`.${name}`);
  });
}

function variable(name: string): string | undefined {
  return readVariable(name.toLowerCase()) ?? readVariable(name);
}
