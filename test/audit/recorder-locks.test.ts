import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EntrySink } from "../../server/src/audit/entry-sink.ts";
import { insertInParts } from "../../server/src/audit/left-out.ts";
import { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
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

/** A database in which another transaction has locked accounts. */
function lockedDatabase() {
  const locked = new Set<AccountId>();
  const committed: EntryId[] = [];
  const store: EntrySink = {
    insertEntries: async (entries, options) => {
      const left = entries.filter(({ accountId }) => locked.has(accountId));
      if (left.length > 0 && options?.locked !== "skip")
        throw Object.assign(new Error("canceling statement"), { code: "57014" });
      committed.push(...entries.filter((entry) => !left.includes(entry)).map(({ id }) => id));
      return left;
    },
  };
  const sink: EntrySink = {
    insertEntries: (entries, options) => insertInParts(store, entries, options),
  };
  return { locked, committed, sink };
}

async function openRecorder(sink: EntrySink, durability: "journal" | "database" = "journal") {
  const { journal } = await Journal.open({ folder, sync: false });
  return new Recorder({ journal, sink, durability, log });
}

type Three = [AuditEntry, AuditEntry, AuditEntry];

const idsOf = (entries: readonly AuditEntry[]) => entries.map(({ id }) => id);

describe("entries of an account whose rows are locked", () => {
  it("wait without the entries of others, and are recorded once each and in their order when they are free", async () => {
    const { locked, committed, sink } = lockedDatabase();
    const recorder = await openRecorder(sink);
    const accountId = crypto.randomUUID() as AccountId;
    locked.add(accountId);
    const own: AuditEntry[] = [];
    const others: AuditEntry[] = [];
    for (let round = 0; round < 4; round++) {
      const [one, other] = [{ ...auditEntry(), accountId }, auditEntry()];
      own.push(one);
      others.push(other);
      await recorder.record(one);
      await recorder.record(other);
      // Lists of others are complete; those of the account and of all accounts are not.
      await recorder.flush(other.accountId);
      expect(committed).toEqual(idsOf(others));
    }
    // Sums are shown without what cannot be recorded.
    await recorder.tryFlush(accountId);
    await recorder.tryFlush(null);
    expect(recorder.backlog()).toMatchObject({ entries: own.length, failures: 0 });
    await expect(recorder.flush(accountId)).rejects.toThrow(Unavailable);
    await expect(recorder.flush(null)).rejects.toThrow(Unavailable);
    locked.clear();
    await expect.poll(() => recorder.backlog().entries, { timeout: 10_000 }).toBe(0);
    await recorder.flush(accountId);
    expect(committed).toEqual([...idsOf(others), ...idsOf(own)]);
    await recorder.stop();
    expect(await readdir(folder)).toEqual([]);
  });

  it("are tried again once a second, beside which others are recorded as fast as ever", async () => {
    const { locked, committed, sink } = lockedDatabase();
    let attempts = 0;
    const recorder = await openRecorder({
      insertEntries: (...given) => {
        attempts++;
        return sink.insertEntries(...given);
      },
    });
    const own = auditEntry();
    const other = auditEntry();
    locked.add(own.accountId);
    // No pause ends by itself.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      await recorder.record(own);
      await recorder.tryFlush(own.accountId);
      attempts = 0;
      await vi.advanceTimersByTimeAsync(500);
      expect(attempts).toBeLessThan(2);
      await recorder.record(other);
      await vi.advanceTimersByTimeAsync(100);
      expect(committed).toEqual([other.id]);
    } finally {
      vi.useRealTimers();
    }
    locked.clear();
    await recorder.stop();
    expect(committed).toEqual([other.id, own.id]);
  });

  it("stay in the journal when the process stops before they are free", async () => {
    const { locked, committed, sink } = lockedDatabase();
    const recorder = await openRecorder(sink);
    const accountId = crypto.randomUUID() as AccountId;
    locked.add(accountId);
    const [one, other] = [{ ...auditEntry(), accountId }, auditEntry()];
    await recorder.record(one);
    await recorder.record(other);
    await recorder.stop();
    expect(committed).toEqual([other.id]);
    locked.clear();
    const reopened = await Journal.open({ folder, sync: false });
    const successor = new Recorder({ journal: reopened.journal, sink, durability: "journal", log });
    await successor.replay(reopened.leftover);
    expect(new Set(committed)).toEqual(new Set([other.id, one.id]));
    await successor.stop();
  });

  it("do not keep a start from recording the others that an earlier process left, and follow in their order", async () => {
    const { locked, committed, sink } = lockedDatabase();
    const [own, other] = [auditEntry().accountId, auditEntry().accountId];
    const [first, third, lost] = [0, 1, 2].map(() => auditEntry({ accountId: own })) as Three;
    const [second, fourth, fifth] = [0, 1, 2].map(() => auditEntry({ accountId: other })) as Three;
    const leave = (segment: number, ...lines: readonly string[]) =>
      writeFile(join(folder, `00000000000${segment}.ndjson`), lines.map((line) => `${line}\n`).join(""));
    await leave(1, `begun ${encodeEntry(lost)}`, encodeEntry(first), encodeEntry(second));
    await leave(2, "garbage", encodeEntry(fourth), encodeEntry(third));
    await leave(3, encodeEntry(lost), "more garbage");
    await leave(4, encodeEntry(fifth));
    locked.add(own);
    const { journal, leftover } = await Journal.open({ folder, sync: false });
    const recorder = new Recorder({ journal, sink, durability: "journal", log });
    await recorder.replay(leftover);
    expect(committed).toEqual(idsOf([second, fourth, fifth]));
    expect(recorder.owesEarlierEntries).toBe(true);
    // Each file of lines stays until all of them are recorded, and what cannot be read of it is rejected once.
    const files = () => readdir(folder).then((names) => names.sort());
    const rejected = [2, 3].map((segment) => `00000000000${segment}.rejected`);
    const kept = [1, 2, 3].map((segment) => `00000000000${segment}.ndjson`);
    expect(await files()).toEqual([...kept, ...rejected].sort());
    await expect(recorder.flush(own)).rejects.toThrow(Unavailable);
    const next = auditEntry({ accountId: own });
    await recorder.record(next);
    locked.clear();
    await expect.poll(() => recorder.backlog().entries, { timeout: 10_000 }).toBe(0);
    expect(recorder.owesEarlierEntries).toBe(false);
    expect(committed.slice(3)).toEqual(idsOf([first, third, lost, next]));
    await recorder.stop();
    expect(await files()).toEqual(rejected);
    expect(journal.rejectedLines()).toBe(2);
  });

  it("stay in the files of an earlier process when the next one stops before they are free, too", async () => {
    const { locked, committed, sink } = lockedDatabase();
    const [own, other] = [auditEntry(), auditEntry()];
    await writeFile(join(folder, "000000000001.ndjson"), `${encodeEntry(own)}\n${encodeEntry(other)}\n`);
    locked.add(own.accountId);
    for (const expected of [[other.id], [other.id, other.id], [other.id, other.id, own.id, other.id]]) {
      if (expected.length > 2) locked.clear();
      const { journal, leftover } = await Journal.open({ folder, sync: false });
      const recorder = new Recorder({ journal, sink, durability: "journal", log });
      await recorder.replay(leftover);
      await recorder.stop();
      expect(committed).toEqual(expected);
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it("that have to be in the database are refused before their requests are served, and those of others are not", async () => {
    const { locked, sink } = lockedDatabase();
    const recorder = await openRecorder(sink, "database");
    const accountId = crypto.randomUUID() as AccountId;
    locked.add(accountId);
    const { stored } = await recorder.record({ ...auditEntry(), accountId });
    const other = auditEntry();
    await (await recorder.record(other)).stored;
    expect(() => recorder.requireCapacity(accountId)).toThrow(
      expect.objectContaining({ code: "server_is_overloaded" }),
    );
    recorder.requireCapacity(other.accountId);
    recorder.requireCapacity();
    locked.clear();
    await stored;
    recorder.requireCapacity(accountId);
    await recorder.stop();
  });
});

describe("a batch of which another row than the account's own is locked", () => {
  it("is recorded but for the entries of that account, in their order", async () => {
    const accountId = crypto.randomUUID() as AccountId;
    const committed: EntryId[] = [];
    const { PostgresError } = (await import("postgres")).default;
    const sink: EntrySink = {
      insertEntries: async (entries) => {
        if (entries.some((entry) => entry.accountId === accountId))
          throw Object.assign(new PostgresError("canceling statement due to lock timeout"), {
            code: "55P03",
          });
        committed.push(...idsOf(entries));
        return [];
      },
    };
    const own = Array.from({ length: 3 }, () => ({ ...auditEntry(), accountId }));
    const others = Array.from({ length: 9 }, () => auditEntry());
    const batch = others.flatMap((other, index) => [other, ...own.slice(index, index + 1)]);
    expect(await insertInParts(sink, batch, { locked: "leave" })).toEqual(own);
    expect(committed).toEqual(idsOf(others));
  });

  it("fails as a whole, and soon, when that row is not of some accounts only", async () => {
    const { PostgresError } = (await import("postgres")).default;
    const error = Object.assign(new PostgresError("canceling statement due to lock timeout"), {
      code: "55P03",
    });
    let attempts = 0;
    const sink: EntrySink = {
      insertEntries: async () => {
        attempts++;
        throw error;
      },
    };
    const batch = Array.from({ length: 200 }, () => auditEntry());
    await expect(insertInParts(sink, batch, { locked: "leave" })).rejects.toBe(error);
    // Each of them waits for the lock for a tenth of a second.
    expect(attempts).toBeLessThan(60);
  });
});

describe("entries that are inserted in parts", () => {
  it("are left out in all later parts when an earlier one of their account was, even if it is free meanwhile", async () => {
    const accountId = crypto.randomUUID() as AccountId;
    const batch = [auditEntry({ accountId }), auditEntry(), auditEntry({ accountId }), auditEntry()];
    const committed: EntryId[] = [];
    let isLocked = true;
    const sink: EntrySink = {
      insertEntries: async (entries) => {
        if (entries.length > 2) throw Object.assign(new Error("canceling statement"), { code: "57014" });
        const left = entries.filter((entry) => isLocked && entry.accountId === accountId);
        isLocked = false;
        committed.push(...idsOf(entries.filter((entry) => !left.includes(entry))));
        return left;
      },
    };
    const [first, second, third, fourth] = batch;
    expect(await insertInParts(sink, batch, { locked: "skip" })).toEqual([first, third]);
    expect(committed).toEqual([second?.id, fourth?.id]);
  });

  it.each(["57P01", "22P02"])(
    "are not taken for those of a locked account after the error %s",
    async (code) => {
      const error = Object.assign(new Error("the insert failed"), { code });
      const sink: EntrySink = { insertEntries: () => Promise.reject(error) };
      await expect(insertInParts(sink, [auditEntry()], { locked: "skip" })).rejects.toBe(error);
    },
  );
});
