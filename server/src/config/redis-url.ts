import { ENCODE_PASSWORD, hasUnencodedPassword, isPort, PORT_RANGE, portProblem } from "./url-encoding.ts";

/** Host and port of a server. */
export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** How clients authenticate themselves. */
interface RedisUser {
  readonly username: string | null;
  readonly password: string | null;
}

/** Where REDIS_URL leads. The messages of this module do not contain the URL, because it has a password. */
export type RedisAddress =
  | { readonly kind: "server"; readonly hosts: readonly RedisHost[]; readonly url: string }
  | ({ readonly kind: "cluster" } & Several)
  | ({
      readonly kind: "sentinel";
      /** The name under which the sentinels watch the primary. */
      readonly name: string;
      readonly database: number;
      /** How clients authenticate themselves at the sentinels, which do not have the users of the primary. */
      readonly sentinelUser: RedisUser;
    } & Several);

interface Several extends RedisUser {
  /** Any of the cluster's servers, which name the others; or the sentinels, which name the primary. */
  readonly hosts: readonly RedisHost[];
  readonly isTls: boolean;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const SEVERAL =
  /^redis(?<tls>s?)\+(?<kind>cluster|sentinel):\/\/(?:(?<user>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const HOST = /^(?:\[(?<ipv6>[0-9A-Fa-f:.]+)\]|(?<name>[^:[\]\s]+))(?::(?<port>\d+))?$/;
const SERVER_PATH = /^(?:\/\d{0,5})?$/;
const SENTINEL_PATH = /^(?<name>[^/]+)(?:\/(?<database>\d{1,5}))?$/;
const SENTINEL_QUERY = ["sentinel_username", "sentinel_password"];
/** The version of IP that a name is resolved to: 4, 6, or 0 for both. */
const SERVER_QUERY = ["family"];
const FAMILY = /^[046]?$/;

/** Why a REDIS_URL is refused. */
export class RedisUrlError extends Error {
  override readonly name = "RedisUrlError";
}

/**
 * Reads REDIS_URL: `redis://host`, `redis+cluster://host,host` or `redis+sentinel://host,host/name`. With `rediss` connections
 * use TLS.
 *
 * @throws {RedisUrlError}
 */
export function parseRedisUrl(url: string): RedisAddress {
  const several = SEVERAL.exec(url)?.groups;
  if (several === undefined) return serverOf(url);
  const isCluster = several.kind === "cluster";
  const hosts = hostsOf(several.hosts ?? "", isCluster ? REDIS_PORT : SENTINEL_PORT);
  const servers = { hosts, isTls: several.tls === "s", ...userOf(several.user ?? "") };
  const query = new URLSearchParams(several.query ?? "");
  return (isCluster ? clusterOf : sentinelOf)(servers, several.path ?? "", query);
}

function serverOf(url: string): RedisAddress {
  if (/^rediss?:/.test(url) && hasUnencodedPassword(url)) throw new RedisUrlError(ENCODE_PASSWORD);
  const problem = portProblem(url);
  if (problem !== null) throw new RedisUrlError(problem);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !["redis:", "rediss:"].includes(parsed.protocol) || /^$|,/.test(parsed.hostname)) {
    throw new RedisUrlError(
      "must be a URL such as redis://host:6379, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379,host:26379/name; with rediss for TLS",
    );
  }
  const { hostname, port, pathname, searchParams } = parsed;
  if (!SERVER_PATH.test(pathname)) {
    throw new RedisUrlError(
      "must end with the host and port, or with the number of a database, such as redis://host:6379/1",
    );
  }
  // The client would take others for options of its own, and leave out those that it does not know, such as one that asks for TLS.
  requireKnown(searchParams, SERVER_QUERY);
  if (!FAMILY.test(searchParams.get("family") ?? "")) {
    throw new RedisUrlError("must have the parameter family=4, family=6 or family=0, or none");
  }
  return { kind: "server", url, hosts: [{ host: hostname, port: Number(port || REDIS_PORT) }] };
}

function clusterOf(several: Several, path: string, query: URLSearchParams): RedisAddress {
  if (path !== "" && path !== "0") {
    throw new RedisUrlError("must not name a database: Redis Cluster has only database 0");
  }
  requireKnown(query, []);
  return { kind: "cluster", ...several };
}

function sentinelOf(several: Several, path: string, query: URLSearchParams): RedisAddress {
  const groups = SENTINEL_PATH.exec(path)?.groups;
  if (groups?.name === undefined) {
    throw new RedisUrlError(
      "must end with the name under which the sentinels watch the primary, such as redis+sentinel://host:26379/mymaster",
    );
  }
  requireKnown(query, SENTINEL_QUERY);
  const [username, password] = SENTINEL_QUERY.map((name) => query.get(name));
  return {
    kind: "sentinel",
    ...several,
    name: decoded(groups.name),
    database: Number(groups.database ?? 0),
    sentinelUser: { username: username ?? null, password: password ?? null },
  };
}

function hostsOf(text: string, defaultPort: number): readonly RedisHost[] {
  return text.split(",").map((part) => {
    const groups = HOST.exec(part)?.groups;
    const host = groups?.ipv6 ?? groups?.name;
    const port = Number(groups?.port ?? defaultPort);
    if (!isPort(port)) throw new RedisUrlError(PORT_RANGE);
    if (host === undefined) {
      throw new RedisUrlError("must have hosts such as host:6379, separated by commas without spaces");
    }
    return { host, port };
  });
}

/** Reads `user:password`, `:password`, or nothing. Special characters are percent-encoded. */
function userOf(text: string): RedisUser {
  const colon = text.indexOf(":");
  const [username, password] = colon === -1 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  return { username: decoded(username) || null, password: decoded(password) || null };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError("must have special characters percent-encoded, such as %40 for @");
  }
}

function requireKnown(query: URLSearchParams, names: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const known = names.length === 0 ? "none is known" : `known: ${names.join(", ")}`;
  const remedy = /tls|ssl/i.test(unknown) ? ". For TLS begin the URL with rediss" : "";
  throw new RedisUrlError(`must not have the parameter ${unknown} (${known})${remedy}`);
}
