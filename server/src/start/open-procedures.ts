import { recordAction } from "../accounts/actions-store.ts";
import type { SettingsComparison } from "../admission/settings-comparison.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { PostgresLedger } from "../credits/ledger.ts";
import { inTransaction } from "../database/database.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { CallLimits } from "../management/call-limits.ts";
import type { NodeStatus } from "../management/node-status.ts";
import { createAppRouter } from "../management/router.ts";
import type { Transport } from "../upstream/transport.ts";
import type { OpenAccess } from "./open-access.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenRecords } from "./open-records.ts";
import { RUNTIME } from "./runtime.ts";
import type { Startup } from "./startup.ts";

export type OpenProcedures = ReturnType<typeof openProcedures>;

export interface ProcedureDependencies {
  readonly node: OpenNode;
  readonly records: OpenRecords;
  readonly access: OpenAccess;
  readonly catalog: Catalog;
  readonly gateway: Gateway;
  readonly transport: Transport;
  readonly settingsComparison: SettingsComparison;
  /** When the certificate in use expires; `null` without TLS, and before the service listens. */
  readonly certificateExpiresAt: () => Date | null;
  /** Scheme, host and port that clients use; known once the service listens. */
  readonly publicUrl: () => string | null;
}

/** Opens the procedures, which tRPC and REST call, and the limits on these calls. */
export function openProcedures(startup: Startup, dependencies: ProcedureDependencies) {
  const { settings, now, monotonicMs } = startup;
  const { config, plans } = settings;
  const { node, records, access, catalog, gateway, transport, publicUrl } = dependencies;
  const router = createAppRouter({
    ...access,
    ...records,
    signUpIsOpen: config.signUp === "open",
    plans,
    responsesTtlDays: config.responsesTtlDays,
    admission: node.admissions,
    ledger: new PostgresLedger(node.database),
    spenders: records.creditStore,
    settingsComparison: dependencies.settingsComparison,
    gateway,
    transport,
    now,
    recordAction: (action) =>
      inTransaction(node.database, (transaction) => recordAction(transaction, action)),
    charged: (accountId) => records.recorder.tryFlush(accountId),
    catalog,
    service: () => ({ serviceName: config.serviceName, publicUrl: publicUrl() ?? "/" }),
    warnings: config.warnings,
    status: statusOfNode(startup, dependencies),
  });
  return { router, callLimits: new CallLimits(monotonicMs, config.maxConnections) };
}

/** Returns the function that describes the node to operators. */
function statusOfNode({ version, now }: Startup, parts: ProcedureDependencies): () => NodeStatus {
  const { node, records, access, gateway, settingsComparison, certificateExpiresAt } = parts;
  const startedAt = now();
  return () => {
    const { entries, oldestMs, failures, segments } = records.recorder.backlog();
    return {
      version,
      runtime: RUNTIME,
      nodeId: node.id,
      startedAt,
      schema: node.schema,
      database: databaseOf(node),
      redis: redisOf(node),
      isFenced: node.admissions.isApart,
      settingDifferences: settingsComparison.differences,
      recorder: { waitingEntries: entries, lagMs: oldestMs, failures },
      journal: { segments, rejectedLines: records.journal.rejectedLines() },
      unpublishedChanges: access.publisher.waiting,
      clockSkewMs: node.clocks.skewMs,
      certificateExpiresAt: certificateExpiresAt(),
      breakers: gateway.health().map(({ name, breaker, credentialRefusedAt }) => ({
        upstream: name,
        state: breaker,
        isCredentialRefused: credentialRefusedAt !== null,
      })),
    };
  };
}

function databaseOf({ label, probes, poolUses }: OpenNode): NodeStatus["database"] {
  const uses = [...poolUses().values()];
  const sum = (of: (use: (typeof uses)[number]) => number) => uses.reduce((total, use) => total + of(use), 0);
  return {
    label,
    isUp: probes.database.last?.isUp ?? false,
    problem: probes.database.last?.problem ?? null,
    pingMs: probes.database.last?.ms ?? null,
    busyConnections: sum(({ busy }) => busy),
    maxConnections: sum(({ max }) => max),
    waitingStatements: sum(({ waiting }) => waiting),
  };
}

function redisOf({ probes, redisMemory }: OpenNode): NodeStatus["redis"] {
  if (probes.redis === null) return null;
  const { last } = probes.redis;
  return {
    isUp: last?.isUp ?? false,
    problem: last?.problem ?? null,
    pingMs: last?.ms ?? null,
    mayEvict: redisMemory?.mayEvict() ?? null,
  };
}
