import { setImmediate } from "node:timers";
import { SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { BodyBudget, shareOut } from "../admission/body-budget.ts";
import { entryClock } from "../audit/entry-clock.ts";
import { EntryIds } from "../audit/entry-ids.ts";
import { readNewestDeletedMs } from "../audit/removed-entries.ts";
import { FaultLog } from "../errors/fault-log.ts";
import { accountOfToken } from "../management/caller.ts";
import { dashboardSessions } from "../management/dashboard-sessions.ts";
import { restOperations } from "../management/rest/rest-operations.ts";
import { parseNetworks } from "../networks/networks.ts";
import { allOperations } from "../operations/all-operations.ts";
import { createCompressor } from "../operations/compressed-body.ts";
import { Overload } from "../overload/overload.ts";
import { TurnShares } from "../overload/turn-shares.ts";
import { CrossOrigin } from "../request/cross-origin.ts";
import { OperationTable } from "../request/find-operation.ts";
import { RequestHandler } from "../request/request-handler.ts";
import { TokenEstimator } from "../tokens/token-estimate.ts";
import { TokenizerThread } from "../tokens/tokenizer-thread.ts";
import { bodyBytesOf, readMemory } from "./memory.ts";
import { openAccessLog } from "./open-log.ts";
import type { OpenProcedures, ProcedureDependencies } from "./open-procedures.ts";
import type { OpenResponses } from "./open-responses.ts";
import { openTracing } from "./runtime.ts";
import type { Startup } from "./startup.ts";

export type OpenRequests = Awaited<ReturnType<typeof openRequests>>;

export interface RequestDependencies extends ProcedureDependencies {
  readonly procedures: OpenProcedures;
  readonly responses: OpenResponses;
}

/** Opens the handler of requests under `/v1` and `/dashboard`, and the parts of it that others use. */
export async function openRequests(startup: Startup, dependencies: RequestDependencies) {
  const { settings, version, log, jobs, teardown, monotonicMs } = startup;
  const { config } = settings;
  const { node, records, access, catalog } = dependencies;
  const tracing = await openTracing(config, { version, id: node.id, log });
  teardown.add("tracing", () => tracing.close());
  const { databaseMs, latestMs } = node.clocks;
  const newestDeletedMs = await readNewestDeletedMs(node.database);
  const ids = new EntryIds(
    entryClock({ plans: settings.plans, nowMs: Date.now, databaseMs, latestMs, newestDeletedMs }),
  );
  const newId = () => ids.next();
  const bodies = new BodyBudget(shareOut(bodyBytesOf(config, readMemory()), config.maxBodyBytes));
  const turnShares = new TurnShares(monotonicMs, setImmediate);
  const overload = new Overload({ monotonicMs, log, turnShares });
  overload.start();
  teardown.add("overload", async () => overload.stop());
  const trustedProxies = parseNetworks(config.trustedProxies).networks;
  const tokenizer = new TokenizerThread({ log, monotonicMs });
  const estimator = new TokenEstimator((texts) => tokenizer.count(texts));
  const operations = new OperationTable(
    allOperations({
      catalog,
      auditLog: records.auditLog,
      reads: records.reads,
      ...dependencies.responses,
      management: restOperations({ ...access, ...dependencies.procedures, reads: records.reads }),
      gateway: dependencies.gateway,
      estimator,
      maxBodyBytes: config.maxBodyBytes,
      monotonicMs,
      service: () => ({ name: config.serviceName, version, url: dependencies.publicUrl() ?? "/" }),
    }),
  );
  const faults = new FaultLog({ log, monotonicMs });
  const handler = new RequestHandler({
    operations,
    access: access.access,
    accountOfToken: (token, clientInfo) => accountOfToken(access, token, clientInfo),
    sessions: dashboardSessions(access.signIn, { origin: config.publicUrl, isHttps: config.isHttps }),
    bodies,
    overload,
    turnShares,
    catalog,
    credits: records.credits,
    idempotency: records.idempotency,
    recorder: records.recorder,
    security: records.securityLog,
    trace: (entry, traceparent) => tracing.ended(entry, traceparent),
    accessLog: openAccessLog(startup),
    compress: createCompressor(),
    trustedProxies,
    crossOrigin: new CrossOrigin(config.allowedOrigins),
    log,
    faults,
    newId,
    monotonicMs,
  });
  jobs.add({ name: "send heartbeats", everyMs: 5 * SECOND_MS, run: async () => handler.maintain() });
  return { handler, faults, bodies, overload, trustedProxies, newId, tokenizer };
}
