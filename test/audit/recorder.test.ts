import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
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

/** Large enough that a segment is full after a hundred. */
function entry(): AuditEntry {
  return auditEntry({ model: "m".repeat(40_000) });
}

async function onDisk(): Promise<string> {
  const files = await readdir(folder);
  // A segment may go between the listing and the reading: then its entries are elsewhere.
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8").catch(() => "")));
  return texts.join("");
}

const NOT_AGAIN = { "x-should-retry": "false" };

describe("a recorded entry", () => {
  it("stays in the journal until it is in the database, however segments are closed and removed meanwhile", async () => {
    const committed = new Set<EntryId>();
    const sink = {
      insertEntries: async (entries: readonly AuditEntry[]) => {
        // The database takes its time, and now and then fails.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
        if (Math.random() < 0.05) throw new Error("the database is away");
        for (const { id } of entries) committed.add(id);
        return [];
      },
    };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "journal", log });
    const missing: EntryId[] = [];
    const client = async () => {
      for (let request = 0; request < 60; request++) {
        const recorded = entry();
        const begun = request % 2 === 0 ? recorder.begin({ ...recorded, endReason: "node_lost" }) : null;
        await recorder.record(recorded, begun);
        if (
          !committed.has(recorded.id) &&
          !(await onDisk()).includes(recorded.id) &&
          !committed.has(recorded.id)
        ) {
          missing.push(recorded.id);
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    expect(missing).toEqual([]);
    await expect
      .poll(async () => {
        await recorder.flush(null);
        return committed.size;
      })
      .toBe(16 * 60);
    await recorder.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is replayed when the process ended before it was in the database", async () => {
    const away = { insertEntries: () => Promise.reject(new Error("the database is away")) };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink: away, durability: "journal", log });
    const entries = Array.from({ length: 250 }, entry);
    await Promise.all(entries.map((recorded) => recorder.record(recorded)));
    await recorder.stop();

    const committed: EntryId[] = [];
    const back = {
      insertEntries: async (batch: readonly AuditEntry[]) => {
        committed.push(...batch.map(({ id }) => id));
        return [];
      },
    };
    const reopened = await Journal.open({ folder, sync: false });
    const successor = new Recorder({ journal: reopened.journal, sink: back, durability: "journal", log });
    await successor.replay(reopened.leftover);
    expect(committed.toSorted()).toEqual(entries.map(({ id }) => id).toSorted());
    await successor.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("names a request that was lost with its process, and only such requests", async () => {
    const { journal } = await Journal.open({ folder, sync: false });
    const away = { insertEntries: () => Promise.reject(new Error("the database is away")) };
    const recorder = new Recorder({ journal, sink: away, durability: "journal", log });
    const lost = (recorded: AuditEntry): AuditEntry => ({ ...recorded, endReason: "node_lost" });
    const entries = Array.from({ length: 250 }, entry);
    const begun = entries.map((recorded) => recorder.begin(lost(recorded)));
    await Promise.all(begun.map(({ whenWritten }) => whenWritten));
    const ended = entries.slice(0, 200);
    await Promise.all(ended.map((recorded, index) => recorder.record(recorded, begun[index])));
    await recorder.stop();

    const committed = new Map<EntryId, string>();
    const back = {
      insertEntries: async (batch: readonly AuditEntry[]) => {
        for (const { id, endReason } of batch) if (!committed.has(id)) committed.set(id, endReason);
        return [];
      },
    };
    const reopened = await Journal.open({ folder, sync: false });
    const successor = new Recorder({ journal: reopened.journal, sink: back, durability: "journal", log });
    await successor.replay(reopened.leftover);
    expect(entries.map(({ id }) => committed.get(id))).toEqual([
      ...Array<string>(200).fill("stop"),
      ...Array<string>(50).fill("node_lost"),
    ]);
    await successor.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is waited for by reads that come after it, and later entries are not", async () => {
    const { journal } = await Journal.open({ folder, sync: false });
    const committed = new Set<EntryId>();
    let isOver = false;
    const recorder: Recorder = new Recorder({
      journal,
      durability: "journal",
      log,
      sink: {
        insertEntries: async (entries) => {
          for (const { id } of entries) committed.add(id);
          // There is always one more.
          if (!isOver) await recorder.record(entry());
          return [];
        },
      },
    });
    const read = entry();
    await recorder.record(entry());
    await recorder.record(read);
    await recorder.flush(null);
    expect(committed).toContain(read.id);
    isOver = true;
    await recorder.stop();
  });

  it("is not brought forward by reads of an account that has none waiting, and by others only so often", async () => {
    const { journal } = await Journal.open({ folder, sync: false });
    let batches = 0;
    const insertEntries = async () => {
      batches++;
      return [];
    };
    const recorder = new Recorder({ journal, durability: "journal", log, sink: { insertEntries } });
    const { accountId } = entry();
    const startMs = performance.now();
    await recorder.record(entry());
    for (let read = 0; read < 1_000; read++) await recorder.flush(accountId);
    expect(batches).toBeLessThanOrEqual(1);
    while (performance.now() - startMs < 300) {
      await recorder.record({ ...entry(), accountId });
      const before = batches;
      await recorder.flush(accountId);
      expect(batches).toBeGreaterThan(before);
    }
    expect(batches).toBeLessThanOrEqual(2 + (performance.now() - startMs) / 25);
    await recorder.stop();
  });

  it("makes reads fail at once while the database is failing, whose beginning and end are logged once", async () => {
    const { journal } = await Journal.open({ folder, sync: false });
    let isAway = true;
    let failures = 0;
    const committed = new Set<EntryId>();
    const insertEntries = async (entries: readonly AuditEntry[]) => {
      if (isAway) {
        failures++;
        throw new Error("away");
      }
      for (const { id } of entries) committed.add(id);
      return [];
    };
    const messages: string[] = [];
    const lines = pino({ level: "info" }, { write: (line) => messages.push(JSON.parse(line).msg) });
    const recorder = new Recorder({ journal, durability: "journal", log: lines, sink: { insertEntries } });
    const kept = entry();
    await recorder.record(kept);
    await recorder.tryFlush(null);
    expect(committed).not.toContain(kept.id);
    await expect.poll(() => failures).toBeGreaterThan(1);
    isAway = false;
    await expect.poll(() => committed.has(kept.id)).toBe(true);
    await recorder.record(entry());
    await recorder.stop();
    expect(committed.size).toBe(2);
    expect(messages).toEqual([
      "inserting audit entries into the database failed",
      "inserting audit entries into the database works again",
    ]);
  });

  it("that the database refuses for its content is rejected, and delays no other entry", async () => {
    const refused = entry();
    const committed = new Set<EntryId>();
    const sink = {
      insertEntries: async (entries: readonly AuditEntry[]) => {
        if (entries.some(({ id }) => id === refused.id)) {
          throw Object.assign(new Error("invalid input syntax for type inet"), { code: "22P02" });
        }
        for (const { id } of entries) committed.add(id);
        return [];
      },
    };
    const told: EntryId[] = [];
    const { journal } = await Journal.open({ folder, sync: false });
    const onCommitted = (entries: readonly AuditEntry[]) => told.push(...entries.map(({ id }) => id));
    const aside: unknown[] = [];
    // Told only once they count as owed: until then credit is kept for what they cost.
    const onRejected = (entries: readonly AuditEntry[]) =>
      aside.push(...entries.map(({ id }) => [id, journal.rejectedLines()]));
    const recorder = new Recorder({ journal, sink, durability: "journal", log, onCommitted, onRejected });
    const others = Array.from({ length: 20 }, entry);
    for (const one of [...others.slice(0, 10), refused, ...others.slice(10)]) await recorder.record(one);
    await recorder.flush(null);
    expect(committed).toEqual(new Set(others.map(({ id }) => id)));
    expect(new Set(told)).toEqual(committed);
    await recorder.stop();
    expect(aside).toEqual([[refused.id, 1]]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await onDisk()).toBe(`${encodeEntry(refused)}\n`);
  });

  it("is tried once more by a stop that comes while an attempt fails", async () => {
    const committed: EntryId[] = [];
    const attempts: ((error: Error) => void)[] = [];
    const sink = {
      insertEntries: (entries: readonly AuditEntry[]) => {
        if (attempts.length === 0) return new Promise<[]>((_, reject) => attempts.push(reject));
        committed.push(...entries.map(({ id }) => id));
        return Promise.resolve([]);
      },
    };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "journal", log });
    const recorded = entry();
    await recorder.record(recorded);
    await expect.poll(() => attempts.length).toBe(1);
    const stopped = recorder.stop();
    attempts[0]?.(new Error("the connection was lost"));
    await stopped;
    expect(committed).toEqual([recorded.id]);
    expect(await readdir(folder)).toEqual([]);
  });

  it("waits for the database no longer than configured", async () => {
    const answers: ((left: []) => void)[] = [];
    let isSilent = true;
    const sink = {
      insertEntries: () => new Promise<[]>((resolve) => (isSilent ? answers.push(resolve) : resolve([]))),
    };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "database", log });
    const { stored } = await recorder.record(entry());
    expect(stored).not.toBeNull();
    const failed = await recorder.record({ ...entry(), status: 400, errorCode: "invalid_request" });
    // The statement never ends: readers that wait get an error in five seconds.
    await Promise.all([
      expect(stored).rejects.toMatchObject({ code: "server_is_overloaded", status: 503, headers: NOT_AGAIN }),
      // A request that has failed was not charged, so it may be sent again.
      expect(failed.stored).rejects.toMatchObject({ code: "server_is_overloaded", headers: {} }),
    ]);
    isSilent = false;
    for (const answer of answers) answer([]);
    await recorder.stop();
  });

  it("that has to be in the database is not confirmed when the database refuses it", async () => {
    const refused = entry();
    const sink = {
      insertEntries: async (entries: readonly AuditEntry[]) => {
        if (entries.some(({ id }) => id === refused.id)) {
          throw Object.assign(new Error("bigint out of range"), { code: "22003" });
        }
        return [];
      },
    };
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "database", log });
    const [{ stored }, other] = await Promise.all([recorder.record(refused), recorder.record(entry())]);
    await expect(stored).rejects.toMatchObject({ code: "server_is_overloaded", status: 503 });
    await other.stored;
    await recorder.stop();
    expect(journal.rejectedLines()).toBe(1);
  });

  it("is refused before its request is served without capacity, until the database is back", async () => {
    const database = absentDatabase();
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink: database, durability: "journal", log, maxPending: 100 });
    for (let number = 0; number < 100; number++) {
      recorder.requireCapacity();
      await recorder.record(entry());
    }
    expect(() => recorder.requireCapacity()).toThrow(
      expect.objectContaining({ code: "server_is_overloaded" }),
    );
    database.isAway = false;
    await expect.poll(() => attempt(() => recorder.requireCapacity())).toBe("done");
    await recorder.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is refused for an account that takes the capacity of the others, and for no other account", async () => {
    const database = absentDatabase();
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink: database, durability: "journal", log, maxPending: 100 });
    const accounts = Array.from({ length: 3 }, () => crypto.randomUUID() as AccountId);
    const recorded = new Map<AccountId, number>();
    for (const accountId of accounts) {
      let count = 0;
      for (; attempt(() => recorder.requireCapacity(accountId)) === "done"; count++)
        await recorder.record({ ...entry(), accountId });
      recorded.set(accountId, count);
    }
    // The first takes most of the capacity, the next ones most of what the earlier ones have left.
    expect([...recorded.values()]).toEqual([76, 19, 4]);
    recorder.requireCapacity();
    recorder.requireCapacity(crypto.randomUUID() as AccountId);
    database.isAway = false;
    for (const accountId of accounts)
      await expect.poll(() => attempt(() => recorder.requireCapacity(accountId))).toBe("done");
    // What is in the database takes no capacity any more, however much it is.
    const [accountId] = accounts as [AccountId];
    for (let number = 0; number < 300; number++) await recorder.record(auditEntry({ accountId }));
    await recorder.flush(null);
    recorder.requireCapacity(accountId);
    await recorder.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("that has to be in the database is refused before its request is served while the database is away", async () => {
    const database = absentDatabase();
    const { journal } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink: database, durability: "database", log });
    recorder.requireCapacity();
    const { stored } = await recorder.record(entry());
    await expect.poll(() => attempt(() => recorder.requireCapacity())).toBe("refused");
    database.isAway = false;
    await stored;
    recorder.requireCapacity();
    await recorder.stop();
  });
});

describe("the oldest pending entry", () => {
  it.each([-60, 60])("has waited as long as it has, when the clock is set by %i minutes", async (minutes) => {
    const { journal } = await Journal.open({ folder, sync: false });
    const away = { insertEntries: () => Promise.reject(new Error("the database is away")) };
    const recorder = new Recorder({ journal, sink: away, durability: "journal", log });
    await recorder.record(entry());
    vi.useFakeTimers({ now: Date.now() + minutes * 60_000, toFake: ["Date"] });
    try {
      const { oldestMs } = recorder.backlog();
      expect(oldestMs).toBeGreaterThanOrEqual(0);
      expect(oldestMs).toBeLessThan(30 * 60_000);
    } finally {
      vi.useRealTimers();
    }
    await recorder.stop();
  });
});

/** A database that takes no entry before it is back. */
function absentDatabase() {
  const database = {
    isAway: true,
    insertEntries: async () => {
      if (database.isAway) throw new Error("the database is away");
      return [];
    },
  };
  return database;
}

function attempt(action: () => void): "done" | "refused" {
  try {
    action();
    return "done";
  } catch {
    return "refused";
  }
}
