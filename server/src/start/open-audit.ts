import { recordAction } from "../accounts/actions-store.ts";
import { AuditChain } from "../audit/audit-chain.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { PostgresAuditReader } from "../audit/audit-reader.ts";
import { PostgresAudit } from "../audit/audit-store.ts";
import { AuditTail } from "../audit/audit-tail.ts";
import type { EntrySink } from "../audit/entry-sink.ts";
import { FirstStepsReader } from "../audit/first-steps.ts";
import { insertInParts } from "../audit/left-out.ts";
import { Recorder, type RecorderParts } from "../audit/recorder.ts";
import { AuditSummary, PostgresSummary } from "../audit/summary.ts";
import { UsageReports } from "../audit/usage.ts";
import { PostgresUsage } from "../audit/usage-store.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { inTransaction } from "../database/database.ts";
import { Reads } from "../database/reads.ts";
import { Journal } from "../journal/journal.ts";
import { JournalRepair } from "../journal/journal-repair.ts";
import type { OpenNode } from "./open-node.ts";
import type { Startup } from "./startup.ts";

/** The functions that are called when entries are recorded, found in the journal, committed or rejected. */
type EntryListeners = Required<
  Pick<RecorderParts, "onRecorded" | "onLeftByEarlier" | "onCommitted" | "onRejected">
> & {
  /** Called for each amount that an account did not pay, once it is committed. */
  readonly onUncollected: (uncollected: Uncollected) => void;
};

/** The recorder, the journal, and what reads the audit log. */
export type OpenAudit = Awaited<ReturnType<typeof openAudit>>;

/**
 * Opens the recorder, and everything that reads audit entries. Entries of earlier starts in the node's journal are recorded when
 * this resolves, except those of locked accounts: see {@link Recorder.replay}.
 */
export async function openAudit(
  { settings: { config }, log, now, monotonicMs }: Startup,
  { id: nodeId, recording, longReads, clocks }: OpenNode,
  { onUncollected, onCommitted, ...listeners }: EntryListeners,
) {
  const reads = new Reads(monotonicMs);
  const entries = new PostgresAuditReader(longReads);
  const auditTail = new AuditTail(entries, reads);
  const folder = `${config.dataDir}/journal`;
  const { journal, leftover } = await Journal.open({ folder, sync: config.auditDurability === "disk" });
  const audit = new PostgresAudit(recording, nodeId, onUncollected);
  const sink: EntrySink = {
    insertEntries: (added, options) => insertInParts(audit, added, options),
  };
  const recorder = new Recorder({
    journal,
    sink,
    durability: config.auditDurability,
    log,
    ...listeners,
    onCommitted: (committed) => {
      onCommitted(committed);
      auditTail.recorded();
    },
  });
  await recorder.replay(leftover);
  const journalRepair = new JournalRepair({
    journal,
    folder,
    nodeId,
    insert: (repaired) => sink.insertEntries(repaired, { mayExist: true }),
    record: (action) => inTransaction(recording, (transaction) => recordAction(transaction, action)),
    now,
  });
  return {
    recorder,
    journal,
    journalRepair,
    auditLog: new AuditLog(entries, recorder, reads, clocks.closedUntilMs),
    auditChain: new AuditChain(longReads, recorder, reads),
    auditSummary: new AuditSummary({
      store: new PostgresSummary(longReads),
      entries,
      recorder,
      reads,
      now,
    }),
    auditTail,
    usage: new UsageReports(new PostgresUsage(longReads), recorder, reads),
    firstSteps: new FirstStepsReader(longReads, recorder, reads),
    /** The budgets by which reads share the database. */
    reads,
  };
}
