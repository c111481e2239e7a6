import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { UnverifiableExportError } from "../../sdk/src/core/errors.ts";
import type { EntryFilter } from "../../server/src/audit/filter.ts";
import type { AuditEntry } from "../../server/src/contract/entry.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { type LoggedRequest, provedExport, recordLog, SAMPLE, START_MS } from "../fixtures/audit-logs.ts";

let database: AuditDatabase;

beforeAll(async () => {
  database = await openAuditDatabase(SAMPLE);
});

afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
});

const SPAN_MS = 100;
const request: fc.Arbitrary<LoggedRequest> = fc.record({
  atMs: fc.integer({ min: 0, max: SPAN_MS }),
  status: fc.constantFrom(200, 404, 500),
});
const log = fc.array(fc.array(request, { minLength: 1, maxLength: 6 }), { maxLength: 12 });
const time = fc.option(fc.integer({ min: -10, max: SPAN_MS + 10 }).map((ms) => new Date(START_MS + ms)));
const filter = fc.record({
  from: time,
  to: time,
  status: fc.option(fc.constantFrom({ from: 200, to: 200 }, { from: 400, to: 499 }), { freq: 2 }),
});
interface Filter extends Pick<EntryFilter, "from" | "to"> {
  readonly status: Exclude<EntryFilter["status"], "error">;
}

function isMatch({ from, to, status }: Filter, entry: AuditEntry): boolean {
  const isIn = (from === null || entry.at >= from) && (to === null || entry.at < to);
  return isIn && (status === null || (entry.status >= status.from && entry.status <= status.to));
}

function scopeOf({ from, to, status }: Filter): string {
  if (status !== null) return "selection";
  return from === null && to === null ? "log" : "range";
}

async function isVerified(lines: readonly string[]): Promise<boolean> {
  try {
    return (await verifyAuditExport(lines)).ok;
  } catch (error) {
    if (error instanceof UnverifiableExportError) return false;
    throw error;
  }
}

const cursorOf = (line: string) => /"cursor":"([^"]+)"\}$/.exec(line)?.[1] ?? null;

/** Ways to change a file: each gives another file, or the same one if there is nothing to change. */
const forgeries: Record<string, (lines: readonly string[], at: number) => readonly string[]> = {
  removed: (lines, at) => lines.toSpliced(at, 1),
  repeated: (lines, at) => lines.toSpliced(at, 0, lines[at] ?? ""),
  swapped: (lines, at) =>
    lines.with(at, lines[(at + 1) % lines.length] ?? "").with((at + 1) % lines.length, lines[at] ?? ""),
  torn: (lines, at) => lines.with(at, (lines[at] ?? "").slice(0, 30)),
  "cut off": (lines, at) => lines.slice(0, Math.max(1, at)),
  "another status": (lines, at) => lines.with(at, (lines[at] ?? "").replace(/"status":\d+/, '"status":418')),
  "another digest": (lines, at) =>
    lines.with(
      at,
      (lines[at] ?? "").replace(
        /"(digest|content|previous)":"(.)/,
        (_, name, digit) => `"${name}":"${digit === "0" ? 1 : 0}`,
      ),
    ),
  "another place": (lines, at) =>
    lines.with(
      at,
      (lines[at] ?? "").replace(/"place":(\d+)/, (_, place) => `"place":${Number(place) + 1}`),
    ),
  "an earlier end": (lines, at) =>
    lines.with(
      at,
      (lines[at] ?? "").replace(/"last":(\d+)/, (_, last) => `"last":${Number(last) - 1}`),
    ),
  "moved to the entries left out": (lines, at) => {
    const entry = JSON.parse(lines[at] ?? "{}");
    if (entry.chain === undefined) return lines;
    const { chain, cursor, request_id: _, key_name: __, token_count: ___, ...covered } = entry;
    const ids = lines.map((line) => JSON.parse(line)).filter((line) => line.chain?.batch === chain.batch);
    const place = ids.findIndex(({ id }) => id === entry.id);
    return lines.with(
      at,
      JSON.stringify({ proof: { ...chain, left_out: [{ place, entry: covered }] }, cursor }),
    );
  },
};

describe("the proof of an export", () => {
  it("verifies any part of any log, wherever the export was interrupted", async () => {
    await fc.assert(
      fc.asyncProperty(log, filter, fc.nat(), async (batches, asked, cut) => {
        const { accountId, entries } = await recordLog(database, batches);
        const lines = await provedExport(database, accountId, asked);
        const matching = entries.filter((entry) => isMatch(asked, entry)).map(({ id }) => id);
        expect(lines.flatMap((line) => JSON.parse(line).id ?? [])).toEqual(matching);
        expect(await verifyAuditExport(lines)).toMatchObject({
          problems: [],
          ok: true,
          complete: matching.length === 0 ? null : scopeOf(asked),
          entries: matching.length,
        });
        const end = cut % lines.length;
        const rest = await provedExport(database, accountId, asked, cursorOf(lines[end] ?? ""));
        expect([...lines.slice(0, end + 1), ...rest]).toEqual(lines);
      }),
      { numRuns: 60 },
    );
  });

  it("finds every change of any line", async () => {
    await fc.assert(
      fc.asyncProperty(
        log,
        filter,
        fc.constantFrom(...Object.keys(forgeries)),
        fc.nat(),
        async (batches, asked, name, at) => {
          const { accountId } = await recordLog(database, batches);
          const lines = await provedExport(database, accountId, asked);
          // Of a filter the proof tells only how many entries it left out.
          fc.pre(asked.status === null || !name.startsWith("moved"));
          const forged = forgeries[name]?.(lines, at % lines.length) ?? lines;
          fc.pre(forged.join("\n") !== lines.join("\n"));
          expect(await isVerified(forged)).toBe(false);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("is written and verified in small parts, however large the batches are", async () => {
    const batches = Array.from({ length: 7 }, (_, batch) =>
      Array.from({ length: 1_900 }, (_, index) => ({
        atMs: batch * 10 + (index % 25),
        status: index % 3 === 0 ? 404 : 200,
      })),
    );
    const late = { atMs: 30, status: 200 };
    const { accountId, entries } = await recordLog(database, [
      ...batches,
      [{ atMs: 900, status: 200 }],
      [late],
    ]);
    const from = new Date(START_MS + 12);
    const to = new Date(START_MS + 41);
    for (const asked of [
      { from, to, status: null },
      { from: null, to, status: { from: 404, to: 404 } },
    ]) {
      const lines = await provedExport(database, accountId, asked);
      const matching = entries.filter((entry) => isMatch(asked, entry));
      const report = await verifyAuditExport(lines);
      expect(report).toMatchObject({ ok: true, entries: matching.length, head: { batch: 9 } });
      expect(report.entries + report.leftOut).toBe(entries.length);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(300_000);
      for (const place of [0.1, 0.5, 0.9, 0.999]) {
        const end = Math.floor(lines.length * place);
        const rest = await provedExport(database, accountId, asked, cursorOf(lines[end] ?? ""));
        expect([...lines.slice(0, end + 1), ...rest]).toEqual(lines);
      }
    }
  });
});
