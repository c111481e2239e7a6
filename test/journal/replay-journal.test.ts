import { appendFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Recorder } from "../../server/src/audit/recorder.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
import { Journal } from "../../server/src/journal/journal.ts";
import { rejectEntries } from "../../server/src/journal/replay-journal.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { systemError } from "../fixtures/faulty-disk.ts";
import { BY, begun, ended, JournalFolder, REJECTED, SEGMENT } from "./journal-folder.ts";

let folder: JournalFolder;

beforeEach(async () => {
  folder = await JournalFolder.make();
});

afterEach(() => folder[Symbol.asyncDispose]());

describe("an unreadable line of the journal", () => {
  const [first, second] = [auditEntry(), auditEntry()];
  const torn = ended(auditEntry()).subarray(0, 100);
  it.each<[string, Buffer]>([
    ["garbage", Buffer.from("\u0001\u0002garbage{[\n")],
    ["zeros", Buffer.concat([Buffer.alloc(4_096), Buffer.from("\n")])],
    ["what is not UTF-8", Buffer.from([0x5b, 0xff, 0xfe, 0x5d, 0x0a])],
    ["half a line", Buffer.concat([torn, Buffer.from("\n")])],
    ["two lines in one", Buffer.concat([torn, ended(auditEntry())])],
    ["JSON that is no entry", Buffer.from('{"hello":"world"}\n')],
    ["an entry with a negative cost", ended(auditEntry({ costNanoUsd: -1n }))],
    ["an entry with negative tokens", ended(auditEntry({ completionTokens: -1 }))],
    ["an entry without its request", Buffer.from(`${JSON.stringify([null, ...Array(20).fill("1")])}\n`)],
  ])("is rejected byte for byte: %s", async (_, damaged) => {
    await folder.leave(ended(first), damaged, ended(second));
    const { journal } = await folder.start();
    expect(folder.database.ids).toEqual([first.id, second.id]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await readFile(join(folder.path, REJECTED))).toEqual(damaged);
    expect(await readdir(folder.path)).toEqual([REJECTED]);
    // File, line and what to do.
    expect(folder.alarms()).toMatchObject([
      { file: join(folder.path, SEGMENT), line: 2, keptIn: { file: REJECTED, line: 1 } },
      { lines: 1, msg: expect.stringContaining("journal list") },
    ]);
  });

  it("stays rejected over restarts, and is reported at each start", async () => {
    await folder.leave("garbage\n", ended(first));
    await folder.start();
    folder.logged.length = 0;
    const { journal } = await folder.start();
    expect(journal.rejectedLines()).toBe(1);
    expect(folder.alarms()).toMatchObject([{ lines: 1 }]);
  });

  it("is rejected once, even when the start was interrupted after that", async () => {
    await folder.leave("garbage\n", ended(first));
    await folder.start();
    await folder.leave("garbage\n", ended(first));
    const { journal } = await folder.start();
    expect(journal.rejectedLines()).toBe(1);
    expect(await readFile(join(folder.path, REJECTED), "utf8")).toBe("garbage\n");
  });

  it("stays in its segment while it can't be rejected", async () => {
    await folder.leave("garbage\n", ended(first));
    folder.disk.failing.add("replace");
    const { journal } = await folder.start();
    expect(folder.database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await readdir(folder.path)).toEqual([SEGMENT]);
    folder.disk.failing.clear();
    await folder.start();
    expect(await readdir(folder.path)).toEqual([REJECTED]);
  });

  it("is not logged line by line when there are many", async () => {
    await folder.leave(...Array.from({ length: 1_000 }, (_, number) => `garbage ${number}\n`));
    const { journal } = await folder.start();
    expect(journal.rejectedLines()).toBe(1_000);
    expect(folder.alarms().length).toBeLessThan(30);
  });

  it("delays the decision whether a started request was lost, until an operator resolves it", async () => {
    const [lost, unknown] = [auditEntry(), auditEntry({ costNanoUsd: 7n })];
    const line = ended(unknown);
    const damaged = Buffer.concat([Buffer.from("}"), line]);
    await folder.leave(begun(lost), begun(unknown), damaged);
    const { journal, repair } = await folder.start();
    // Recorded as lost, what it cost could not be charged any more.
    expect(folder.database.ids).toEqual([]);
    expect(journal.rejectedLines()).toBe(3);

    const { notReplayed } = await repair.replay(BY, null);
    expect(notReplayed).toHaveLength(3);
    const { lines } = await repair.list(10);
    const unreadable = lines.find(({ kind }) => kind === "unreadable");
    await repair.replay(BY, [unreadable?.id ?? ""], line.toString().trim());
    await repair.replay(BY, null);
    expect(journal.rejectedLines()).toBe(0);
    expect(folder.database.entries.get(unknown.id)).toMatchObject({ endReason: "stop", costNanoUsd: 7n });
    expect(folder.database.entries.get(lost.id)).toMatchObject({ endReason: "node_lost" });
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("lines of several segments", () => {
  const secondSegment = "000000000002.ndjson";
  const leaveSecond = (...lines: readonly (Buffer | string)[]) =>
    writeFile(join(folder.path, secondSegment), Buffer.concat(lines.map((line) => Buffer.from(line))));

  it("that can't be recorded are rejected each in the file of its segment, and logged once", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await folder.leave("garbage\n", ended(auditEntry()));
    await leaveSecond(ended(auditEntry()), ended(bad));
    const { journal } = await folder.start();
    expect(journal.rejectedLines()).toBe(2);
    expect((await readdir(folder.path)).sort()).toEqual([REJECTED, "000000000002.rejected"]);
    expect(await readFile(join(folder.path, REJECTED), "utf8")).toBe("garbage\n");
    expect(await readFile(join(folder.path, "000000000002.rejected"))).toEqual(ended(bad));
    expect(folder.alarms()).toMatchObject([
      { file: join(folder.path, SEGMENT), line: 1, keptIn: { file: REJECTED, line: 1 } },
      { file: join(folder.path, secondSegment), line: 2, keptIn: { file: "000000000002.rejected", line: 1 } },
      { lines: 2 },
    ]);
  });

  it("stay as they are when the process has too few descriptors to read one, and the start fails", async () => {
    const [first, second] = [auditEntry(), auditEntry()];
    await folder.leave(ended(first));
    await leaveSecond(ended(second));
    const { read } = folder.disk;
    folder.disk.read = async (path) => {
      if (path.endsWith(secondSegment)) throw systemError("EMFILE", "too many open files");
      return read(path);
    };
    await expect(folder.start()).rejects.toThrow("EMFILE");
    expect((await readdir(folder.path)).sort()).toEqual([SEGMENT, secondSegment]);
    folder.disk.read = read;
    const { journal } = await folder.start();
    expect(journal.rejectedLines()).toBe(0);
    expect(folder.database.ids).toEqual([first.id, second.id]);
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("the last line of a segment", () => {
  it.each<[string, Buffer]>([
    ["torn by a crash", ended(auditEntry()).subarray(0, 80)],
    ["zeros that a power loss left", Buffer.alloc(4_096)],
  ])("is dropped when it is incomplete, as its request was never answered: %s", async (_, tail) => {
    const first = auditEntry();
    await folder.leave(ended(first), tail);
    const { journal } = await folder.start();
    expect(folder.database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(0);
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("an entry that the database refuses", () => {
  it("is rejected, and all others are recorded", async () => {
    const good = Array.from({ length: 50 }, () => auditEntry());
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await folder.leave(...good.slice(0, 20).map(ended), ended(bad), ...good.slice(20).map(ended));
    const { journal } = await folder.start();
    expect(folder.database.ids).toEqual(good.map(({ id }) => id));
    expect(journal.rejectedLines()).toBe(1);
    expect(folder.alarms()[0]).toMatchObject({
      line: 21,
      reason: expect.stringContaining('inet: "127.0.0.z"'),
    });
  });

  it("is rejected in its place among the other lines of its segment", async () => {
    const [bad, lost] = [auditEntry({ sourceIp: "127.0.0.z" }), auditEntry()];
    await folder.leave(begun(lost), ended(bad), ended(auditEntry()), "garbage\n");
    await folder.start();
    expect(await readFile(join(folder.path, REJECTED), "utf8")).toBe(`${begun(lost)}${ended(bad)}garbage\n`);
    expect(folder.alarms().map(({ line }) => line)).toEqual([1, 2, 4, undefined]);
  });

  it("does not prevent a lost request from being recorded", async () => {
    const [bad, lost] = [auditEntry({ sourceIp: "127.0.0.z" }), auditEntry()];
    await folder.leave(begun(auditEntry({ ...bad, sourceIp: null })), begun(lost), ended(bad));
    await folder.start();
    expect(folder.database.entries.get(lost.id)).toMatchObject({ endReason: "node_lost" });
    // Its own end is known, and is not to be had twice.
    expect(folder.database.ids).not.toContain(bad.id);
  });

  it("is told apart from an unreachable database, where the start fails and nothing is lost", async () => {
    const first = auditEntry();
    await folder.leave("garbage\n", ended(first));
    folder.database.isAway = true;
    await expect(folder.start()).rejects.toThrow("ECONNREFUSED");
    expect(await readdir(folder.path)).toEqual([SEGMENT]);
    folder.database.isAway = false;
    await folder.start();
    expect(folder.database.ids).toEqual([first.id]);
  });
});

describe("a request that was lost with its process", () => {
  it("stays in the journal when the database goes away while it is recorded", async () => {
    const [first, lost] = [auditEntry(), auditEntry()];
    await folder.leave(begun(lost), ended(first));
    const { database } = folder;
    const insert = database.insertEntries.bind(database);
    database.insertEntries = async (batch) => {
      const left = await insert(batch);
      database.isAway = true;
      return left;
    };
    await expect(folder.start()).rejects.toThrow("ECONNREFUSED");
    expect(await readdir(folder.path)).toEqual([SEGMENT]);
    database.isAway = false;
    database.insertEntries = insert;
    await folder.start();
    expect(database.ids).toEqual([first.id, lost.id]);
  });
});

describe("an entry that the database refuses while the service runs", () => {
  it("is rejected as it is in the journal, so that the next start recognizes it", async () => {
    const { journal } = await Journal.open({ folder: folder.path, sync: false, files: folder.disk });
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    const segment = await journal.append({ kind: "ended", entry: bad }).whenWritten;
    await rejectEntries({ journal, log: folder.log }, [{ segment, entry: bad, reason: "invalid input" }]);
    expect(journal.rejectedLines()).toBe(1);
    expect(folder.alarms()).toMatchObject([{ keptIn: { file: REJECTED, line: 1 } }]);
    await journal.close();

    const { journal: next } = await folder.start();
    expect(next.rejectedLines()).toBe(1);
    expect(await readFile(join(folder.path, REJECTED))).toEqual(ended(bad));
    expect(await readdir(folder.path)).toEqual([REJECTED]);
  });

  it("is still charged when its process is killed while the journal has its beginning", async () => {
    const { journal } = await Journal.open({ folder: folder.path, sync: false, files: folder.disk });
    const bad = auditEntry({ sourceIp: "127.0.0.z", costNanoUsd: 9n });
    const segment = await journal.append({ kind: "ended", entry: bad }).whenWritten;
    await rejectEntries({ journal, log: folder.log }, [{ segment, entry: bad, reason: "invalid input" }]);
    await journal.release(segment, 1);
    await journal.close();
    // Lines of other requests have kept the segment with its beginning.
    await folder.leave(begun({ ...bad, sourceIp: null }));

    const { repair } = await folder.start();
    expect(folder.database.ids).toEqual([]);
    const [line] = (await repair.list(10)).lines;
    await repair.replay(BY, [line?.id ?? ""], encodeEntry({ ...bad, sourceIp: null }));
    expect(folder.database.entries.get(bad.id)).toMatchObject({ costNanoUsd: 9n });
    expect(await readdir(folder.path)).toEqual([]);
  });

  it("stays in its segment when it can't be written to another file, and is rejected at the next start", async () => {
    const { journal } = await Journal.open({ folder: folder.path, sync: false, files: folder.disk });
    const { database, log } = folder;
    const recorder = new Recorder({ journal, sink: database, durability: "journal", log });
    const [bad, good] = [auditEntry({ sourceIp: "127.0.0.z" }), auditEntry()];
    folder.disk.failing.add("replace");
    for (const entry of [bad, good]) await recorder.record(entry);
    await recorder.stop();
    expect(database.ids).toEqual([good.id]);
    expect(await readdir(folder.path)).toEqual([SEGMENT]);
    folder.disk.failing.clear();
    await folder.start();
    expect(await readFile(join(folder.path, REJECTED))).toEqual(ended(bad));
    expect(await readdir(folder.path)).toEqual([REJECTED]);
  });

  it("counts as rejected while there is no room for it", async () => {
    const { journal } = await Journal.open({ folder: folder.path, sync: false, files: folder.disk });
    const refused = [{ segment: 1, entry: auditEntry({ sourceIp: "127.0.0.z" }), reason: "invalid input" }];
    folder.disk.failing.add("replace");
    await expect(rejectEntries({ journal, log: folder.log }, refused)).rejects.toThrow("EIO");
    await expect(rejectEntries({ journal, log: folder.log }, refused)).rejects.toThrow("EIO");
    expect(journal.rejectedLines()).toBe(1);
    folder.disk.failing.clear();
    await rejectEntries({ journal, log: folder.log }, refused);
    expect(journal.rejectedLines()).toBe(1);
  });
});

describe("something other than a file in the place of a segment", () => {
  it.each<[string, (path: string) => Promise<unknown>]>([
    ["a folder", (path) => mkdir(path)],
    ["a link to nothing", (path) => symlink(join(folder.path, "absent"), path)],
    ["a device", (path) => symlink("/dev/null", path)],
  ])("is rejected unchanged: %s", async (_, make) => {
    const first = auditEntry();
    await writeFile(join(folder.path, "000000000002.ndjson"), ended(first));
    await make(join(folder.path, SEGMENT));
    const { journal, repair } = await folder.start();
    expect(folder.database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await readdir(folder.path)).toEqual([REJECTED]);
    expect((await repair.list(10)).files).toMatchObject([{ file: REJECTED }]);
    expect(folder.alarms()[0]).toMatchObject({ file: join(folder.path, SEGMENT), keptIn: REJECTED });
    // Once it was removed by hand it is rejected no more.
    await rm(join(folder.path, REJECTED), { recursive: true });
    await repair.list(10);
    expect(journal.rejectedLines()).toBe(0);
  });

  it("delays the decision whether requests of other segments were lost, as their ends may be in it", async () => {
    const [lost, unknown] = [auditEntry(), auditEntry({ costNanoUsd: 7n })];
    await folder.leave(begun(lost), begun(unknown));
    await symlink(join(folder.path, "absent"), join(folder.path, "000000000002.ndjson"));
    const { journal, repair } = await folder.start();
    // Recorded as lost, what it cost could not be charged any more.
    expect(folder.database.ids).toEqual([]);
    expect(journal.rejectedLines()).toBe(3);

    await writeFile(join(folder.path, "absent"), ended(unknown));
    expect(await repair.replay(BY, null)).toEqual({ replayed: 3, notReplayed: [] });
    expect(folder.database.entries.get(unknown.id)).toMatchObject({ endReason: "stop", costNanoUsd: 7n });
    expect(folder.database.entries.get(lost.id)).toMatchObject({ endReason: "node_lost" });
  });

  it("does not overwrite what is rejected already", async () => {
    await writeFile(join(folder.path, REJECTED), "garbage\n");
    await mkdir(join(folder.path, SEGMENT));
    const { journal } = await folder.start();
    expect((await readdir(folder.path)).toSorted()).toEqual(["000000000001-2.rejected", REJECTED]);
    expect(journal.rejectedLines()).toBe(2);
  });

  it("is replayed like other rejected lines once it is readable", async () => {
    const first = auditEntry();
    await symlink(join(folder.path, "absent"), join(folder.path, SEGMENT));
    const { journal, repair } = await folder.start();
    await writeFile(join(folder.path, "absent"), ended(first));
    expect(await repair.replay(BY, null)).toEqual({ replayed: 1, notReplayed: [] });
    expect(folder.database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(0);
  });
});

it("new segments get higher numbers than those with rejected lines", async () => {
  await folder.leave("garbage\n");
  await rm(join(folder.path, REJECTED), { force: true });
  const { journal } = await folder.start();
  expect(await journal.append({ kind: "ended", entry: auditEntry() }).whenWritten).toBe(2);
  await journal.close();
  await appendFile(join(folder.path, "000000000009-3.rejected"), "x\n");
  const again = await Journal.open({ folder: folder.path, sync: false });
  expect(again.journal.rejectedLines()).toBe(2);
  expect(await again.journal.append({ kind: "ended", entry: auditEntry() }).whenWritten).toBe(10);
  await again.journal.close();
});
