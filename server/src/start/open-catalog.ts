import { readFile } from "node:fs/promises";
import type { Logger } from "pino";
import { SANDBOX_UPSTREAM, sandboxModels } from "../catalog/built-in.ts";
import { type Catalog, catalogOf } from "../catalog/catalog.ts";
import { CatalogWatch, LiveCatalog } from "../catalog/live-catalog.ts";
import { type CatalogSource, loadCatalog } from "../catalog/load.ts";
import type { Config } from "../config/config.ts";
import { DIALECTS } from "../upstream/dialects.ts";
import { discoverLocalModels, LOCAL_SERVERS } from "../upstream/local-servers.ts";
import type { Transport } from "../upstream/transport.ts";

/** How long a local model server has to answer, so that the start is not delayed. */
const LOCAL_SERVER_TIMEOUT_MS = 300;

export interface CatalogSurroundings {
  readonly transport: Transport;
  readonly now: () => Date;
  readonly log: Logger;
}

export interface OpenCatalog {
  readonly catalog: LiveCatalog;
  /** `null` without a catalog file. */
  readonly watch: CatalogWatch | null;
}

/** A valid catalog file. */
export interface CatalogFromFile {
  readonly first: Catalog;
  readonly source: CatalogSource;
}

/**
 * Reads a catalog file.
 *
 * @param environment contains the upstreams' credentials.
 * @throws {CatalogError} with all problems of the file.
 */
export async function readCatalogFile(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CatalogFromFile> {
  const source: CatalogSource = {
    path,
    environment,
    readFile: (name) => readFile(name, "utf8"),
    dialects: DIALECTS,
    now: () => new Date(),
  };
  return { first: await loadCatalog(source), source };
}

/** Opens the catalog of the file, or without a file, one of the sandbox models and those of local model servers. */
export async function openCatalog(
  config: Config,
  file: CatalogFromFile | null,
  surroundings: CatalogSurroundings,
): Promise<OpenCatalog> {
  const { log } = surroundings;
  if (file === null) {
    return { catalog: new LiveCatalog(await catalogWithoutFile(config, surroundings)), watch: null };
  }
  const { first, source } = file;
  const catalog = new LiveCatalog(first);
  const watch = new CatalogWatch({
    catalog,
    source,
    onReloaded: ({ models }) => log.info({ models: models.length }, "reloaded the catalog"),
    onProblems: (problems) =>
      log.error({ problems }, "the catalog file has errors: the previous catalog stays in use"),
  });
  await watch.reload();
  return { catalog, watch };
}

async function catalogWithoutFile(config: Config, { transport, now }: CatalogSurroundings): Promise<Catalog> {
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
