import process from "node:process";
import type { LiveCatalog } from "../catalog/live-catalog.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import { Gateway } from "../gateway/gateway.ts";
import { DIALECTS, openDialects } from "../upstream/dialects.ts";
import type { Transport } from "../upstream/transport.ts";
import { openCatalog } from "./open-catalog.ts";
import { openTransport } from "./runtime.ts";
import { SECOND_MS, type Startup } from "./startup.ts";

/** Opens the catalog, which is read again when its file changes or on SIGHUP, and the connections to upstreams. */
export async function openModels(
  startup: Startup,
): Promise<{ readonly catalog: LiveCatalog; readonly transport: Transport }> {
  const { settings, log, jobs, teardown, now } = startup;
  const transport = await openTransport();
  teardown.add("transport", () => transport.close());
  const { catalog, watch } = await openCatalog(settings.config, settings.catalogFile, {
    transport,
    now,
    log,
  });
  if (watch !== null) {
    const reload = () => {
      watch.reload().catch((error: unknown) => log.error({ err: error }, "the catalog can't be read"));
    };
    process.on("SIGHUP", reload);
    teardown.add("catalog", async () => void process.off("SIGHUP", reload));
    jobs.add({ name: "check the catalog file", everyMs: 2 * SECOND_MS, run: () => watch.reload() });
  }
  return { catalog, transport };
}

/** Opens the gateway, which forwards requests to the catalog's upstreams. */
export function openGateway(
  { log, now, monotonicMs }: Startup,
  { catalog, transport }: { readonly catalog: LiveCatalog; readonly transport: Transport },
  security: SecurityEvents,
): Gateway {
  return new Gateway({
    catalog,
    dialects: openDialects(DIALECTS, { transport, now }),
    random: Math.random,
    now,
    monotonicMs,
    onCredentialRefused: (upstream) => {
      security.note({ kind: "upstream_credential_refused", upstream });
      log.error(
        { upstream },
        "an upstream refuses the service's credential: requests to it fail until the credential is corrected",
      );
    },
  });
}
