import { decoded, isExempt, THIS_MACHINE } from "../contract/proxy-address.ts";
import { readVariable } from "./environment.ts";
import { OstiaryError } from "./errors.ts";

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

function variable(name: string): string | undefined {
  return readVariable(name.toLowerCase()) ?? readVariable(name);
}
