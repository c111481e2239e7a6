import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requestIdOf } from "../../server/src/contract/entry.ts";
import { encodeEntry } from "../../server/src/contract/entry-values.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { BY, begun, ended, JournalFolder, REJECTED } from "./journal-folder.ts";

let folder: JournalFolder;

beforeEach(async () => {
  folder = await JournalFolder.make();
});

afterEach(() => folder[Symbol.asyncDispose]());

describe("an operator who repairs the journal", () => {
  it("lists rejected lines, corrects one and replays it, and every step is recorded", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z", costNanoUsd: 9n });
    await folder.leave(ended(auditEntry()), "garbage\n", ended(bad));
    const { journal, repair, actions } = await folder.start();
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
    expect(folder.database.entries.get(bad.id)).toMatchObject({ sourceIp: "127.0.0.1", costNanoUsd: 9n });
    expect(journal.rejectedLines()).toBe(1);
    expect(actions).toMatchObject([
      {
        action: "journal.replay",
        by: BY,
        after: { node: "this node", lines: 1, requests: [{ costNanoUsd: "9" }] },
      },
    ]);
  });

  it("can correct a file by hand and replay it", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await folder.leave(ended(bad));
    const { journal, repair } = await folder.start();
    const text = await readFile(join(folder.path, REJECTED), "utf8");
    // Editors may leave the last newline out.
    await writeFile(join(folder.path, REJECTED), text.replace("127.0.0.z", "127.0.0.1").trim());
    expect(await repair.replay(BY, null)).toEqual({ replayed: 1, notReplayed: [] });
    expect(journal.rejectedLines()).toBe(0);
    expect(await readdir(folder.path)).toEqual([]);
  });

  it("is told which lines wait for a locked account, and replays the others", async () => {
    const [locked, free] = [auditEntry(), auditEntry()];
    await folder.leave("garbage\n", "more of it\n");
    const { journal, repair } = await folder.start();
    await writeFile(join(folder.path, REJECTED), Buffer.concat([begun(locked), ended(locked), ended(free)]));
    const [begin, end] = (await repair.list(10)).lines;
    folder.database.lockedAccounts.add(locked.accountId);
    const { replayed, notReplayed } = await repair.replay(BY, null);
    expect(replayed).toBe(1);
    // Recorded as lost, the request could not be charged any more.
    expect(notReplayed).toMatchObject([
      { id: end?.id, line: 2, reason: expect.stringContaining("replay the line again") },
      { id: begin?.id, line: 1 },
    ]);
    expect(folder.database.ids).toEqual([free.id]);
    folder.database.lockedAccounts.clear();
    expect(await repair.replay(BY, null)).toEqual({ replayed: 2, notReplayed: [] });
    expect(folder.database.entries.get(locked.id)).toEqual(locked);
    expect(journal.rejectedLines()).toBe(0);
  });

  it("discards lines explicitly, with a reason", async () => {
    await folder.leave("garbage\n", "more of it\n");
    const { journal, repair, actions } = await folder.start();
    const [first, second] = (await repair.list(10)).lines;
    expect(await repair.discard(BY, [first?.id ?? ""], "of no use")).toEqual({ discarded: 1 });
    expect(journal.rejectedLines()).toBe(1);
    expect((await repair.list(10)).lines).toMatchObject([{ id: second?.id, line: 1 }]);
    expect(actions).toMatchObject([{ action: "journal.discard", reason: "of no use", after: { lines: 1 } }]);
  });

  it("gets a not-found error that names the node when no such line was rejected", async () => {
    const { repair } = await folder.start();
    for (const call of [
      () => repair.get("0123456789ab"),
      () => repair.discard(BY, ["0123456789ab"], "why"),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: "not_found",
        message: expect.stringContaining("this node"),
      });
    }
  });

  it("never records a request as lost while a rejected line has its end", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z", costNanoUsd: 9n });
    const start = begun({ ...bad, sourceIp: null });
    await folder.leave("garbage\n", start);
    const { journal, repair } = await folder.start();
    // The operator restores the damaged line, which the database refuses.
    await writeFile(join(folder.path, REJECTED), Buffer.concat([ended(bad), start]));
    const [end, begin] = (await repair.list(10)).lines;
    for (const ids of [null, [begin?.id ?? ""]]) {
      expect(await repair.replay(BY, ids)).toMatchObject({
        replayed: 0,
        notReplayed: expect.arrayContaining([expect.objectContaining({ id: begin?.id })]),
      });
    }
    expect(folder.database.ids).toEqual([]);
    await repair.replay(BY, [end?.id ?? ""], encodeEntry({ ...bad, sourceIp: null }));
    expect(await repair.replay(BY, null)).toEqual({ replayed: 1, notReplayed: [] });
    expect(folder.database.entries.get(bad.id)).toMatchObject({ costNanoUsd: 9n });
    expect(journal.rejectedLines()).toBe(0);
  });

  it("loses nothing when the database is unreachable or a line is added meanwhile", async () => {
    const bad = auditEntry({ sourceIp: "127.0.0.z" });
    await folder.leave(ended(bad));
    const { journal, repair } = await folder.start();
    const mended = encodeEntry({ ...bad, sourceIp: null });
    const id = (await repair.list(1)).lines[0]?.id ?? "";
    folder.database.isAway = true;
    await expect(repair.replay(BY, [id], mended)).rejects.toThrow("ECONNREFUSED");
    expect(journal.rejectedLines()).toBe(1);
    folder.database.isAway = false;
    const replayed = repair.replay(BY, [id], mended);
    await journal.rejected.add(1, [Buffer.from("another")]);
    await replayed;
    expect(await readFile(join(folder.path, REJECTED), "utf8")).toBe("another\n");
    expect(journal.rejectedLines()).toBe(1);
  });
});
