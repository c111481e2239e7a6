import { envelopeOf, Failure } from "../errors/failure.ts";
import { createApp } from "../http/app.ts";
import { Dashboard } from "../http/dashboard.ts";
import type { Served } from "../http/listener.ts";
import { createRpcHandler } from "../management/handler.ts";
import { answerMetrics } from "../metrics/metrics-endpoint.ts";
import { clientAddress } from "../networks/client-address.ts";
import { isLocalHost } from "../networks/local-host.ts";
import { parseNetworks } from "../networks/networks.ts";
import { openAccessLog } from "./open-log.ts";
import { addMetrics } from "./open-metrics.ts";
import type { OpenRequests, RequestDependencies } from "./open-requests.ts";
import { firstUnavailable } from "./readiness.ts";
import { serveMetrics } from "./serve.ts";
import type { Startup } from "./startup.ts";

interface WebDependencies extends RequestDependencies {
  readonly requests: OpenRequests;
  readonly dashboard: Promise<Dashboard>;
  /** How many problems the catalog file has; `null` without one. */
  readonly catalogProblems: () => number | null;
  /** Whether the start is complete: the first operator and the demo account exist. */
  readonly isStarted: () => boolean;
}

/** Opens the handler of all requests outside of `/v1` and `/dashboard`: procedures, the dashboard's files, metrics, `/healthz` and `/readyz`. */
export async function openWeb(startup: Startup, dependencies: WebDependencies): Promise<Served["web"]> {
  const { settings, shutdown, now } = startup;
  const { config } = settings;
  const { node, records, access, procedures, requests, dashboard, isStarted } = dependencies;
  const { admissions, requireReadable } = node;
  const { metrics, recorder, journal } = records;
  const { bodies, faults, trustedProxies, newId } = requests;
  const { router, callLimits } = procedures;
  addMetrics(metrics, { ...dependencies, callLimits, publisher: access.publisher });
  const addressOf = (request: Request, peer: string) =>
    clientAddress(peer, request.headers.get("x-forwarded-for")?.split(",") ?? [], trustedProxies);
  const metricsAccess = {
    readers: parseNetworks(config.metricsFrom).networks,
    clientAddress: addressOf,
    isTrustedProxy: (peer: string) => trustedProxies.contains(peer),
  };
  const unavailable = firstUnavailable({
    PostgreSQL: requireReadable,
    // Without Redis it is this process's memory, which always answers.
    Redis: () => admissions.ping(),
    "the journal": () => journal.check(),
  });
  const answerScrape = (request: Request, peer: string) =>
    answerMetrics(metrics, metricsAccess, request, peer);
  const isOwnHost = (request: Request) => !config.isLocal || isLocalHost(new URL(request.url).hostname);
  await serveMetrics(startup, requests, (request, peer) =>
    answerOnMetricsPort(request, isOwnHost(request), () => answerScrape(request, peer)),
  );
  return createApp({
    rpc: createRpcHandler({
      router,
      ...access,
      bodies,
      recorder,
      callLimits,
      newId,
      now,
      clientAddress: addressOf,
      faults,
      browserAddress: { origin: config.publicUrl, isHttps: config.isHttps },
    }),
    metrics: async (request, peer) =>
      config.metricsPort === null
        ? answerScrape(request, peer)
        : notHere("Metrics are on the port of OSTIARY_METRICS_PORT."),
    dashboard: await dashboard,
    newId,
    faults,
    accessLog: openAccessLog(startup),
    clientAddress: addressOf,
    requireOwnHost: (request) => {
      if (!isOwnHost(request)) throw foreignHost();
    },
    notReady: async () => {
      if (shutdown.hasBegun) return "stopping";
      return isStarted() ? await unavailable() : "starting";
    },
  });
}

/** Reads the dashboard and what is served beside it. It takes a tenth of a second, in which the database can start. */
export function loadDashboard({ settings, folders }: Startup): Promise<Dashboard> {
  const dashboard = Dashboard.load([folders.dashboard, folders.site, folders.docs], {
    isHttps: settings.config.isHttps,
  });
  // The start reports a failure when it awaits the dashboard, unless it has failed before.
  dashboard.catch(() => {});
  return dashboard;
}

/** Answers a request on the port for metrics, which serves nothing else. */
async function answerOnMetricsPort(
  request: Request,
  isOwnHost: boolean,
  scrape: () => Promise<Response>,
): Promise<Response> {
  if (!isOwnHost) return refuse(foreignHost());
  return new URL(request.url).pathname === "/metrics"
    ? await scrape()
    : notHere("Only /metrics is served on this port. Use that of PORT for everything else.");
}

function notHere(message: string): Response {
  return refuse(new Failure("not_found", message));
}

function foreignHost(): Failure {
  return new Failure(
    "permission_denied",
    "The service listens on its own machine only, and is not open at this name. Use `localhost` or an IP address, or set OSTIARY_PUBLIC_URL to the address that browsers use.",
  );
}

function refuse(failure: Failure): Response {
  return Response.json(envelopeOf(failure), { status: failure.status });
}
