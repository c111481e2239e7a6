import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Recorder } from "../../server/src/audit/recorder.ts";
import { Unavailable } from "../../server/src/errors/failure.ts";
import { Journal } from "../../server/src/journal/journal.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";

const log = pino({ level: "silent" });
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-journal-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("a recorded entry", () => {
  it("is waited for by reads until the database turns out to be unreachable, and by later ones not at all", async () => {
    const sink = {
      insertEntries: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw Object.assign(new Error("write CONNECT_TIMEOUT"), { code: "CONNECT_TIMEOUT" });
      },
    };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "journal", log });
    await recorder.record(auditEntry());
    await expect(recorder.tryFlush(null)).rejects.toThrow(Unavailable);
    await recorder.tryFlush(null);
    await recorder.stop();
  });

  it("is not missing from what lists entries: that is refused while its insert fails, for whatever reason", async () => {
    let isLocked = true;
    const sink = {
      insertEntries: async () => {
        if (isLocked) throw Object.assign(new Error("canceling statement"), { code: "57014" });
        return [];
      },
    };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "journal", log });
    const recorded = auditEntry();
    await recorder.record(recorded);
    await expect(recorder.flush(recorded.accountId)).rejects.toThrow(Unavailable);
    // Also while the recorder waits to retry.
    await expect(recorder.flush(null)).rejects.toThrow(Unavailable);
    isLocked = false;
    await recorder.flush(recorded.accountId);
    expect(recorder.backlog().entries).toBe(0);
    await recorder.stop();
  });

  it("is waited for by reads for five seconds at most", async () => {
    const answers: ((left: []) => void)[] = [];
    const sink = { insertEntries: () => new Promise<[]>((resolve) => answers.push(resolve)) };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "journal", log });
    await recorder.record(auditEntry());
    // The statement never ends, and neither fails.
    await expect(recorder.flush(null)).rejects.toThrow(Unavailable);
    for (const answer of answers) answer([]);
    await recorder.stop();
  });
});
