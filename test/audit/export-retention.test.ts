import { v7 as uuidv7 } from "uuid";
import { beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { AuditLog } from "../../server/src/audit/audit-log.ts";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { type EntryFilter, filterOf } from "../../server/src/audit/filter.ts";
import type { Recorder } from "../../server/src/audit/recorder.ts";
import type { ExportFormat } from "../../server/src/audit/selection.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { type EntryId, timeOfEntry } from "../../server/src/contract/entry.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { Reads } from "../../server/src/database/reads.ts";
import { openAuditDatabase } from "../fixtures/audit-database.ts";
import { recordLog, SAMPLE } from "../fixtures/audit-logs.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";

const DAY_MS = 24 * 60 * 60_000;
const RETENTION_DAYS = BUILT_IN_PLANS.free.auditRetentionDays ?? 0;
const DELETED = {
  code: "not_found",
  param: "cursor",
  message: expect.stringMatching(/deleted at the end of their retention.*again, without a cursor/),
};

const database = sharedByFile(() => openAuditDatabase(SAMPLE));
let log: AuditLog;

beforeAll(async () => {
  const recorder = { flush: async (_: AccountId | null) => {} } as Recorder;
  // By a clock that stands still nothing takes time.
  log = new AuditLog(database.reader, recorder, new Reads(() => 0), Date.now);
});

/** A log with an entry a millisecond, in batches of a hundred. */
const longLog = (entries: number) =>
  recordLog(
    database,
    Array.from({ length: entries / 100 }, (_, batch) =>
      Array.from({ length: 100 }, (_, index) => ({ atMs: batch * 100 + index, status: 200 })),
    ),
  );

/** Deletes the entries that are older than one. */
const deleteBefore = (entry: { readonly id: Parameters<typeof timeOfEntry>[0] } | undefined) => {
  if (entry === undefined) throw new Error("no such entry");
  const now = timeOfEntry(entry.id).getTime() + RETENTION_DAYS * DAY_MS;
  return dropOldEntries(database.sql, BUILT_IN_PLANS, new Date(now));
};

interface Export {
  readonly format: ExportFormat;
  readonly filter: Partial<EntryFilter>;
  readonly isProved: boolean;
}

const begin = (accountId: AccountId, { format, filter, isProved }: Export, cursor: string | null = null) =>
  log.export(accountId, { format, filter: { ...filterOf({}), ...filter }, cursor, isProved });

const linesOf = (text: string) => text.split("\n").slice(0, -1);

async function linesIn(parts: AsyncIterable<string>): Promise<string[]> {
  const lines: string[] = [];
  for await (const text of parts) lines.push(...linesOf(text));
  return lines;
}

const cursorOf = (line: string | undefined) => /([\d]*~[^",}]+)"?\}?$/.exec(line ?? "")?.[1] ?? "";

const EXPORTS: readonly (readonly [string, Export])[] = [
  ["CSV", { format: "csv", filter: {}, isProved: false }],
  ["NDJSON", { format: "ndjson", filter: {}, isProved: false }],
  ["CSV with a filter", { format: "csv", filter: { status: { from: 200, to: 200 } }, isProved: false }],
  [
    "NDJSON with a closed period",
    { format: "ndjson", filter: { from: new Date(0), to: new Date(Date.UTC(2026, 1, 28)) }, isProved: false },
  ],
  [
    "NDJSON with a proof",
    { format: "ndjson", filter: { from: new Date(0), to: new Date(Date.UTC(2026, 1, 28)) }, isProved: true },
  ],
];

describe.each<[string, Export]>([
  ["CSV", { format: "csv", filter: {}, isProved: false }],
  ["NDJSON with a filter", { format: "ndjson", filter: { status: { from: 200, to: 200 } }, isProved: false }],
  ["NDJSON with a proof", { format: "ndjson", filter: {}, isProved: true }],
])("an export of a period that has not passed, as %s", (_, wanted) => {
  it("has nothing that is recorded after it has begun, wherever it continues", async () => {
    const { accountId, entries } = await recordLog(
      database,
      [0, 1, 2].map((batch) =>
        Array.from({ length: 10 }, (_, index) => ({ atMs: 100 * batch + 10 * index, status: 200 })),
      ),
    );
    const whole = await linesIn(await begin(accountId, wanted));
    // One whose request began long before, and one of a later request.
    for (const atMs of [255, 1_000]) {
      const at = new Date((entries[0]?.at.getTime() ?? 0) + atMs);
      const id = uuidv7({ msecs: at.getTime() }) as EntryId;
      await database.audit.insertEntries(entries.slice(0, 1).map((entry) => ({ ...entry, id, at })));
    }
    for (const lines of [1, 15, whole.length - 1]) {
      const cursor = cursorOf(whole[lines - 1]);
      expect(await linesIn(await begin(accountId, wanted, cursor))).toEqual(whole.slice(lines));
    }
  });
});

describe.each(EXPORTS)("an export as %s", (_, wanted) => {
  it("does not continue after entries that retention has deleted", async () => {
    const { accountId, entries } = await longLog(600);
    const lines = await linesIn(await begin(accountId, wanted));
    const of = (index: number) => lines.find((line) => line.includes(entries[index]?.id ?? "none"));
    await deleteBefore(entries[300]);
    for (const index of [0, 150, 298]) {
      await expect(begin(accountId, wanted, cursorOf(of(index)))).rejects.toMatchObject(DELETED);
    }
  });

  it("continues where all that was deleted is before its cursor", async () => {
    const { accountId, entries } = await longLog(600);
    await deleteBefore(entries[100]);
    const lines = await linesIn(await begin(accountId, wanted));
    const at = lines.findIndex((line) => line.includes(entries[399]?.id ?? "none"));
    if (!wanted.isProved) await deleteBefore(entries[400]);
    const rest = await linesIn(await begin(accountId, wanted, cursorOf(lines[at])));
    expect(rest).toEqual(lines.slice(at + 1));
    // Without a proof, nothing of the export's beginning is needed any more.
    expect(rest.filter((line) => !line.startsWith('{"proof"'))).toHaveLength(200);
  });

  it("fails when retention overtakes it, and continues no more", async () => {
    const { accountId, entries } = await longLog(6_000);
    const parts = await begin(accountId, wanted);
    const read: string[] = [];
    const reading = async () => {
      for await (const text of parts) {
        read.push(...linesOf(text));
        if (read.length >= 5_000) await deleteBefore(entries[5_500]);
      }
    };
    await expect(reading()).rejects.toMatchObject(DELETED);
    await expect(begin(accountId, wanted, cursorOf(read.at(-1)))).rejects.toMatchObject(DELETED);
  });

  it("is read to its end while retention deletes what it has written", async () => {
    const { accountId, entries } = await longLog(6_000);
    const lines: string[] = [];
    for await (const text of await begin(accountId, wanted)) {
      lines.push(...linesOf(text));
      const written = lines.filter((line) => !line.startsWith('{"proof"')).length;
      if (written >= 5_000) await deleteBefore(entries[Math.min(written, 5_900)]);
    }
    expect(lines.filter((line) => !line.startsWith('{"proof"'))).toHaveLength(6_000);
    if (wanted.isProved)
      expect(await verifyAuditExport(lines)).toMatchObject({ ok: true, complete: "range" });
  });
});

describe("an export with a proof", () => {
  it("does not continue once its first batch is deleted, as the proof begins with the digest before that", async () => {
    const wanted: Export = { format: "ndjson", filter: {}, isProved: true };
    const { accountId, entries } = await longLog(300);
    const lines = await linesIn(await begin(accountId, wanted));
    const cursor = cursorOf(lines.find((line) => line.includes(entries[199]?.id ?? "none")));
    await deleteBefore(entries[100]);
    await expect(begin(accountId, wanted, cursor)).rejects.toMatchObject(DELETED);
  });
});

describe("an export that begins where retention has deleted", () => {
  // Of a request that lasted long, the entry is recorded with later ones.
  const withLongRequest = () =>
    recordLog(database, [
      Array.from({ length: 100 }, (_, index) => ({ atMs: index, status: 200 })),
      Array.from({ length: 6_000 }, (_, index) => ({
        atMs: index < 10 ? 50 + index : 200 + index,
        status: 200,
      })),
    ]);

  it.each(EXPORTS)("has the entries that are older than deleted ones, as %s", async (_, wanted) => {
    const { accountId, entries } = await withLongRequest();
    await deleteBefore(entries[200]);
    const lines = await linesIn(await begin(accountId, wanted));
    expect(lines.filter((line) => !line.startsWith('{"proof"'))).toHaveLength(6_000);
  });
});

describe("an export of the whole log after retention", () => {
  it("has its oldest batch verified by the point before it, which was kept", async () => {
    const { accountId, entries } = await longLog(300);
    const wanted: Export = { format: "ndjson", filter: {}, isProved: false };
    const kept = JSON.parse((await linesIn(await begin(accountId, wanted)))[0] ?? "{}").chain;
    const expected = { batch: kept.batch, digest: kept.digest };
    await deleteBefore(entries[100]);
    const lines = await linesIn(await begin(accountId, wanted));
    const verified = (given: readonly string[], point = expected) =>
      verifyAuditExport(given, { expected: point, removedBatches: 1 });
    expect(await verified(lines)).toMatchObject({ ok: true, complete: "log", entries: 200, problems: [] });
    const changed = lines.with(5, (lines[5] ?? "").replace(/"latency_ms":\d+/, '"latency_ms":987654'));
    const report = await verified(changed);
    expect(report.problems).toContainEqual({ problem: "changed", batch: 2, line: null });
    const other = {
      ...expected,
      digest: expected.digest.replace(/^./, (digit: string) => (digit === "0" ? "1" : "0")),
    };
    expect(await verified(lines, other)).toMatchObject({ ok: false });
  });

  it("cannot be compared with a point that was deleted, which is no difference", async () => {
    const { accountId, entries } = await longLog(300);
    const wanted: Export = { format: "ndjson", filter: {}, isProved: false };
    const { batch, digest } = JSON.parse((await linesIn(await begin(accountId, wanted)))[0] ?? "{}").chain;
    await deleteBefore(entries[200]);
    const lines = await linesIn(await begin(accountId, wanted));
    const { problems } = await verifyAuditExport(lines, { expected: { batch, digest }, removedBatches: 2 });
    expect(problems).toEqual([{ problem: "expected_not_included", batch: 1, line: null }]);
  });
});

describe("entries that retention has deleted", () => {
  it("are not recorded again from an old journal, in whatever order they were recorded", async () => {
    const { sql, audit } = database;
    const { accountId, entries } = await recordLog(database, [
      [0, 500].map((atMs) => ({ atMs, status: 200 })),
      [{ atMs: 300, status: 200 }],
      [{ atMs: 600, status: 200 }],
    ]);
    await deleteBefore(entries[3]);
    for (const mayExist of [false, true]) await audit.insertEntries(entries, { mayExist });
    const left = await sql`select id from audit_entries where account_id = ${accountId}`;
    expect(left.map(({ id }) => id)).toEqual([entries[3]?.id]);
  });
});
