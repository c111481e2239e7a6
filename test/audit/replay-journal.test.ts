import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UserId } from "../../server/src/accounts/account.ts";
import type { NewAction } from "../../server/src/accounts/action.ts";
import { type AuditEntry, type EntryId, requestIdOf } from "../../server/src/audit/entry.ts";
import { encodeEntry } from "../../server/src/audit/entry-values.ts";
import { Journal } from "../../server/src/audit/journal.ts";
import { JournalRepair } from "../../server/src/audit/journal-repair.ts";
import { Recorder } from "../../server/src/audit/recorder.ts";
import { setEntriesAside } from "../../server/src/audit/replay-journal.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { FaultyDisk, systemError } from "../fixtures/faulty-disk.ts";

const BY = { userId: "operator" as UserId, managementToken: null, sourceIp: null };
const SEGMENT = "000000000001.ndjson";
const REJECTED = "000000000001.rejected";

let folder: string;
let disk: FaultyDisk;
let database: FakeDatabase;
let logged: Record<string, unknown>[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ostiary-journal-"));
  disk = new FaultyDisk();
  database = new FakeDatabase();
  logged = [];
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Takes each entry once, like the real one, and refuses addresses that are none. */
class FakeDatabase {
  readonly entries = new Map<EntryId, AuditEntry>();
  isAway = false;

  async insertEntries(batch: readonly AuditEntry[]): Promise<void> {
    if (this.isAway) throw systemError("ECONNREFUSED", "connect");
    for (const { sourceIp } of batch) {
      if (sourceIp?.endsWith("z"))
        throw systemError("22P02", `invalid input syntax for type inet: "${sourceIp}"`);
    }
    for (const entry of batch) if (!this.entries.has(entry.id)) this.entries.set(entry.id, entry);
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

/** What a start of the service does with the folder. */
async function start(): Promise<Started> {
  const { journal, leftover } = await Journal.open({ folder, sync: false, files: disk });
  const log = pino({ level: "info" }, { write: (line) => void logged.push(JSON.parse(line)) });
  const recorder = new Recorder({ journal, sink: database, durability: "journal", log });
  await recorder.replay(leftover);
  await recorder.stop();
  const actions: NewAction[] = [];
  const repair = new JournalRepair({
    journal,
    folder,
    nodeId: "this node",
    insert: (entries) => database.insertEntries(entries),
    record: async (action) => void actions.push(action),
    now: () => new Date(),
  });
  return { journal, repair, actions };
}

const ended = (entry: AuditEntry) => Buffer.from(`${encodeEntry(entry)}\n`);
const begun = (entry: AuditEntry) =>
  Buffer.from(`begun ${encodeEntry({ ...entry, endReason: "node_lost", costNanoUsd: 0n })}\n`);

/** Leaves a segment as a killed process does. */
function leave(...lines: readonly (Buffer | string)[]): Promise<void> {
  return writeFile(join(folder, SEGMENT), Buffer.concat(lines.map((line) => Buffer.from(line))));
}

const alarms = () => logged.filter(({ level }) => level === 50);

describe("a line of the journal that can't be read", () => {
  const [first, second] = [auditEntry(), auditEntry()];
  const torn = ended(auditEntry()).subarray(0, 100);
  it.each<[string, Buffer]>([
    ["garbage", Buffer.from("\u0001\u0002garbage{[\n")],
    ["zeros", Buffer.concat([Buffer.alloc(4_096), Buffer.from("\n")])],
    ["what is not UTF-8", Buffer.from([0x5b, 0xff, 0xfe, 0x5d, 0x0a])],
    ["half a line", Buffer.concat([torn, Buffer.from("\n")])],
    ["two lines in one", Buffer.concat([torn, ended(auditEntry())])],
    ["JSON that is no entry", Buffer.from('{"hello":"world"}\n')],
    ["an entry without its request", Buffer.from(`${JSON.stringify([null, ...Array(20).fill("1")])}\n`)],
  ])("is set aside to the byte: %s", async (_, damaged) => {
    await leave(ended(first), damaged, ended(second));
    const { journal } = await start();
    expect(database.ids).toEqual([first.id, second.id]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await readFile(join(folder, REJECTED))).toEqual(damaged);
    expect(await readdir(folder)).toEqual([REJECTED]);
    // File, line and what to do.
    expect(alarms()).toMatchObject([
      { file: join(folder, SEGMENT), line: 2, keptIn: { file: REJECTED, line: 1 } },
      { lines: 1, msg: expect.stringContaining("journal list") },
    ]);
  });

  it("stays set aside over restarts, and is told of at each", async () => {
    await leave("garbage\n", ended(first));
    await start();
    logged.length = 0;
    const { journal } = await start();
    expect(journal.rejectedLines()).toBe(1);
    expect(alarms()).toMatchObject([{ lines: 1 }]);
  });

  it("is set aside once, though the start was interrupted after that", async () => {
    await leave("garbage\n", ended(first));
    await start();
    await leave("garbage\n", ended(first));
    const { journal } = await start();
    expect(journal.rejectedLines()).toBe(1);
    expect(await readFile(join(folder, REJECTED), "utf8")).toBe("garbage\n");
  });

  it("is kept in its segment while it can't be set aside", async () => {
    await leave("garbage\n", ended(first));
    disk.failing.add("replace");
    const { journal } = await start();
    expect(database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await readdir(folder)).toEqual([SEGMENT]);
    disk.failing.clear();
    await start();
    expect(await readdir(folder)).toEqual([REJECTED]);
  });

  it("of which there are many is not named in the log line by line", async () => {
    await leave(...Array.from({ length: 1_000 }, (_, number) => `garbage ${number}\n`));
    const { journal } = await start();
    expect(journal.rejectedLines()).toBe(1_000);
    expect(alarms().length).toBeLessThan(30);
  });

  it("leaves open whether a request that had begun was lost, until it is dealt with", async () => {
    const [lost, unknown] = [auditEntry(), auditEntry({ costNanoUsd: 7n })];
    const line = ended(unknown);
    const damaged = Buffer.concat([Buffer.from("}"), line]);
    await leave(begun(lost), begun(unknown), damaged);
    const { journal, repair } = await start();
    // Recorded as lost, what it cost could not be charged any more.
    expect(database.ids).toEqual([]);
    expect(journal.rejectedLines()).toBe(3);

    const { notReplayed } = await repair.replay(BY, null);
    expect(notReplayed).toHaveLength(3);
    const { lines } = await repair.list(10);
    const unreadable = lines.find(({ kind }) => kind === "unreadable");
    await repair.replay(BY, [unreadable?.id ?? ""], line.toString().trim());
    await repair.replay(BY, null);
    expect(journal.rejectedLines()).toBe(0);
    expect(database.entries.get(unknown.id)).toMatchObject({ endReason: "stop", costNanoUsd: 7n });
    expect(database.entries.get(lost.id)).toMatchObject({ endReason: "node_lost" });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("the last line of a segment", () => {
  it.each<[string, Buffer]>([
    ["torn by a crash", ended(auditEntry()).subarray(0, 80)],
    ["zeros that a power loss left", Buffer.alloc(4_096)],
  ])("is left out, as nobody was told that it is recorded: %s", async (_, tail) => {
    const first = auditEntry();
    await leave(ended(first), tail);
    const { journal } = await start();
    expect(database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("an entry that the database refuses", () => {
  it("is set aside, and all others are recorded", async () => {
    const good = Array.from({ length: 50 }, () => auditEntry());
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await leave(...good.slice(0, 20).map(ended), ended(bad), ...good.slice(20).map(ended));
    const { journal } = await start();
    expect(database.ids).toEqual(good.map(({ id }) => id));
    expect(journal.rejectedLines()).toBe(1);
    expect(alarms()[0]).toMatchObject({ line: 21, reason: expect.stringContaining('inet: "127.0.0.z"') });
  });

  it("does not keep a request that was lost from being recorded", async () => {
    const [bad, lost] = [auditEntry({ sourceIp: "127.0.0.z" }), auditEntry()];
    await leave(begun(auditEntry({ ...bad, sourceIp: null })), begun(lost), ended(bad));
    await start();
    expect(database.entries.get(lost.id)).toMatchObject({ endReason: "node_lost" });
    // Its own end is known, and is not to be had twice.
    expect(database.ids).not.toContain(bad.id);
  });

  it("is not what a database is that is away: then the start fails, and nothing is lost", async () => {
    const first = auditEntry();
    await leave("garbage\n", ended(first));
    database.isAway = true;
    await expect(start()).rejects.toThrow("ECONNREFUSED");
    expect(await readdir(folder)).toEqual([SEGMENT]);
    database.isAway = false;
    await start();
    expect(database.ids).toEqual([first.id]);
  });
});

describe("an entry that the database refuses while the service runs", () => {
  const log = pino({ level: "error" }, { write: (line) => void logged.push(JSON.parse(line)) });

  it("is set aside as it stands in the journal, so that the next start knows it again", async () => {
    const { journal } = await Journal.open({ folder, sync: false, files: disk });
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    const segment = await journal.append({ kind: "ended", entry: bad });
    await setEntriesAside({ journal, log }, [{ segment, entry: bad, reason: "invalid input" }]);
    expect(journal.rejectedLines()).toBe(1);
    expect(alarms()).toMatchObject([{ keptIn: { file: REJECTED, line: 1 } }]);
    await journal.close();

    const { journal: next } = await start();
    expect(next.rejectedLines()).toBe(1);
    expect(await readFile(join(folder, REJECTED))).toEqual(ended(bad));
    expect(await readdir(folder)).toEqual([REJECTED]);
  });

  it("counts as set aside also while there is no room for it", async () => {
    const { journal } = await Journal.open({ folder, sync: false, files: disk });
    const refused = [{ segment: 1, entry: auditEntry({ sourceIp: "127.0.0.z" }), reason: "invalid input" }];
    disk.failing.add("replace");
    await expect(setEntriesAside({ journal, log }, refused)).rejects.toThrow("EIO");
    await expect(setEntriesAside({ journal, log }, refused)).rejects.toThrow("EIO");
    expect(journal.rejectedLines()).toBe(1);
    disk.failing.clear();
    await setEntriesAside({ journal, log }, refused);
    expect(journal.rejectedLines()).toBe(1);
  });
});

describe("what stands where a segment should be and is none", () => {
  it.each<[string, (path: string) => Promise<unknown>]>([
    ["a folder", (path) => mkdir(path)],
    ["a link to nothing", (path) => symlink(join(folder, "absent"), path)],
    ["a device", (path) => symlink("/dev/null", path)],
  ])("is set aside as it is: %s", async (_, make) => {
    const first = auditEntry();
    await writeFile(join(folder, "000000000002.ndjson"), ended(first));
    await make(join(folder, SEGMENT));
    const { journal, repair } = await start();
    expect(database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(1);
    expect(await readdir(folder)).toEqual([REJECTED]);
    expect((await repair.list(10)).files).toMatchObject([{ file: REJECTED }]);
    expect(alarms()[0]).toMatchObject({ file: join(folder, SEGMENT), keptIn: REJECTED });
    // Once it was removed by hand it is set aside no more.
    await rm(join(folder, REJECTED), { recursive: true });
    await repair.list(10);
    expect(journal.rejectedLines()).toBe(0);
  });

  it("does not take the place of what is set aside already", async () => {
    await writeFile(join(folder, REJECTED), "garbage\n");
    await mkdir(join(folder, SEGMENT));
    const { journal } = await start();
    expect((await readdir(folder)).toSorted()).toEqual(["000000000001-2.rejected", REJECTED]);
    expect(journal.rejectedLines()).toBe(2);
  });

  it("is replayed once it can be read, like any other lines that are set aside", async () => {
    const first = auditEntry();
    await symlink(join(folder, "absent"), join(folder, SEGMENT));
    const { journal, repair } = await start();
    await writeFile(join(folder, "absent"), ended(first));
    expect(await repair.replay(BY, null)).toEqual({ replayed: 1, notReplayed: [] });
    expect(database.ids).toEqual([first.id]);
    expect(journal.rejectedLines()).toBe(0);
  });
});

describe("an operator", () => {
  it("sees what is set aside, mends a line, replays it, and all of that is recorded", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z", costNanoUsd: 9n });
    await leave(ended(auditEntry()), "garbage\n", ended(bad));
    const { journal, repair, actions } = await start();
    const { lines, node } = await repair.list(10);
    expect(node).toBe("this node");
    expect(lines).toMatchObject([
      {
        file: REJECTED,
        line: 1,
        kind: "unreadable",
        problem: "it is not JSON",
        text: "garbage",
        request: null,
      },
      { file: REJECTED, line: 2, kind: "ended", problem: null },
    ]);
    const id = lines[1]?.id ?? "";
    expect(lines[1]?.request).toEqual({
      requestId: requestIdOf(bad.id),
      accountId: bad.accountId,
      at: bad.at,
      costNanoUsd: 9n,
    });

    expect((await repair.replay(BY, [id])).notReplayed).toMatchObject([
      { id, line: 2, reason: expect.stringContaining("inet") },
    ]);
    const { text } = await repair.get(id);
    await expect(repair.replay(BY, [id], "[]")).rejects.toMatchObject({ code: "invalid_request" });
    expect(await repair.replay(BY, [id], text.replace("127.0.0.z", "127.0.0.1"))).toEqual({
      replayed: 1,
      notReplayed: [],
    });
    expect(database.entries.get(bad.id)).toMatchObject({ sourceIp: "127.0.0.1", costNanoUsd: 9n });
    expect(journal.rejectedLines()).toBe(1);
    expect(actions).toMatchObject([
      {
        action: "journal.replay",
        by: BY,
        after: { node: "this node", lines: 1, requests: [{ costNanoUsd: "9" }] },
      },
    ]);
  });

  it("mends a file by hand, and replays it", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await leave(ended(bad));
    const { journal, repair } = await start();
    const text = await readFile(join(folder, REJECTED), "utf8");
    // Editors may leave the last newline out.
    await writeFile(join(folder, REJECTED), text.replace("127.0.0.z", "127.0.0.1").trim());
    expect(await repair.replay(BY, null)).toEqual({ replayed: 1, notReplayed: [] });
    expect(journal.rejectedLines()).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });

  it("discards lines explicitly, with a reason", async () => {
    await leave("garbage\n", "more of it\n");
    const { journal, repair, actions } = await start();
    const [first, second] = (await repair.list(10)).lines;
    expect(await repair.discard(BY, [first?.id ?? ""], "of no use")).toEqual({ discarded: 1 });
    expect(journal.rejectedLines()).toBe(1);
    expect((await repair.list(10)).lines).toMatchObject([{ id: second?.id, line: 1 }]);
    expect(actions).toMatchObject([{ action: "journal.discard", reason: "of no use", after: { lines: 1 } }]);
  });

  it("is told when no such line is set aside, and on which node that is", async () => {
    const { repair } = await start();
    for (const call of [repair.get("0123456789ab"), repair.discard(BY, ["0123456789ab"], "why")]) {
      await expect(call).rejects.toMatchObject({
        code: "not_found",
        message: expect.stringContaining("this node"),
      });
    }
  });

  it("loses nothing when the database is away, or a line comes in meanwhile", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await leave(ended(bad));
    const { journal, repair } = await start();
    const mended = encodeEntry({ ...bad, sourceIp: null });
    const id = (await repair.list(1)).lines[0]?.id ?? "";
    database.isAway = true;
    await expect(repair.replay(BY, [id], mended)).rejects.toThrow("ECONNREFUSED");
    expect(journal.rejectedLines()).toBe(1);
    database.isAway = false;
    const replayed = repair.replay(BY, [id], mended);
    await journal.setAside(1, [Buffer.from("another")]);
    await replayed;
    expect(await readFile(join(folder, REJECTED), "utf8")).toBe("another\n");
    expect(journal.rejectedLines()).toBe(1);
  });
});

it("segments are numbered above those that lines are set aside of", async () => {
  await leave("garbage\n");
  await rm(join(folder, REJECTED), { force: true });
  const { journal } = await start();
  expect(await journal.append({ kind: "ended", entry: auditEntry() })).toBe(2);
  await journal.close();
  await appendFile(join(folder, "000000000009-3.rejected"), "x\n");
  const again = await Journal.open({ folder, sync: false });
  expect(again.journal.rejectedLines()).toBe(2);
  expect(await again.journal.append({ kind: "ended", entry: auditEntry() })).toBe(10);
  await again.journal.close();
});
