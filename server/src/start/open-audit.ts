import type { Logger } from "pino";
import { recordAction } from "../accounts/actions-store.ts";
import { AuditChain } from "../audit/audit-chain.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { PostgresAuditReader } from "../audit/audit-reader.ts";
import { PostgresAudit } from "../audit/audit-store.ts";
import { AuditTail } from "../audit/audit-tail.ts";
import { Journal } from "../audit/journal.ts";
import { JournalRepair } from "../audit/journal-repair.ts";
import { type EntrySink, Recorder, type RecorderParts } from "../audit/recorder.ts";
import { Usage } from "../audit/usage.ts";
import { PostgresUsage } from "../audit/usage-store.ts";
import type { Config } from "../config/config.ts";
import type { Uncollected } from "../credits/ledger.ts";
import { type Database, insertInHalves, inTransaction } from "../database/database.ts";
import { Reads } from "../database/reads.ts";

/** The recorder, and everything that reads audit entries. */
export interface OpenAudit {
  readonly recorder: Recorder;
  readonly journal: Journal;
  readonly journalRepair: JournalRepair;
  readonly auditLog: AuditLog;
  readonly auditChain: AuditChain;
  readonly auditTail: AuditTail;
  readonly usage: Usage;
  /** The budgets by which reads share the database. */
  readonly reads: Reads;
}

export type OpenAuditParts = Required<Pick<RecorderParts, "onRecorded" | "onCommitted" | "onSetAside">> & {
  /** Called for each amount that an account did not pay, once it is committed. */
  readonly onUncollected: (uncollected: Uncollected) => void;
  /** The connections for writing entries. */
  readonly recording: Database;
  /** The connections for reading entries. */
  readonly longReads: Database;
  /** See {@link nodeId}. */
  readonly nodeId: string;
  readonly log: Logger;
};

/** Opens the audit log of this node. Entries of earlier lives in its journal are recorded when this resolves. */
export async function openAudit(
  { dataDir, auditDurability }: Config,
  { recording, longReads, nodeId, log, onRecorded, onUncollected, onCommitted, onSetAside }: OpenAuditParts,
): Promise<OpenAudit> {
  const reads = new Reads(() => performance.now());
  const reader = new PostgresAuditReader(longReads);
  const auditTail = new AuditTail(reader, reads);
  const folder = `${dataDir}/journal`;
  const { journal, leftover } = await Journal.open({
    folder,
    sync: auditDurability === "disk",
  });
  const audit = new PostgresAudit(recording, nodeId, onUncollected);
  const sink: EntrySink = {
    insertEntries: (entries) => insertInHalves(entries, (part) => audit.insertEntries(part)),
  };
  const recorder = new Recorder({
    journal,
    sink,
    durability: auditDurability,
    log,
    onRecorded,
    onSetAside,
    onCommitted: (entries) => {
      onCommitted(entries);
      auditTail.recorded();
    },
  });
  await recorder.replay(leftover);
  const journalRepair = new JournalRepair({
    journal,
    folder,
    nodeId,
    insert: (entries) => sink.insertEntries(entries),
    record: (action) => inTransaction(recording, (transaction) => recordAction(transaction, action)),
    now: () => new Date(),
  });
  return {
    recorder,
    journal,
    journalRepair,
    auditLog: new AuditLog(reader, recorder, reads),
    auditChain: new AuditChain(longReads, recorder, reads),
    auditTail,
    usage: new Usage(new PostgresUsage(longReads), recorder, reads),
    reads,
  };
}
