import process from "node:process";
import { backgroundJobs } from "./start/background-jobs.ts";
import { announce } from "./start/banner.ts";
import { createFirstUsers } from "./start/first-users.ts";
import { runtimeWarnings } from "./start/node-release.ts";
import { openAccess } from "./start/open-access.ts";
import { openLog } from "./start/open-log.ts";
import { openGateway, openModels } from "./start/open-models.ts";
import { openNode } from "./start/open-node.ts";
import { openNodeSettings } from "./start/open-node-settings.ts";
import { openProcedures } from "./start/open-procedures.ts";
import { openRecords } from "./start/open-records.ts";
import { openRequests } from "./start/open-requests.ts";
import { openResponses } from "./start/open-responses.ts";
import { loadDashboard, openWeb } from "./start/open-web.ts";
import { passedTime } from "./start/passed-time.ts";
import { readSettings, readVersion } from "./start/read-settings.ts";
import { isDeno, RUNTIME } from "./start/runtime.ts";
import { type Serving, serve } from "./start/serve.ts";
import { type Shutdown, STOP_MS, stopOnSignals } from "./start/shutdown.ts";
import type { Startup } from "./start/startup.ts";
import { reportStartupFailure } from "./start/startup-failure.ts";
import { Teardown } from "./start/teardown.ts";
import { keepTickShape } from "./start/tick-shape.ts";
import { supervise } from "./start/workers/supervisor.ts";
import { workerProcess } from "./start/workers/worker-process.ts";

/** Opens the parts of the service in their order. Each adds its background jobs, and what closes it to the teardown. */
async function start(startup: Startup): Promise<void> {
  const { settings, worker } = startup;
  const { config } = settings;
  let isStarted = false;
  const opened = await openModels(startup);
  const { catalog, transport, catalogProblems } = opened;
  const dashboard = loadDashboard(startup);
  const node = await openNode(startup);
  const responses = await openResponses(startup, node);
  const records = await openRecords(startup, node, { catalog, sealer: responses.sealer });
  if (worker?.drains) {
    // The journal was replayed when the records were opened. Nothing else is to be done.
    worker.ready(null);
    return startup.shutdown.begin("drained");
  }
  const access = await openAccess(startup, node, records);
  const gateway = openGateway(startup, opened, records.securityLog);
  let serving: Serving | null = null;
  const parts = {
    node,
    records,
    responses,
    access,
    catalog,
    gateway,
    transport,
    catalogProblems,
    settingsComparison: openNodeSettings(startup, node, catalog),
    // With PORT=0 the address is known only once the service listens.
    publicUrl: () => config.publicUrl ?? serving?.listensOn ?? null,
    certificateExpiresAt: () => serving?.certificateExpiresAt() ?? null,
  };
  const procedures = openProcedures(startup, parts);
  const requests = await openRequests(startup, { ...parts, procedures });
  // A long start counts as an absence, after which the first request would be refused.
  await node.renewMembership();
  serving = await serve(startup, requests, records.auditTail);
  const { listensOn, serveWeb } = serving;
  serveWeb(await openWeb(startup, { ...parts, procedures, requests, dashboard, isStarted: () => isStarted }));
  startup.jobs.start();

  const demo = await createFirstUsers(startup, access);
  const models = catalog.models.map(({ id }) => id);
  const { serviceName, warnings } = config;
  const facts = {
    serviceName,
    warnings,
    url: config.publicUrl ?? listensOn,
    listensOn,
    database: node.label,
    models,
    demo,
  };
  isStarted = true;
  if (worker === null) announce(startup, facts);
  else worker.ready(facts);
}

/** The folders of files that the service reads. Sources and build lie at the same depth, so the paths hold for both. */
const FOLDERS = {
  migrations: new URL("./database/migrations/", import.meta.url),
  dashboard: new URL("../../dashboard-ui/dist/", import.meta.url),
  site: new URL("../dist/site/", import.meta.url),
  docs: new URL("../../docs-site/dist/", import.meta.url),
};

async function main(): Promise<void> {
  if (!isDeno) keepTickShape();
  let log = openLog("info");
  const teardown = new Teardown();
  let shutdown: Shutdown | null = null;
  try {
    const settings = await readSettings(process.env);
    const { config } = settings;
    const worker = workerProcess(process.env);
    const hasBanner = config.demo && process.stdout.isTTY === true;
    // The banner says what the lines of level info would say.
    log = openLog(config.logLevel ?? (hasBanner ? "warn" : "info"));
    const version = await readVersion(new URL("../package.json", import.meta.url));
    if (worker === null) {
      log.info({ version, runtime: RUNTIME, settings: config.logged }, "starting");
      const ofRuntime = runtimeWarnings(new Date());
      for (const line of [...config.unknownSettings, ...config.warnings, ...ofRuntime]) log.warn(line);
      const exitCode = await supervise(config, { log, hasBanner }, process.env);
      if (exitCode !== null) process.exit(exitCode);
    } else log = log.child({ worker: worker.number });
    shutdown = stopOnSignals(config, log, teardown);
    worker?.stopWithSupervisor(shutdown);
    const monotonicMs = () => performance.now();
    const passedMs = passedTime({ monotonicMs, wallMs: Date.now });
    await start({
      settings,
      version,
      folders: FOLDERS,
      log,
      hasBanner,
      jobs: backgroundJobs(log),
      teardown,
      shutdown,
      worker,
      now: () => new Date(),
      monotonicMs,
      passedMs,
    });
  } catch (error) {
    // A signal during the start has closed what the start was about to use. The shutdown ends the process.
    if (shutdown?.hasBegun) return;
    log.debug({ err: error }, "start failed");
    reportStartupFailure(error);
    const endMs = performance.now() + STOP_MS;
    await teardown.run(log, () => endMs - performance.now());
    process.exit(1);
  }
}

await main();
