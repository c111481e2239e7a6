import { isIPv6 } from "node:net";
import { databasePlace, redisPlace } from "../config/store-places.ts";
import { runtimeWarnings } from "../start/node-release.ts";
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
      `database  ${databaseUrl === null ? `bundled PostgreSQL in ${config.dataDir}` : databasePlace(databaseUrl)}`,
      `redis     ${redisUrl === null ? "none: this node runs alone" : redisPlace(redisUrl)}`,
      `catalog   ${models === null ? "none: sandbox models and local model servers" : `${models === 1 ? "1 model" : `${models} models`} in ${catalogFile?.source.path}`}`,
      ...[...config.unknownSettings, ...config.warnings, ...runtimeWarnings(new Date())].map(
        (line) => `warning   ${line}`,
      ),
    ],
    problems: [],
  };
}
