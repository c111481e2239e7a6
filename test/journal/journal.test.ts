import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AuditEntry, EntryId } from "../../server/src/contract/entry.ts";
import { Journal, JournalError } from "../../server/src/journal/journal.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { FaultyDisk } from "../fixtures/faulty-disk.ts";

let parent: string;
let folder: string;
let disk: FaultyDisk;
/** Those whose process lives on, here. */
let opened: Journal[];

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "ostiary-journal-"));
  folder = join(parent, "journal");
  disk = new FaultyDisk();
  opened = [];
});

afterEach(async () => {
  vi.useRealTimers();
  for (const journal of opened) await journal.close();
  await rm(parent, { recursive: true, force: true });
});

async function open({ sync = false } = {}): Promise<Journal> {
  const { journal } = await Journal.open({ folder, sync, files: disk });
  opened.push(journal);
  return journal;
}

const append = (journal: Journal, entry: AuditEntry) => journal.append({ kind: "ended", entry }).whenWritten;

/** Appends entries that come together. @returns those whose requests were told that they are recorded. */
async function appendTogether(journal: Journal, entries: readonly AuditEntry[]): Promise<EntryId[]> {
  const outcomes = await Promise.allSettled(entries.map((entry) => append(journal, entry)));
  return entries.filter((_, index) => outcomes[index]?.status === "fulfilled").map(({ id }) => id);
}

/** What a process that is started on the folder finds, as if the last had been killed. */
async function found(): Promise<EntryId[]> {
  const { journal, leftover } = await Journal.open({ folder, sync: false });
  const ids: EntryId[] = [];
  for (const segment of leftover) {
    const content = await journal.read(segment);
    if (content.problem !== null) throw new Error(content.problem);
    for (const { content: line } of content.lines) {
      if (line.kind === "unreadable") throw new Error(line.problem);
      ids.push(line.entry.id);
    }
  }
  return ids;
}

const entries = (count: number) => Array.from({ length: count }, () => auditEntry());
const segments = async () => (await readdir(folder)).filter((name) => name.endsWith(".ndjson"));
const lineBytes = 300;

describe.each([{ sync: false }, { sync: true }])("a full disk ($sync)", ({ sync }) => {
  it("keeps nothing of a refused entry, even when a part of it was written", async () => {
    const journal = await open({ sync });
    const before = entries(5);
    expect(await appendTogether(journal, before)).toHaveLength(5);
    // Some whole lines of the next write fit, and a half one.
    disk.room = Math.floor(2.5 * lineBytes);
    expect(await appendTogether(journal, entries(20))).toEqual([]);
    expect(await found()).toEqual(before.map(({ id }) => id));
  });

  it("leaves one file however many requests are refused, and is written again once there is room", async () => {
    const journal = await open({ sync });
    disk.room = 0;
    for (let request = 0; request < 100; request++)
      expect(await appendTogether(journal, entries(1))).toEqual([]);
    expect(await segments()).toHaveLength(1);
    disk.room = Number.POSITIVE_INFINITY;
    const after = entries(3);
    expect(await appendTogether(journal, after)).toHaveLength(3);
    expect(await segments()).toHaveLength(1);
    expect(await found()).toEqual(after.map(({ id }) => id));
  });

  it("is detected by a health check, and so is its end, without any request", async () => {
    const journal = await open({ sync });
    disk.room = 0;
    await appendTogether(journal, entries(1));
    await expect(journal.check()).rejects.toThrow(
      /cannot be written \(its file system is full\)\. .*Free space/,
    );
    disk.room = 1_000;
    await expect(journal.check()).rejects.toThrow(JournalError);
    disk.room = Number.POSITIVE_INFINITY;
    await journal.check();
    // The look has left nothing behind.
    const [name = ""] = await segments();
    expect(await readFile(join(folder, name))).toHaveLength(0);
    await journal.close();
    expect(await readdir(folder)).toEqual([]);
  });

  it("is not over for a health check when a few lines fit into what is left", async () => {
    const journal = await open({ sync });
    disk.room = 2.5 * lineBytes;
    expect(await appendTogether(journal, entries(10))).toEqual([]);
    disk.room = 1.5 * lineBytes;
    expect(await appendTogether(journal, entries(1))).toHaveLength(1);
    await expect(journal.check()).rejects.toThrow("its file system is full");
    disk.room = Number.POSITIVE_INFINITY;
    await journal.check();
  });
});

describe("a failed write that can't be undone at once", () => {
  it("is undone before anything else is written", async () => {
    const journal = await open();
    const before = entries(2);
    await appendTogether(journal, before);
    disk.room = Math.floor(2.5 * lineBytes);
    disk.failing.add("truncate");
    expect(await appendTogether(journal, entries(10))).toEqual([]);
    disk.room = Number.POSITIVE_INFINITY;
    // There is room, but what would be written now would come after what has to go.
    expect(await appendTogether(journal, entries(1))).toEqual([]);
    disk.failing.clear();
    const after = entries(2);
    expect(await appendTogether(journal, after)).toHaveLength(2);
    expect(await found()).toEqual([...before, ...after].map(({ id }) => id));
  });

  it("is undone when the journal is checked or closed", async () => {
    for (const act of ["check", "close"] as const) {
      const journal = await open();
      const before = entries(1);
      await appendTogether(journal, before);
      disk.room = Math.floor(2.5 * lineBytes);
      disk.failing.add("truncate");
      await appendTogether(journal, entries(10));
      disk.failing.clear();
      disk.room = Number.POSITIVE_INFINITY;
      await journal[act]();
      expect(await found()).toEqual(before.map(({ id }) => id));
      await rm(folder, { recursive: true });
    }
  });
});

describe("a disk that fails to sync, where entries must survive a power loss", () => {
  it("refuses the entry, keeps nothing of it, and continues in another file", async () => {
    const journal = await open({ sync: true });
    const before = entries(2);
    await appendTogether(journal, before);
    const [first] = await segments();
    disk.failing.add("datasync");
    expect(await appendTogether(journal, entries(3))).toEqual([]);
    disk.failing.clear();
    const after = entries(2);
    expect(await appendTogether(journal, after)).toHaveLength(2);
    const files = await segments();
    expect(files).toHaveLength(2);
    expect(files[0]).toBe(first);
    expect(await found()).toEqual([...before, ...after].map(({ id }) => id));
  });

  it("refuses entries in a new file that the folder may not have after a power loss", async () => {
    const journal = await open({ sync: true });
    disk.failing.add("syncFolder");
    expect(await appendTogether(journal, entries(2))).toEqual([]);
    disk.failing.clear();
    const after = entries(2);
    expect(await appendTogether(journal, after)).toHaveLength(2);
    expect(await found()).toEqual(after.map(({ id }) => id));
  });

  it("does not leave a file for each refused request", async () => {
    const journal = await open({ sync: true });
    await appendTogether(journal, entries(1));
    disk.failing.add("datasync");
    for (let request = 0; request < 20; request++) await appendTogether(journal, entries(1));
    expect((await segments()).length).toBeLessThanOrEqual(2);
    disk.failing.clear();
    disk.failing.add("syncFolder");
    for (let request = 0; request < 20; request++) await appendTogether(journal, entries(1));
    expect((await segments()).length).toBeLessThanOrEqual(2);
  });
});

describe("a disk that does not answer", () => {
  it("makes no request wait for longer than seconds, and nothing is kept of what was refused meanwhile", async () => {
    const journal = await open({ sync: true });
    const before = entries(2);
    await appendTogether(journal, before);
    vi.useFakeTimers({ toFake: ["performance"] });
    let answers = () => {};
    disk.syncsAfter = new Promise<void>((resolve) => {
      answers = resolve;
    });
    const written = appendTogether(journal, entries(1));
    await setImmediate();
    await setImmediate();
    const behind = appendTogether(journal, entries(1));
    vi.advanceTimersByTime(4_000);
    await journal.check();
    vi.advanceTimersByTime(2_000);
    await expect(journal.check()).rejects.toThrow(`The disk of the journal in ${folder} does not answer`);
    expect(journal.isWritable).toBe(false);
    expect([await written, await behind]).toEqual([[], []]);
    // Nor do those wait that come now.
    const later = appendTogether(journal, entries(1));
    await expect(journal.check()).rejects.toThrow(JournalError);
    expect(await later).toEqual([]);
    answers();
    await expect.poll(() => journal.check().then(() => journal.isWritable)).toBe(true);
    const after = entries(2);
    expect(await appendTogether(journal, after)).toHaveLength(2);
    expect(await found()).toEqual([...before, ...after].map(({ id }) => id));
  });
});

describe("a journal folder that vanishes", () => {
  it("is detected, refuses what would be lost, and is used again when it is back", async () => {
    const journal = await open();
    await appendTogether(journal, entries(1));
    await journal.check();
    await rename(folder, `${folder}-away`);
    await expect(journal.check()).rejects.toThrow(`The journal folder ${folder} is missing`);
    expect(await appendTogether(journal, entries(1))).toEqual([]);
    await expect(journal.check()).rejects.toThrow("OSTIARY_DATA_DIR");
    await mkdir(folder);
    await journal.check();
    const after = entries(1);
    expect(await appendTogether(journal, after)).toHaveLength(1);
    expect(await found()).toEqual(after.map(({ id }) => id));
  });

  it("is detected before the first request", async () => {
    const journal = await open();
    await rm(folder, { recursive: true });
    await expect(journal.check()).rejects.toThrow("is missing");
  });

  it("is reported once when only its file was removed, and a new file is written", async () => {
    const journal = await open();
    await appendTogether(journal, entries(1));
    const [name = ""] = await segments();
    await rm(join(folder, name));
    await expect(journal.check()).rejects.toThrow(`${name} was removed`);
    await journal.check();
    const after = entries(1);
    await appendTogether(journal, after);
    expect(await found()).toEqual(after.map(({ id }) => id));
    // What it held is committed later, and then there is no file to be deleted.
    await journal.release(1, 1);
  });
});

describe("a journal whose database may lack what it had", () => {
  it("keeps the segment of released lines for the next start when it is closed", async () => {
    const journal = await open();
    const [entry] = entries(1) as [AuditEntry];
    const segment = await append(journal, entry);
    await journal.release(segment, 1);
    journal.keepSegments();
    await journal.close();
    expect(await found()).toEqual([entry.id]);
  });
});

describe("a journal without requests", () => {
  it("keeps nothing of what is in the database for longer than about an hour", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const journal = await open();
    const [first, second] = [await append(journal, auditEntry()), await append(journal, auditEntry())];
    await journal.release(first, 1);
    vi.advanceTimersByTime(59 * 60_000);
    await journal.check();
    expect(await segments()).toHaveLength(1);
    vi.advanceTimersByTime(2 * 60_000);
    await journal.check();
    // One of its entries is not in the database yet.
    expect(await found()).toHaveLength(2);
    await journal.release(second, 1);
    expect(await segments()).toEqual([]);
    expect(await appendTogether(journal, entries(1))).toHaveLength(1);
  });
});

describe("opening a journal", () => {
  it("fails with what is wrong with its folder, and the setting that moves it", async () => {
    await writeFile(folder, "a file");
    await expect(open()).rejects.toThrow(
      /^The journal folder .*journal cannot be used \(.+\).* OSTIARY_DATA_DIR /,
    );
  });

  it("does not write over something that already has the file's name", async () => {
    const journal = await open();
    await mkdir(join(folder, "000000000001.ndjson"));
    expect(await appendTogether(journal, entries(1))).toHaveLength(1);
    expect((await readdir(folder)).toSorted()).toEqual(["000000000001.ndjson", "000000000002.ndjson"]);
  });

  it.each(["ndjson", "rejected"])(
    "is found by the next start beside a file of the highest number: .%s",
    async (ending) => {
      await mkdir(folder);
      await writeFile(join(folder, `999999999999.${ending}`), "");
      const [entry] = entries(1) as [AuditEntry];
      await append(await open(), entry);
      expect(await found()).toEqual([entry.id]);
    },
  );
});
