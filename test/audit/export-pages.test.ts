import { beforeEach, describe, expect, it } from "vitest";
import { AuditLog } from "../../server/src/audit/audit-log.ts";
import type { PostgresAuditReader } from "../../server/src/audit/audit-reader.ts";
import type { AsOf } from "../../server/src/audit/cursor.ts";
import type { ExportedLines } from "../../server/src/audit/export-plan.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import type { Recorder } from "../../server/src/audit/recorder.ts";
import type { Removed } from "../../server/src/audit/removed-entries.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { Reads } from "../../server/src/database/reads.ts";

const ACCOUNT = "a" as AccountId;
/** Lines of a page that is full. */
const FULL = 5_000;
const entry = (number: number) => `01936ef4-0000-7000-8000-00000000000${number}` as EntryId;

/** The pages of the log, in their order. */
let pages: ExportedLines[];
/** After which entries they were read. */
let readAfter: (EntryId | null)[];
let log: AuditLog;
/** What retention has deleted when an export continues. */
let removed: Removed;

beforeEach(() => {
  readAfter = [];
  removed = NOTHING;
  const reader: Pick<PostgresAuditReader, "asOf" | "exportEntries" | "removed" | "provedLines"> = {
    asOf: async () => 7n as AsOf,
    removed: async () => removed,
    provedLines: async function* () {
      yield "proof\n";
    },
    exportEntries: async (_plan, after) => {
      const page = pages[readAfter.length];
      readAfter.push(after);
      if (page === undefined) throw new Error("there are no more pages");
      return page;
    },
  };
  const recorder: Pick<Recorder, "flush"> = { flush: async () => {} };
  log = new AuditLog(reader as PostgresAuditReader, recorder as Recorder, new Reads(() => 0), () => 0);
});

const NOTHING: Removed = { batches: 0n, upTo: null };

const begin = (cursor: string | null = null, isProved = false) =>
  log.export(ACCOUNT, { format: "ndjson", filter: filterOf({}), cursor, isProved });

async function textOf(exported: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const part of exported) text += part;
  return text;
}

/** A page up to an entry. By default it is full, and the log goes on. */
function page(
  last: number,
  removed: Removed,
  { count = FULL, searchedTo = null }: { count?: number; searchedTo?: EntryId | null } = {},
): ExportedLines {
  return { text: `to ${last}\n`, count, last: entry(last), searchedTo, removed };
}

describe("an export in pages", () => {
  it("goes on after a full page, and after a search that found little, up to the end", async () => {
    pages = [
      page(1, NOTHING),
      page(2, NOTHING, { count: 3, searchedTo: entry(4) }),
      page(5, NOTHING, { count: 0, searchedTo: entry(6) }),
      page(7, NOTHING, { count: FULL - 1 }),
    ];
    expect(await textOf(await begin())).toBe("to 1\nto 2\nto 7\n");
    expect(readAfter).toEqual([null, entry(1), entry(4), entry(6)]);
  });

  it("goes on with entries that are older than some that were deleted before it began, and not past a later deletion", async () => {
    const before: Removed = { batches: 3n, upTo: entry(8) };
    pages = [page(1, before), page(2, before), page(3, before, { count: 1 })];
    expect(await textOf(await begin())).toBe("to 1\nto 2\nto 3\n");
    readAfter = [];
    pages = [page(1, before), page(2, { batches: 4n, upTo: entry(8) })];
    await expect(textOf(await begin())).rejects.toMatchObject({ code: "not_found", param: "cursor" });
    // What was deleted is all before what it has written.
    readAfter = [];
    pages = [page(2, NOTHING), page(3, { batches: 1n, upTo: entry(2) }, { count: 1 })];
    expect(await textOf(await begin())).toBe("to 2\nto 3\n");
  });

  it("makes room for the next one when it has been read to its end, has failed or is left", async () => {
    for (let number = 0; number < 20; number++) {
      readAfter = [];
      pages = [page(1, NOTHING), page(2, NOTHING, { count: 1 })];
      await textOf(await begin());
      readAfter = [];
      pages = [page(1, NOTHING)];
      await expect(textOf(await begin())).rejects.toThrow("no more pages");
      await (await begin()).return?.();
    }
    const running: AsyncIterableIterator<string>[] = [];
    await expect(
      (async () => {
        for (let number = 0; number < 100; number++) running.push(await begin());
      })(),
    ).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    for (const left of running) await left.return?.();
  });
});

describe("an export that continues after retention has deleted entries", () => {
  const after = `7~${entry(5)}`;

  it.each<[string, string, Removed]>([
    ["before its cursor", after, { batches: 2n, upTo: entry(5) }],
    ["before its first batch", `${after}~2-3`, { batches: 1n, upTo: entry(5) }],
    ["and has only the first line of its proof", `${after}~0-0`, { batches: 5n, upTo: entry(9) }],
    ["and has everything", `${after}~2-3~end`, { batches: 5n, upTo: entry(9) }],
    ["and has all entries of its period", `${after}~2-3~rest3.0`, { batches: 1n, upTo: entry(9) }],
  ])("goes on: %s", async (_, cursor, deleted) => {
    removed = deleted;
    pages = [page(6, deleted, { count: 1 })];
    const isProved = cursor !== after;
    expect(await textOf(await begin(cursor, isProved))).toBe(isProved ? "proof\n" : "to 6\n");
  });

  it.each<[string, string, Removed]>([
    ["after its cursor", after, { batches: 2n, upTo: entry(6) }],
    ["after its cursor, with a proof", `${after}~2-3`, { batches: 1n, upTo: entry(6) }],
    ["of its first batch", `${after}~2-3`, { batches: 2n, upTo: entry(5) }],
    [
      "of its first batch, whatever it still has to prove",
      `${after}~2-3~rest3.0`,
      { batches: 2n, upTo: entry(9) },
    ],
    [
      "after its cursor, in the middle of the proof of a batch",
      `${after}~2-3~batch3.0`,
      { batches: 1n, upTo: entry(9) },
    ],
  ])("is refused: %s", async (_, cursor, deleted) => {
    removed = deleted;
    await expect(begin(cursor, cursor !== after)).rejects.toMatchObject({
      code: "not_found",
      param: "cursor",
    });
  });

  it.each([
    [after, true],
    [`${after}~2-3`, false],
  ])(
    "is refused if it asks for a proof that it did not have, or the other way round: %s",
    async (cursor, isProved) => {
      await expect(begin(cursor, isProved)).rejects.toMatchObject({
        code: "invalid_request",
        param: "cursor",
      });
    },
  );

  it("is refused if its cursor is of another selection", async () => {
    const cursor = `7${"0".repeat(20)}~${entry(5)}`;
    await expect(begin(cursor)).rejects.toMatchObject({ code: "invalid_request", param: "cursor" });
  });
});
