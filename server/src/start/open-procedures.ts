import { recordAction } from "../accounts/actions-store.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { PostgresLedger } from "../credits/ledger.ts";
import { inTransaction } from "../database/database.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { CallLimits } from "../management/call-limits.ts";
import { createAppRouter } from "../management/router.ts";
import type { Transport } from "../upstream/transport.ts";
import { statusOfNode } from "./node-status.ts";
import type { OpenAccess } from "./open-access.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenRecords } from "./open-records.ts";
import type { Startup } from "./startup.ts";

export type OpenProcedures = ReturnType<typeof openProcedures>;

export interface ProcedureDependencies {
  readonly node: OpenNode;
  readonly records: OpenRecords;
  readonly access: OpenAccess;
  readonly catalog: Catalog;
  readonly gateway: Gateway;
  readonly transport: Transport;
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
    gateway,
    transport,
    now,
    recordAction: (action) =>
      inTransaction(node.database, (transaction) => recordAction(transaction, action)),
    charged: () => records.recorder.flushed(),
    catalog,
    service: () => ({ serviceName: config.serviceName, publicUrl: publicUrl() ?? "/" }),
    warnings: config.warnings,
    status: statusOfNode(startup, dependencies),
  });
  return { router, callLimits: new CallLimits(monotonicMs) };
}
