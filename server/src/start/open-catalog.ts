import { readFile } from "node:fs/promises";
import { SANDBOX_UPSTREAM, sandboxModels } from "../catalog/built-in.ts";
import { type Catalog, catalogOf } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/load.ts";
import { discoverLocalModels, LOCAL_SERVERS } from "../catalog/local-servers.ts";
import type { Config } from "../config/config.ts";
import type { Transport } from "../upstream/transport.ts";

/** How long a local model server has to answer. It is at hand or it is not: nobody should wait for it. */
const LOCAL_SERVER_TIMEOUT_MS = 300;

export interface CatalogSurroundings {
  /** Where upstreams' credentials are. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly transport: Transport;
  readonly now: () => Date;
}

/** The catalog file's models; without one, the sandbox models and those of local model servers. */
export async function openCatalog(config: Config, surroundings: CatalogSurroundings): Promise<Catalog> {
  const { environment, transport, now } = surroundings;
  if (config.catalogFile !== null) {
    return loadCatalog({
      path: config.catalogFile,
      environment,
      readFile: (path) => readFile(path, "utf8"),
      now,
    });
  }
  const local = config.localModels
    ? await discoverLocalModels({
        servers: LOCAL_SERVERS,
        transport,
        timeoutMs: LOCAL_SERVER_TIMEOUT_MS,
        exceptPort: config.port,
        now: now(),
      })
    : { models: [], upstreams: [] };
  return catalogOf([...sandboxModels(now()), ...local.models], [SANDBOX_UPSTREAM, ...local.upstreams]);
}
