import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { UnverifiableExportError } from "../../sdk/src/core/errors.ts";
import type { EntryFilter } from "../../server/src/audit/filter.ts";
import type { AuditEntry } from "../../server/src/contract/entry.ts";
import { openAuditDatabase } from "../fixtures/audit-database.ts";
import { type LoggedRequest, provedExport, recordLog, SAMPLE, START_MS } from "../fixtures/audit-logs.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";

const database = sharedByFile(() => openAuditDatabase(SAMPLE));

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
  "a number as text": (lines, at) =>
    lines.with(at, (lines[at] ?? "").replace(/"latency_ms":(\d+)/, '"latency_ms":"$1"')),
  "a text as a list": (lines, at) =>
    lines.with(at, (lines[at] ?? "").replace(/"upstream":("\w+")/, '"upstream":[$1]')),
  "an empty text for null": (lines, at) =>
    lines.with(at, (lines[at] ?? "").replace('"error_code":null', '"error_code":""')),
  "without a value that is null": (lines, at) =>
    lines.with(at, (lines[at] ?? "").replace('"error_code":null,', "")),
  "a name twice": (lines, at) =>
    lines.with(at, (lines[at] ?? "").replace(/"(latency_ms|digest|filter|first)":/, '"$1":null,$&')),
  // Deeper than a recursion can go.
  nested: (lines, at) => lines.with(at, `{"id":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
  "another digest": (lines, at) =>
    lines.with(
      at,
      (lines[at] ?? "").replace(
        /("(?:digest|content|previous)" ?: ?")(.)/,
        (_, start, digit) => `${start}${digit === "0" ? 1 : 0}`,
      ),
    ),
  "another place": (lines, at) =>
    lines.with(
      at,
      (lines[at] ?? "").replace(/("place" ?: ?)(\d+)/, (_, start, place) => `${start}${Number(place) + 1}`),
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
    const tried = new Map(Object.keys(forgeries).map((name) => [name, 0]));
    await fc.assert(
      fc.asyncProperty(
        log,
        filter,
        fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
        async (batches, asked, places) => {
          const { accountId } = await recordLog(database, batches);
          const lines = await provedExport(database, accountId, asked);
          for (const [name, forge] of Object.entries(forgeries)) {
            // Of a filter the proof tells only how many entries it left out.
            if (asked.status !== null && name.startsWith("moved")) continue;
            for (const place of places) {
              const forged = forge(lines, place % lines.length);
              if (forged.join("\n") === lines.join("\n")) continue;
              tried.set(name, (tried.get(name) ?? 0) + 1);
              expect(await isVerified(forged), `${name} at ${place % lines.length}`).toBe(false);
            }
          }
        },
      ),
      { numRuns: 30 },
    );
    expect(Object.fromEntries([...tried].filter(([, times]) => times === 0))).toEqual({});
  });

  const text = fc.constantFrom("acme/one", "acme/Two", "ΑΣ/i̇", "İ", "a\u2028b", "10%_\\");
  const address = fc.constantFrom(
    "10.1.2.3",
    "10.2.0.1",
    "192.0.2.1",
    "2001:db8::1",
    "::0.1.0.2",
    "2001:db9::",
  );
  const varied = fc.record({
    atMs: fc.integer({ min: 0, max: SPAN_MS }),
    status: fc.constantFrom(200, 400, 404, 500),
    keyId: fc.constantFrom("a=b9", "c0d1"),
    model: fc.option(text),
    upstream: fc.option(text),
    errorCode: fc.option(fc.constantFrom("rate_limit_exceeded", "upstream_timeout"), { freq: 1 }),
    sourceIp: fc.option(address),
  });
  const pattern = fc.oneof(
    text,
    fc.constantFrom("*", "ACME/*", "*/*O*", "ας*", "i*", "*\\", "**A**b", "*x", "acme*acme*"),
  );
  const parameters = fc.record(
    {
      from: fc.integer({ min: -10, max: SPAN_MS }).map((ms) => new Date(START_MS + ms)),
      key: fc.constantFrom({ keyId: "a=b9" }, { keyId: "c0d1" }),
      model: pattern,
      upstream: pattern,
      status: fc.constantFrom("error" as const, { from: 404, to: 404 }, { from: 400, to: 499 }),
      errorCode: fc.constantFrom("rate_limit_exceeded", "UPSTREAM_*", "*"),
      source: fc.constantFrom("10.0.0.0/8", "10.1.2.3/32", "0.0.0.0/0", "2001:db8::/32", "::/0", "::/96"),
    },
    { requiredKeys: [] },
  );
  const anyLog = fc.array(fc.array(varied, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });

  it("verifies every selection, and no other as this one", async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, parameters, parameters, async (batches, asked, other) => {
        const { accountId } = await recordLog(database, batches as LoggedRequest[][]);
        const lines = await provedExport(database, accountId, asked);
        expect(await verifyAuditExport(lines)).toMatchObject({ problems: [], ok: true });
        const others = await provedExport(database, accountId, other);
        const both = await provedExport(database, accountId, { ...other, ...asked });
        const idsOf = (all: readonly string[]) => all.flatMap((line) => JSON.parse(line).id ?? []);
        const foreign = idsOf(others).filter((id) => !idsOf(both).includes(id));
        const isSelection = Object.keys(JSON.parse(lines[0] ?? "").proof.export.filter).length > 0;
        if (!isSelection || foreign.length === 0 || others.some((line) => line.includes('"entry"'))) return;
        // The entries are those of another selection, under the header of this one.
        const forged = [lines[0] ?? "", ...others.slice(1)];
        const { ok, problems } = await verifyAuditExport(forged);
        expect(ok).toBe(false);
        const found = problems.map(({ problem }) => problem);
        expect(found.some((problem) => problem === "out_of_filter" || problem === "out_of_period")).toBe(
          true,
        );
      }),
      { numRuns: 100 },
    );
  });

  it("of a key's entries verifies no entries of two keys as such", async () => {
    const keyIds = ["a=b9", "c0d1"];
    const { accountId } = await recordLog(database, [
      keyIds.map((keyId, atMs) => ({ atMs, status: 200, keyId })),
    ]);
    const [header = "", ...rest] = await provedExport(database, accountId, {
      status: { from: 200, to: 200 },
    });
    const ofKey = (key: string) => [header.replace('{"status":"200"}', JSON.stringify({ key })), ...rest];
    for (const key of ["01936ef4-5c7b-7abc-8def-0123456789ab", "c0d1"]) {
      expect(await verifyAuditExport(ofKey(key)), key).toMatchObject({
        ok: false,
        problems: [{ problem: "out_of_filter", batch: 1, line: key === "c0d1" ? 2 : 3 }],
      });
    }
    await expect(verifyAuditExport([header.replace('"status"', '"region"'), ...rest])).rejects.toThrow(
      UnverifiableExportError,
    );
    await expect(verifyAuditExport([header.replace('"200"', "200"), ...rest])).rejects.toThrow(
      UnverifiableExportError,
    );
    for (const wrong of ["2", "200 ", "2XX", "*"])
      expect((await verifyAuditExport([header.replace('"200"', `"${wrong}"`), ...rest])).ok, wrong).toBe(
        false,
      );
    for (const source of ["10.0.0.0/33", "ten", "::1::2", "1.2.3", "/8", ""]) {
      const lines = [header.replace('{"status":"200"}', JSON.stringify({ source })), ...rest];
      expect((await verifyAuditExport(lines)).ok, source).toBe(false);
    }
  });

  it("of a search shows no entry that the search leaves out, and that of a period those of its batches", async () => {
    const models = ["acme/wanted", "acme/secret", "acme/wanted", "acme/secret"];
    const { accountId } = await recordLog(database, [
      models.map((model, atMs) => ({ atMs, status: 200, model })),
    ]);
    const found = (await provedExport(database, accountId, { model: "acme/wanted" })).join("\n");
    expect(found).toContain("acme/wanted");
    expect(found).not.toContain("acme/secret");
    const period = await provedExport(database, accountId, { from: new Date(START_MS + 2) });
    expect(period.join("\n")).toContain("acme/secret");
  });

  it("is matched with any pattern in a time that the length of a text bounds", async () => {
    const model = "a".repeat(256);
    const { accountId } = await recordLog(database, [[{ atMs: 0, status: 200, model }]]);
    const [header = "", ...rest] = await provedExport(database, accountId, {
      status: { from: 200, to: 200 },
    });
    const filter = JSON.stringify({ model: `${"*a".repeat(127)}*b` });
    const report = await verifyAuditExport([header.replace('{"status":"200"}', filter), ...rest]);
    expect(report.problems).toMatchObject([{ problem: "out_of_filter" }]);
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
