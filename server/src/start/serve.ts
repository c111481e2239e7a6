import { setTimeout } from "node:timers/promises";
import { SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import type { AuditTail } from "../audit/audit-tail.ts";
import { requestIdOf } from "../contract/entry.ts";
import { resultWithin } from "../errors/deadline.ts";
import { hostForUrl, type Listener, type ListenerOptions, type Served } from "../http/listener.ts";
import { TlsWatch, validityWarning } from "../http/tls-pair.ts";
import { readMemory, unreadBytesOf } from "./memory.ts";
import type { OpenRequests } from "./open-requests.ts";
import { listen } from "./runtime.ts";
import { type Startup, watchFile } from "./startup.ts";
import type { PortSetting } from "./startup-failure.ts";

/** How long requests that are aborted at the end of the drain time have to be answered and recorded. */
const ABORTED_MS = 2_000;
/** How long requests that are cut off after {@link ABORTED_MS} have to be recorded. */
const CUT_MS = 500;
/** How long background jobs have to end. The next start repeats their work. */
const JOBS_TIMEOUT_MS = 500;

export type Serving = Awaited<ReturnType<typeof serve>>;

/**
 * Listens on the configured address. Requests under `/v1` are answered at once, all others with 503 until `serveWeb` is called.
 *
 * @throws {StartupFailure} when the address can't be listened on.
 */
export async function serve(startup: Startup, opened: OpenRequests, auditTail: AuditTail) {
  const { settings, jobs, teardown, shutdown } = startup;
  const { handler, tokenizer } = opened;
  const { config } = settings;
  let web: Served["web"] = async () => new Response("starting\n", { status: 503 });
  const listener = await openListener(
    startup,
    opened,
    { requests: handler, web: (request, peer, bodyOfShared) => web(request, peer, bodyOfShared) },
    { port: config.port, tls: settings.tls, setting: "PORT" },
  );
  const certificate = renewCertificates(startup, listener);
  // Jobs renew the holds and claims of requests until the last request has ended.
  teardown.add(
    "background jobs",
    () => jobs.stop(),
    () => JOBS_TIMEOUT_MS,
  );
  const drainMs = config.drainS * SECOND_MS;
  const drain = async () => {
    listener.retire();
    await shutdown.pause(shutdown.prestopMs);
    // A start that fails ends with its reason.
    if (shutdown.hasBegun) {
      startup.log.info({ requestsInFlight: handler.inFlight, drainS: config.drainS }, "draining");
    }
    auditTail.close();
    const aborted = shutdown.pause(drainMs).then(() => {
      tokenizer.startNoMore();
      handler.abortAll();
      return setTimeout(ABORTED_MS, undefined, { ref: false });
    });
    const closed = listener.close(aborted);
    // Requests whose clients have disconnected have no connection that the listener could wait for.
    const ended = Promise.all([closed, handler.untilIdle()]);
    await Promise.race([ended, aborted]);
    // Waits until requests that were cut off are recorded as such.
    await resultWithin(CUT_MS, ended);
  };
  teardown.add("requests", drain, () => shutdown.prestopMs + drainMs + ABORTED_MS + SECOND_MS);
  return {
    /** Scheme, host and port. */
    listensOn: `${settings.tls === null ? "http" : "https"}://${hostForUrl(config.host)}:${listener.port}`,
    serveWeb: (next: Served["web"]) => {
      web = next;
    },
    /** When the certificate in use expires; `null` without TLS. */
    certificateExpiresAt: () => certificate?.expiresAt ?? null,
  };
}

/** Uses the certificate of the files when they change or on SIGHUP. A pair that can't be used leaves the former in use. */
function renewCertificates(startup: Startup, listener: Listener): TlsWatch | null {
  const { settings, log } = startup;
  const { config, tls } = settings;
  if (config.tls === null || tls === null) return null;
  const watch = new TlsWatch({
    files: config.tls,
    first: tls,
    onRenewed: async (pair) => {
      await listener.renew(pair);
      log.info({ expiresAt: pair.expiresAt }, "reloaded the TLS certificate");
      const warning = validityWarning(pair, startup.now());
      if (warning !== null) log.warn(warning);
    },
    onBroken: (problem) =>
      log.error({ problem }, "the TLS certificate can't be used: the previous one stays in use"),
    now: startup.now,
  });
  watchFile(startup, "TLS certificate", () => watch.check());
  return watch;
}

/**
 * Listens on the port for metrics, which speaks HTTP, if one is configured.
 *
 * @throws {StartupFailure} when the address can't be listened on.
 */
export async function serveMetrics(
  startup: Startup,
  opened: OpenRequests,
  web: Served["web"],
): Promise<void> {
  const { metricsPort: port } = startup.settings.config;
  if (port === null) return;
  const listener = await openListener(
    startup,
    opened,
    { requests: null, web },
    { port, tls: null, setting: "OSTIARY_METRICS_PORT" },
  );
  startup.teardown.add("metrics", () => listener.close(Promise.resolve()));
}

/** The port of a listener, and the setting that it is from. */
interface ListenerPort extends Pick<ListenerOptions, "port" | "tls"> {
  readonly setting: PortSetting;
}

function openListener(
  { settings, worker }: Startup,
  { newId }: OpenRequests,
  served: Pick<Served, "requests" | "web">,
  { port, tls, setting }: ListenerPort,
): Promise<Listener> {
  const { host, maxConnections, keepAliveS } = settings.config;
  const maxUnreadBytes = unreadBytesOf(settings.config, readMemory());
  return listen(
    { ...served, newRequestId: () => requestIdOf(newId()) },
    { host, port, tls, maxConnections, maxUnreadBytes, keepAliveS, sharesPort: worker !== null },
    setting,
  );
}
