import { decoded, isExempt, THIS_MACHINE } from "../../../../sdk/src/contract/proxy-address.ts";

/** The HTTP proxies that lead to upstreams, as the environment names them. */
export interface ProxySettings {
  /** The URL of the proxy for upstreams of `https:`, with its user and password; `null`: they are reached directly. */
  readonly https: string | null;
  /** As `https`, for upstreams of `http:`. */
  readonly http: string | null;
  /** What is reached directly: hosts with their subdomains, addresses and CIDR blocks, all but a block with a port or without; `*`: every host. */
  readonly except: readonly string[];
}

/** A proxy and what is sent to it. */
export interface OutgoingProxy {
  /** Without user and password. */
  readonly address: URL;
  /** The header that authenticates with the proxy, as a name and a value. Empty: the URL has no user. */
  readonly credential: readonly string[];
}

export const NO_PROXIES: ProxySettings = { https: null, http: null, except: [] };

/** Finds the proxies of upstreams. */
export class Proxies {
  readonly #https: OutgoingProxy | null;
  readonly #http: OutgoingProxy | null;
  readonly #except: readonly string[];

  constructor({ https, http, except }: ProxySettings) {
    this.#https = https === null ? null : proxyOf(new URL(https));
    this.#http = http === null ? null : proxyOf(new URL(http));
    this.#except = except.map((entry) => entry.toLowerCase());
  }

  /** The proxy of an upstream's URL; `null`: it is reached directly. */
  of(url: URL): OutgoingProxy | null {
    const proxy = url.protocol === "https:" ? this.#https : this.#http;
    if (proxy === null || THIS_MACHINE.test(url.hostname)) return null;
    return this.#except.some((entry) => isExempt(entry, url)) ? null : proxy;
  }
}

function proxyOf({ protocol, host, username, password }: URL): OutgoingProxy {
  const user = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64");
  return {
    address: new URL(`${protocol}//${host}`),
    credential: username === "" && password === "" ? [] : ["proxy-authorization", `Basic ${user}`],
  };
}
