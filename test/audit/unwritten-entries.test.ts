import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Recorder } from "../../server/src/audit/recorder.ts";
import type { AuditEntry } from "../../server/src/contract/entry.ts";
import { Journal } from "../../server/src/journal/journal.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { FaultyDisk } from "../fixtures/faulty-disk.ts";

let folder: string;
let disk: FaultyDisk;
let journal: Journal;
let committed: AuditEntry[];
let recorder: Recorder;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-journal-"));
  disk = new FaultyDisk();
  committed = [];
  const opened = await Journal.open({ folder, sync: false, files: disk });
  journal = opened.journal;
  const sink = {
    insertEntries: async (entries: readonly AuditEntry[]) => {
      committed.push(...entries);
      return [];
    },
  };
  recorder = new Recorder({ journal, sink, durability: "journal", log: pino({ level: "silent" }) });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A request that began, and whose end found no space on the disk. */
async function unwritten() {
  const entry = auditEntry({ status: 503, errorCode: "server_is_overloaded" });
  const begun = recorder.begin(entry);
  await begun.whenWritten;
  disk.room = 0;
  await expect(recorder.record(auditEntry({ id: entry.id }), begun)).rejects.toThrow("cannot record");
  recorder.recordLater(entry, begun);
  return entry;
}

describe("a request whose end could not be written", () => {
  it("is recorded as refused once the journal can be written, and leaves nothing there", async () => {
    const entry = await unwritten();
    await recorder.recordUnwritten();
    expect(journal.isWritable).toBe(false);
    disk.room = Number.POSITIVE_INFINITY;
    await journal.check();
    await recorder.recordUnwritten();
    await expect.poll(() => committed).toEqual([entry]);
    await recorder.recordUnwritten();
    await recorder.stop();
    expect(committed).toHaveLength(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it("is recorded when the service stops", async () => {
    const entry = await unwritten();
    disk.room = Number.POSITIVE_INFINITY;
    await recorder.stop();
    expect(committed).toEqual([entry]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("stays in the journal if it can't be written until then", async () => {
    await unwritten();
    await recorder.stop();
    expect(committed).toEqual([]);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it("is not recorded if its beginning could not be written either", async () => {
    disk.room = 0;
    const entry = auditEntry();
    const begun = recorder.begin(entry);
    await begun.whenWritten.catch(() => {});
    recorder.recordLater(entry, begun);
    disk.room = Number.POSITIVE_INFINITY;
    await recorder.stop();
    expect(committed).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });
});
