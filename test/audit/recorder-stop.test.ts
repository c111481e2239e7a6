import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Recorder } from "../../server/src/audit/recorder.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import { Journal } from "../../server/src/journal/journal.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

let folder: string;
let committed: EntryId[];
let isAway: boolean;
/** Called when a batch is inserted, or fails. */
let onAttempt = () => {};
let recorder: Recorder;

beforeEach(async () => {
  // No pause ends by itself.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  folder = await mkdtemp(join(tmpdir(), "ostiary-journal-"));
  committed = [];
  isAway = false;
  const { journal } = await Journal.open({ folder, sync: false });
  const insertEntries = async (entries: readonly AuditEntry[]) => {
    onAttempt();
    if (isAway) throw new Error("the database is away");
    committed.push(...entries.map(({ id }) => id));
    return [];
  };
  const log = pino({ level: "silent" });
  recorder = new Recorder({ journal, sink: { insertEntries }, durability: "journal", log });
});

afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

/** Records an entry, and waits until an attempt to insert it has ended. */
async function attempted(entry: AuditEntry): Promise<void> {
  const attempt = new Promise<void>((resolve) => {
    onAttempt = resolve;
  });
  await recorder.record(entry);
  await attempt;
  await setImmediate();
}

describe("a recorder that stops", () => {
  it("ends the pause between two batches, and inserts what waits for the next", async () => {
    const [first, second] = [auditEntry(), auditEntry()];
    await attempted(first);
    await recorder.record(second);
    expect(committed).toEqual([first.id]);
    await recorder.stop();
    expect(committed).toEqual([first.id, second.id]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("ends the pause after a failure, and tries once more", async () => {
    const entry = auditEntry();
    isAway = true;
    await attempted(entry);
    expect(recorder.backlog()).toMatchObject({ entries: 1, failures: 1 });
    isAway = false;
    await recorder.stop();
    expect(committed).toEqual([entry.id]);
    expect(await readdir(folder)).toEqual([]);
  });
});
