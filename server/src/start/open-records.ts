import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../sdk/src/contract/time-units.ts";
import { dropExpiredSessions } from "../accounts/users-store.ts";
import { dropOldEntries } from "../audit/audit-retention.ts";
import { Reconciler } from "../audit/reconciliation.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { AuditEntry } from "../contract/entry.ts";
import { Credits } from "../credits/credits.ts";
import { PostgresCredit } from "../credits/postgres-credit.ts";
import { releaseOfOthers, releaseOfUnseen } from "../credits/spenders.ts";
import { BACKGROUND_TIMEOUT_MS } from "../database/database.ts";
import { resultWithin } from "../errors/deadline.ts";
import { Idempotency } from "../idempotency/idempotency.ts";
import { dropOldAnswers, PostgresIdempotency } from "../idempotency/idempotency-store.ts";
import { dropOldUsage } from "../keys/key-usage.ts";
import { Metrics } from "../metrics/metrics.ts";
import { SecurityLog } from "../security/security-log.ts";
import { dropOldSecurityEvents } from "../security/security-store.ts";
import { nodeLabel } from "./node-id.ts";
import { type OpenAudit, openAudit } from "./open-audit.ts";
import type { OpenNode } from "./open-node.ts";
import type { OpenResponses } from "./open-responses.ts";
import { RUNTIME } from "./runtime.ts";
import type { Startup } from "./startup.ts";

/**
 * A node that is cut off from the database stops holding credit after this share of the time after which other nodes release its reserve: its
 * clock may run slower than that of the database.
 */
const DISCONNECTED_SHARE = 0.9;
/** Past hours of usage that the background job reconciles; an operator may ask for more. */
const RECONCILED_HOURS = 2;

/** How long a start waits until the spenders of earlier starts, or of other nodes, are closed, so that its first requests find their credit free. */
const CLOSED_WITHIN_MS = 2_000;

export type OpenRecords = Awaited<ReturnType<typeof openRecords>>;

/**
 * Opens what records and charges requests: metrics, credit, idempotency, the audit log and security events. Entries of earlier
 * starts in the node's journal are recorded when this resolves, as far as {@link openAudit} says.
 */
export async function openRecords(
  startup: Startup,
  node: OpenNode,
  { catalog, sealer }: { readonly catalog: Catalog } & Pick<OpenResponses, "sealer">,
) {
  const { settings, version, log, teardown, now, monotonicMs, passedMs } = startup;
  const { config } = settings;
  const { id, database, longReads } = node;
  const metrics = new Metrics((model) => catalog.find(model) !== null, { version, runtime: RUNTIME });
  startup.worker?.shareMetrics(metrics);
  const creditStore = new PostgresCredit(database, id, nodeLabel(config.dataDir));
  if (config.takeOver) await releaseCreditOfOthers(startup, creditStore);
  const releaseAfterMs = config.creditReleaseAfterS * SECOND_MS;
  let audit: OpenAudit | null = null;
  const credits = new Credits({
    store: creditStore,
    monotonicMs,
    passedMs,
    maxDisconnectedMs: releaseAfterMs === 0 ? null : DISCONNECTED_SHARE * releaseAfterMs,
    // Until the journal is open it may contain unrecorded entries.
    owesEntries: () =>
      audit === null || audit.journal.rejectedLines() > 0 || audit.recorder.owesEarlierEntries,
  });
  // The spender of this start is opened first, so that it is newer than every spender that the journal of earlier starts names.
  const spender = await credits.open();
  const idempotencyStore = new PostgresIdempotency(database, id, () => credits.spender);
  const idempotency = new Idempotency(idempotencyStore, sealer);
  const onSettled = (entries: readonly AuditEntry[]) => {
    credits.committed(entries);
    idempotency.forget(entries);
  };
  audit = await openAudit(startup, node, {
    onRecorded: (entry) => metrics.ended(entry),
    onUncollected: (uncollected) => {
      metrics.uncollected(uncollected);
      const { accountId, reason, amountNanoUsd } = uncollected;
      log.warn(
        { accountId, reason, amountNanoUsd: String(amountNanoUsd) },
        "a charge could not be collected",
      );
    },
    onLeftByEarlier: (entries) => idempotency.resume(entries),
    onCommitted: onSettled,
    // The cost of rejected entries stays reserved only while their lines are in the journal (`owesEntries`).
    onRejected: onSettled,
  });
  const { recorder, journal } = audit;
  // The journal is replayed, so the spenders and claims of earlier starts of this node are no longer needed. While entries of locked accounts wait, or
  // a reserve of a locked account cannot be freed, the start goes on, and a job closes the spenders later.
  await resultWithin(CLOSED_WITHIN_MS, credits.closeOlder());
  // The claims may be those of answers that wait with such entries. The others end by themselves, like those of a node that is gone.
  if (!recorder.owesEarlierEntries) await idempotencyStore.clear(spender);
  const securityLog = new SecurityLog(database, longReads, now);
  teardown.add("credit", () => credits.stop());
  teardown.add("recorder", () => {
    if (node.isReplaced()) journal.keepSegments();
    return recorder.stop();
  });
  teardown.add("security events", () => securityLog.flush());

  const reconciler = new Reconciler(longReads.withTimeout(BACKGROUND_TIMEOUT_MS), credits, now);
  const records = { metrics, credits, creditStore, idempotency, ...audit, securityLog, reconciler };
  addReleaseOfAbsentNodes(startup, records);
  addJobs(startup, node, records);
  return records;
}

/**
 * Releases the credit of the nodes that this one takes over. While another transaction keeps an account locked, the start goes on, and a job
 * releases the rest.
 */
async function releaseCreditOfOthers({ jobs }: Startup, creditStore: PostgresCredit): Promise<void> {
  const release = await releaseOfOthers(creditStore, "OSTIARY_TAKE_OVER=1: other nodes have ended");
  jobs.add({ name: "release credit of nodes that were taken over", everyMs: 5 * SECOND_MS, run: release });
  // The job repeats what fails, and logs it.
  const first = release().catch(() => {});
  await resultWithin(CLOSED_WITHIN_MS, first);
}

/** Releases the credit of nodes that have been absent for the configured time. */
function addReleaseOfAbsentNodes(
  { settings, log, jobs, monotonicMs }: Startup,
  { creditStore }: Pick<OpenRecords, "creditStore">,
): void {
  const unseenMs = settings.config.creditReleaseAfterS * SECOND_MS;
  if (unseenMs === 0) return;
  const release = releaseOfUnseen({
    store: creditStore,
    unseenMs,
    monotonicMs,
    onReleased: (spender) =>
      log.warn({ spender: String(spender) }, "released the credit of a node that did not return"),
  });
  jobs.add({ name: "release credit of absent nodes", everyMs: 30 * SECOND_MS, run: release });
}

/** Adds the background jobs of the records: what keeps them going, and what deletes old ones. */
function addJobs(
  { settings: { plans }, jobs }: Startup,
  { longReads, clocks }: OpenNode,
  records: Pick<
    OpenRecords,
    "journal" | "recorder" | "credits" | "idempotency" | "securityLog" | "reconciler"
  >,
): void {
  const { journal, recorder, credits, idempotency, securityLog, reconciler } = records;
  const recordUnwritten = async () => {
    if (journal.isWritable) await recorder.recordUnwritten();
  };
  /** Deletes by age only while this node's clock agrees with the database's. */
  const drop = (name: string, run: (at: Date) => Promise<unknown>) => ({
    name,
    everyMs: HOUR_MS,
    run: () => clocks.whileAgreed(run),
  });
  jobs.add(
    { name: "check the journal", everyMs: SECOND_MS, run: () => journal.check() },
    // Apart from the check, which ends the waits for a disk that does not answer.
    { name: "record what could not be written", everyMs: SECOND_MS, run: recordUnwritten },
    { name: "renew reserved credit", everyMs: SECOND_MS, run: () => credits.renew() },
    { name: "release reclaimed credit", everyMs: SECOND_MS, run: () => credits.releaseReclaimed() },
    { name: "release idle credit", everyMs: SECOND_MS, run: () => credits.releaseIdle() },
    { name: "close replaced credit spenders", everyMs: SECOND_MS, run: () => credits.closeDrained() },
    { name: "renew idempotency claims", everyMs: SECOND_MS, run: () => idempotency.renew() },
    { name: "watch the database's clock", everyMs: 5 * SECOND_MS, run: () => idempotency.watchClock() },
    { name: "repeat lost releases of claims", everyMs: SECOND_MS, run: () => idempotency.retryReleases() },
    { name: "write security events", everyMs: 3 * SECOND_MS, run: () => securityLog.flush() },
    { name: "reconcile", everyMs: 10 * MINUTE_MS, run: () => reconciler.checkRecent(RECONCILED_HOURS) },
    drop("delete old idempotent answers", () => dropOldAnswers(longReads)),
    drop("delete expired sessions", (at) => dropExpiredSessions(longReads, at)),
    drop("delete old security events", (at) => dropOldSecurityEvents(longReads, at)),
    drop("delete old usage", (at) => dropOldUsage(longReads, at)),
    drop("delete old audit entries", (at) => dropOldEntries(longReads, plans, at)),
  );
}
