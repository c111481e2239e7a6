import { readFile } from "node:fs/promises";
import process from "node:process";
import { BackgroundJobs } from "./start/background-jobs.ts";
import { banner } from "./start/banner.ts";
import { readEnvironmentFile } from "./start/environment-file.ts";
import { createFirstUsers } from "./start/first-users.ts";
import { openAccess } from "./start/open-access.ts";
import { openLog } from "./start/open-log.ts";
import { openManagement } from "./start/open-management.ts";
import { openGateway, openModels } from "./start/open-models.ts";
import { openNode } from "./start/open-node.ts";
import { openProcedures } from "./start/open-procedures.ts";
import { openRecords } from "./start/open-records.ts";
import { openRequests } from "./start/open-requests.ts";
import { openResponses } from "./start/open-responses.ts";
import { readSettings } from "./start/read-settings.ts";
import { RUNTIME } from "./start/runtime.ts";
import { serve } from "./start/serve.ts";
import { type Shutdown, STOP_MS, stopOnSignals } from "./start/shutdown.ts";
import type { Startup } from "./start/startup.ts";
import { explainStartup } from "./start/startup-failure.ts";
import { Teardown } from "./start/teardown.ts";

/** Opens the parts of the service in their order. Each adds its background jobs, and what closes it to the teardown. */
async function start(startup: Startup): Promise<void> {
  const { config } = startup.settings;
  let publicUrl = config.publicUrl;
  let certificateExpiresAt: () => Date | null = () => null;
  let isStarted = false;
  const opened = await openModels(startup);
  const { catalog, transport } = opened;
  const node = await openNode(startup);
  const responses = await openResponses(startup, node);
  const records = await openRecords(startup, node, { catalog, sealer: responses.sealer });
  const access = await openAccess(startup, node, records);
  const gateway = openGateway(startup, opened, records.securityLog);
  const parts = { node, records, responses, access, catalog, gateway, transport };
  const procedures = openProcedures(startup, {
    ...parts,
    transport: opened.transport,
    publicUrl: () => publicUrl,
    certificateExpiresAt: () => certificateExpiresAt(),
  });
  const requests = await openRequests(startup, {
    ...parts,
    responses,
    procedures,
    publicUrl: () => publicUrl,
    certificateExpiresAt: () => certificateExpiresAt(),
  });
  // With PORT=0 the address is known only now.
  const serving = await serve(startup, requests, records.auditTail);
  const { listensOn, serveWeb } = serving;
  publicUrl ??= listensOn;
  certificateExpiresAt = serving.certificateExpiresAt;
  const management = { ...parts, procedures, requests, certificateExpiresAt, isStarted: () => isStarted };
  serveWeb(await openManagement(startup, management));
  startup.jobs.start();

  const demo = await createFirstUsers(startup, access);
  const models = catalog.models.map(({ id }) => id);
  const facts = { url: publicUrl, listensOn, database: node.label };
  const { serviceName, warnings } = config;
  // The demo account's key is shown without a terminal too: nobody could see it later.
  if (startup.hasBanner || demo !== null)
    process.stdout.write(banner({ serviceName, warnings, ...facts, models, demo }));
  isStarted = true;
  startup.log.info({ ...facts, models: models.length }, "ready");
}

/** In the sources and in the build alike. */
const FOLDERS = {
  migrations: new URL("./database/migrations/", import.meta.url),
  dashboard: new URL("../../dashboard-ui/dist/", import.meta.url),
  site: new URL("../dist/site/", import.meta.url),
  docs: new URL("../../docs-site/dist/", import.meta.url),
};

async function main(): Promise<void> {
  let log = openLog("info");
  const teardown = new Teardown();
  let shutdown: Shutdown | null = null;
  try {
    readEnvironmentFile(process.env);
    const settings = await readSettings(process.env);
    const { config } = settings;
    const hasBanner = config.demo && process.stdout.isTTY === true;
    // Who sees the banner need not read the same in JSON.
    log = openLog(config.logLevel ?? (hasBanner ? "warn" : "info"));
    const version = await readVersion();
    log.info({ version, runtime: RUNTIME, settings: config.logged }, "starting");
    for (const line of [...config.unknownSettings, ...config.warnings]) log.warn(line);
    shutdown = stopOnSignals(config, log, teardown);
    const jobs = new BackgroundJobs(log);
    const clocks = { now: () => new Date(), monotonicMs: () => performance.now() };
    await start({ settings, version, folders: FOLDERS, log, hasBanner, jobs, teardown, shutdown, ...clocks });
  } catch (error) {
    // A signal during the start has closed what the start was about to use. The shutdown ends the process.
    if (shutdown?.hasBegun) return;
    log.debug({ err: error }, "start failed");
    reportFailure(explainStartup(error));
    const endMs = performance.now() + STOP_MS;
    await teardown.run(log, () => endMs - performance.now());
    process.exit(1);
  }
}

/** Tells why the service can't start, whatever the level of the log is: as text on a terminal, otherwise as lines of the log. */
function reportFailure(problems: readonly string[]): void {
  const log = openLog("fatal");
  for (const problem of problems) {
    if (process.stderr.isTTY) process.stderr.write(`${problem}\n`);
    else log.fatal(problem);
  }
}

async function readVersion(): Promise<string> {
  const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version }: { version: string } = JSON.parse(manifest);
  return version;
}

await main();
