import { decoded, EXEMPT_HOST, THIS_MACHINE, withoutBrackets } from "../contract/proxy-address.ts";
import { readVariable } from "./environment.ts";
import { OstiaryError } from "./errors.ts";
import { isWithin, networkOf } from "./network.ts";

/** Finds the proxy for a URL; `null` to reach it directly. @throws {OstiaryError} the variable names a proxy that cannot be used. */
export type FindProxy = (url: URL) => URL | null;

/**
 * The proxies that the environment names now: `HTTPS_PROXY` and `HTTP_PROXY`, also in lower case, unless `NO_PROXY` has the host. This
 * machine is never reached by a proxy.
 *
 * @returns `null` without a proxy.
 */
export function proxiesOfEnvironment(): FindProxy | null {
  const [secure, plain] = [proxyIn("HTTPS_PROXY"), proxyIn("HTTP_PROXY")];
  if (secure === null && plain === null) return null;
  const exempt = (variable("NO_PROXY") ?? "").toLowerCase().split(/[\s,]+/);
  return (url) => {
    if (THIS_MACHINE.test(url.hostname) || exempt.some((entry) => isExempt(entry, url))) return null;
    const proxy = url.protocol === "https:" ? secure : plain;
    if (proxy === null || proxy instanceof URL) return proxy;
    // Without its proxy, the request could leave by a way that it must not take.
    throw new OstiaryError(
      `${proxy.problem}, which the client cannot use. Use an http:// or https:// proxy, name the host in NO_PROXY, or pass fetchOptions.`,
    );
  };
}

function proxyIn(name: string): URL | { readonly problem: string } | null {
  const text = variable(name);
  if (text === undefined) return null;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  const address = scheme === undefined ? `http://${text}` : text;
  if (!URL.canParse(address)) return { problem: `${name} is no proxy's URL` };
  if (scheme === undefined || /^https?$/.test(scheme)) return new URL(address);
  return { problem: `${name} is a ${scheme} proxy` };
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

/** An entry of `NO_PROXY`: a host with its subdomains, an address or a CIDR block; `*` is every host. All but a block may have a port. */
function isExempt(entry: string, { hostname, port, protocol }: URL): boolean {
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

function variable(name: string): string | undefined {
  return readVariable(name.toLowerCase()) ?? readVariable(name);
}
