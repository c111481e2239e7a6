import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Logger, pino } from "pino";
import { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId, UserId } from "../../server/src/contract/account.ts";
import type { NewAction } from "../../server/src/contract/action.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
import { Journal } from "../../server/src/journal/journal.ts";
import { JournalRepair } from "../../server/src/journal/journal-repair.ts";
import { FaultyDisk, systemError } from "../fixtures/faulty-disk.ts";

/** The operator who repairs the journal. */
export const BY = { userId: "operator" as UserId, managementToken: null, sourceIp: null };

export const SEGMENT = "000000000001.ndjson";
export const REJECTED = "000000000001.rejected";

/** An entry's line in the journal. */
export const ended = (entry: AuditEntry) => Buffer.from(`${encodeEntry(entry)}\n`);

/** The line that the journal holds while the entry's request is being answered. */
export const begun = (entry: AuditEntry) =>
  Buffer.from(`begun ${encodeEntry({ ...entry, endReason: "node_lost", costNanoUsd: 0n })}\n`);

/** Takes each entry once, like the real database, refuses malformed addresses, and leaves the entries of locked accounts out. */
class FakeDatabase {
  readonly entries = new Map<EntryId, AuditEntry>();
  readonly lockedAccounts = new Set<AccountId>();
  isAway = false;

  async insertEntries(batch: readonly AuditEntry[]): Promise<readonly AuditEntry[]> {
    if (this.isAway) throw systemError("ECONNREFUSED", "connect");
    for (const { sourceIp } of batch) {
      if (sourceIp?.endsWith("z"))
        throw systemError("22P02", `invalid input syntax for type inet: "${sourceIp}"`);
    }
    const isLocked = ({ accountId }: AuditEntry) => this.lockedAccounts.has(accountId);
    const free = batch.filter((entry) => !isLocked(entry));
    for (const entry of free) if (!this.entries.has(entry.id)) this.entries.set(entry.id, entry);
    return batch.filter(isLocked);
  }

  get ids(): EntryId[] {
    return [...this.entries.keys()];
  }
}

interface Started {
  readonly journal: Journal;
  readonly repair: JournalRepair;
  readonly actions: NewAction[];
}

/** A journal's folder, with a disk and a database that a test can make fail. */
export class JournalFolder implements AsyncDisposable {
  readonly disk = new FaultyDisk();
  readonly database = new FakeDatabase();
  readonly logged: Record<string, unknown>[] = [];
  readonly log: Logger = pino(
    { level: "info" },
    { write: (line) => void this.logged.push(JSON.parse(line)) },
  );
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<JournalFolder> {
    return new JournalFolder(await mkdtemp(join(tmpdir(), "ostiary-journal-")));
  }

  /** Replays the journal, as a start of the service does. */
  async start(): Promise<Started> {
    const { journal, leftover } = await Journal.open({ folder: this.path, sync: false, files: this.disk });
    const recorder = new Recorder({ journal, sink: this.database, durability: "journal", log: this.log });
    await recorder.replay(leftover);
    await recorder.stop();
    const actions: NewAction[] = [];
    const repair = new JournalRepair({
      journal,
      folder: this.path,
      nodeId: "this node",
      insert: (entries) => this.database.insertEntries(entries),
      record: async (action) => void actions.push(action),
      now: () => new Date(),
    });
    return { journal, repair, actions };
  }

  /** Leaves a segment as a killed process does. */
  leave(...lines: readonly (Buffer | string)[]): Promise<void> {
    return writeFile(join(this.path, SEGMENT), Buffer.concat(lines.map((line) => Buffer.from(line))));
  }

  /** The errors that were logged. */
  alarms(): Record<string, unknown>[] {
    return this.logged.filter(({ level }) => level === 50);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
