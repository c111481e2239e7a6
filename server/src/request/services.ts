import type { Logger } from "pino";
import type { Access } from "../access/access.ts";
import type { ClientInfo } from "../accounts/user.ts";
import type { BodyBudget } from "../admission/body-budget.ts";
import type { Recorder } from "../audit/recorder.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { AccountId } from "../contract/account.ts";
import type { AuditEntry, EntryId } from "../contract/entry.ts";
import type { SecurityEvents } from "../contract/security-event.ts";
import type { Credits } from "../credits/credits.ts";
import type { FaultLog } from "../errors/fault-log.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { DashboardSessions } from "../management/dashboard-sessions.ts";
import type { Networks } from "../networks/networks.ts";
import type { Compress } from "../operations/compressed-body.ts";
import type { Overload } from "../overload/overload.ts";
import type { TurnShares } from "../overload/turn-shares.ts";
import type { CrossOrigin } from "./cross-origin.ts";
import type { OperationTable } from "./find-operation.ts";

/** What the request lifecycle uses. */
export interface Services {
  readonly operations: OperationTable;
  readonly access: Access;
  /** The account that a management token may act for. @throws {Failure} when there is none. */
  readonly accountOfToken: (token: string, clientInfo: ClientInfo) => Promise<AccountId>;
  /** The sessions of people at the dashboard, which their browser's cookie names. */
  readonly sessions: DashboardSessions;
  readonly bodies: BodyBudget;
  readonly overload: Overload;
  readonly turnShares: TurnShares;
  readonly catalog: Catalog;
  readonly credits: Credits;
  readonly idempotency: Idempotency;
  readonly recorder: Recorder;
  readonly security: SecurityEvents;
  /** Exports the trace of a request with a known key that has ended; `traceparent` is the client's header. */
  readonly trace: (entry: AuditEntry, traceparent: string | null) => void;
  /** Logs a request that has ended; `null` without an access log. */
  readonly accessLog: AccessLog | null;
  /** Compresses the answers to GET. */
  readonly compress: Compress;
  readonly trustedProxies: Networks;
  /** Which web pages may call the API from a browser. */
  readonly crossOrigin: CrossOrigin;
  readonly log: Logger;
  /** Logs requests that failed. */
  readonly faults: FaultLog;
  readonly newId: () => EntryId;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number;
}

/** Writes a line for a request that has ended. No field contains a secret or a part of a query. */
export type AccessLog = (line: {
  readonly requestId: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number | null;
  /** From its arrival to the end of its answer; for procedures and pages to the beginning of it. */
  readonly durationMs: number;
  /** `null` where it can't be determined. */
  readonly clientAddress: string | null;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Whether the client disconnected before the answer was complete. */
  readonly clientGone?: boolean;
}) => void;
