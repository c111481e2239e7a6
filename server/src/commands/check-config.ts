import { isIPv6 } from "node:net";
import { parseRedisUrl } from "../config/redis-url.ts";
import type { Settings } from "../start/read-settings.ts";
import type { Findings } from "./findings.ts";

/** What valid settings make of the service, without secrets, and what is probably a mistake. */
export function summaryOf({ config, catalogFile }: Settings): Findings {
  const { databaseUrl, redisUrl } = config;
  const models = catalogFile?.first.models.length ?? null;
  return {
    lines: [
      "The configuration is valid.",
      `address   ${isIPv6(config.host) ? `[${config.host}]` : config.host}:${config.port}`,
      `database  ${databaseUrl === null ? `bundled PostgreSQL in ${config.dataDir}` : placeOf(databaseUrl)}`,
      `redis     ${redisUrl === null ? "none: this node runs alone" : serversOf(redisUrl)}`,
      `catalog   ${models === null ? "none: sandbox models and local model servers" : `${models} models in ${catalogFile?.source.path}`}`,
      ...[...config.unknownSettings, ...config.warnings].map((line) => `warning   ${line}`),
    ],
    problems: [],
  };
}

/** Host, port and path of a URL. Its user and password stay secret. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** The servers of Redis. A URL with several hosts is none to `URL`. */
function serversOf(redisUrl: string): string {
  const { kind, hosts } = parseRedisUrl(redisUrl);
  return kind === "server" ? placeOf(redisUrl) : hosts.map(({ host, port }) => `${host}:${port}`).join(", ");
}
