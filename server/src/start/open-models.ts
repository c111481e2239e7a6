import { readFile } from "node:fs/promises";
import { SANDBOX_UPSTREAM, sandboxModels } from "../catalog/built-in.ts";
import { type Catalog, catalogOf } from "../catalog/catalog.ts";
import { CatalogWatch, type FileStates, LiveCatalog, notingStates } from "../catalog/live-catalog.ts";
import { type CatalogSource, loadCatalog, UnreadableCatalog } from "../catalog/load-catalog.ts";
import { WORKER_PARSER } from "../catalog/worker-parser.ts";
import type { Config } from "../config/config.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Gateway } from "../gateway/gateway.ts";
import { DIALECTS, openDialects } from "../upstream/dialects.ts";
import { UndiciTransport } from "../upstream/http/undici-transport.ts";
import { discoverLocalModels, LOCAL_SERVERS } from "../upstream/local-servers.ts";
import type { Transport } from "../upstream/transport.ts";
import { atMostOnceIn } from "./repeated-messages.ts";
import { type Startup, watchFile } from "./startup.ts";

/** How long a local model server has to answer, so that the start is not delayed. */
const LOCAL_SERVER_TIMEOUT_MS = 300;
/** How often the log names an upstream that refuses the credential, or a failure of the proxy. */
const REPEATED_REFUSAL_MS = 60_000;

/** A valid catalog file. */
export type CatalogFromFile = Awaited<ReturnType<typeof readCatalogFile>>;

/**
 * Reads a catalog file.
 *
 * @param environment contains the upstreams' credentials.
 * @throws {CatalogError} with all problems of the file.
 */
export async function readCatalogFile(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const source: CatalogSource = {
    path,
    environment,
    readFile: (name) => readFile(name, "utf8"),
    dialects: DIALECTS,
    now: () => new Date(),
  };
  const loaded: FileStates = new Map();
  return { first: await loadCatalog(notingStates(source, loaded)), source, loaded };
}

/** The catalog, and the connections to upstreams. */
type OpenModels = Awaited<ReturnType<typeof openModels>>;

/**
 * Opens the connections to upstreams, and the catalog of the file, which is read again when the file changes or on SIGHUP. Without
 * a file the catalog has the sandbox models and those of local model servers.
 */
export async function openModels(startup: Startup) {
  const { settings, log, teardown, now } = startup;
  const { config, catalogFile } = settings;
  const logProxyFailure = atMostOnceIn(REPEATED_REFUSAL_MS, startup.monotonicMs, (reason, host: string) =>
    log.error(
      { host, reason },
      "an upstream cannot be reached through the proxy of HTTPS_PROXY or HTTP_PROXY",
    ),
  );
  const transport = new UndiciTransport({
    proxies: config.upstreamProxies,
    onProxyFailed: ({ message }, url) => logProxyFailure(message, new URL(url).host),
  });
  teardown.add("transport", () => transport.close());
  if (catalogFile === null) {
    const catalog = new LiveCatalog(await catalogWithoutFile(config, transport, now()));
    return { catalog, transport, catalogProblems: () => null };
  }
  const { first, source, loaded } = catalogFile;
  const catalog = new LiveCatalog(first);
  const watch = new CatalogWatch({
    catalog,
    source: { ...source, parser: WORKER_PARSER },
    loaded,
    onReloaded: ({ models }) => log.info({ models: models.length }, "reloaded the catalog"),
    onProblems: (error) =>
      log.error(
        { problems: error.problems },
        `the catalog file ${error instanceof UnreadableCatalog ? "cannot be read" : "has errors"}: the previous catalog stays in use`,
      ),
  });
  await watch.reload();
  watchFile(startup, "catalog file", () => watch.reload());
  return { catalog, transport, catalogProblems: () => watch.problems };
}

async function catalogWithoutFile(config: Config, transport: Transport, now: Date): Promise<Catalog> {
  const local = config.localModels
    ? await discoverLocalModels({
        servers: LOCAL_SERVERS,
        transport,
        timeoutMs: LOCAL_SERVER_TIMEOUT_MS,
        exceptPort: config.port,
        now,
      })
    : { models: [], upstreams: [] };
  return catalogOf([...sandboxModels(now), ...local.models], [SANDBOX_UPSTREAM, ...local.upstreams]);
}

/** Opens the gateway, which forwards requests to the catalog's upstreams. */
export function openGateway(
  { log, now, monotonicMs }: Startup,
  { catalog, transport }: OpenModels,
  security: SecurityEvents,
): Gateway {
  // An upstream that refuses some requests only, as one of several servers may, would fill the log.
  const logRefusal = atMostOnceIn(REPEATED_REFUSAL_MS, monotonicMs, (upstream) =>
    log.error(
      { upstream },
      "an upstream refuses the service's credential: requests to it fail until the credential is corrected",
    ),
  );
  return new Gateway({
    catalog,
    dialects: openDialects(DIALECTS, { transport, now, monotonicMs }),
    random: Math.random,
    now,
    monotonicMs,
    onCredentialRefused: (upstream) => {
      security.note({ kind: "upstream_credential_refused", upstream });
      logRefusal(upstream);
    },
  });
}
