import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import Ostiary, { UnverifiableExportError, verifyAuditExport } from "../../sdk/src/index.ts";
import { AuditLog } from "../../server/src/audit/audit-log.ts";
import { PostgresAuditReader } from "../../server/src/audit/audit-reader.ts";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import type { Recorder } from "../../server/src/audit/recorder.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { Reads } from "../../server/src/database/reads.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { sendChat } from "../fixtures/request.ts";
import { runProcess } from "../fixtures/run-process.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const CLI = new URL("../../sdk/dist/cli.js", import.meta.url).pathname;
const DAY_MS = 24 * 60 * 60_000;

let service: Service;
let sql: ServiceDatabase;
let folder: string;

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
  folder = await mkdtemp(join(tmpdir(), "ostiary-proof-"));
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

type Recorded = Owner & { readonly key: string };

/** Sends requests that are recorded as one batch or several. */
async function send({ key, trpc }: Recorded, paths: readonly string[]): Promise<void> {
  const answers = paths.map((path) =>
    fetch(`${service.baseUrl}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } }),
  );
  for (const answer of await Promise.all(answers)) await answer.arrayBuffer();
  await trpc.audit.list.query({ limit: 1 });
}

/** An account with entries in several batches, and a period that begins and ends within batches. */
async function ownerWithPeriod() {
  const owner = await signUpWithKey(service.baseUrl);
  for (let round = 0; round < 8; round++) await send(owner, ["models", "models/none", "models", "nothing"]);
  const { id } = await owner.trpc.account.get.query();
  const rows = await sql<{ id: string; batch: bigint; status: number }[]>`
    select id, batch, status from audit_entries where account_id = ${id} order by id`;
  expect(rows).toHaveLength(32);
  const at = (index: number) =>
    new Date(Number.parseInt((rows[index]?.id ?? "").replace("-", "").slice(0, 12), 16));
  return { owner, accountId: id, rows, at };
}

async function exported(owner: Recorded, query: Record<string, string>): Promise<string> {
  const response = await fetch(`${service.baseUrl}/v1/audit/export?${new URLSearchParams(query)}`, {
    headers: { authorization: `Bearer ${owner.key}` },
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.text();
}

const linesOf = (text: string) => text.split("\n").slice(0, -1);

async function run(owner: Recorded, args: readonly string[]) {
  const { code, stdout, stderr } = await runProcess(process.execPath, [CLI, "audit", ...args], {
    env: { PATH: process.env.PATH, OSTIARY_API_KEY: owner.key, OSTIARY_BASE_URL: service.baseUrl },
  });
  return { code, output: stdout + stderr };
}

describe("an export of a closed period", () => {
  it("is verified by itself, and equal to the byte whatever else is recorded", async () => {
    const { owner, at } = await ownerWithPeriod();
    const query = { from: at(9).toISOString(), to: at(22).toISOString(), proof: "true" };
    const text = await exported(owner, query);
    const report = await verifyAuditExport(linesOf(text));
    expect(report).toMatchObject({ ok: true, complete: "range", period: { from: query.from, to: query.to } });
    const period = { from: query.from, to: query.to, limit: 100 };
    expect(report.entries).toBe((await owner.trpc.audit.list.query(period)).entries.length);
    await send(owner, ["models", "models"]);
    expect(await exported(owner, query)).toBe(text);
    const { proof: _, ...withoutProof } = query;
    const plain = await exported(owner, withoutProof);
    await send(owner, ["models"]);
    expect(await exported(owner, withoutProof)).toBe(plain);
  });

  it("connects to what was kept of the log before and after", async () => {
    const { owner, at } = await ownerWithPeriod();
    const until = (to: Date, from?: Date) =>
      exported(owner, {
        ...(from === undefined ? {} : { from: from.toISOString() }),
        to: to.toISOString(),
        proof: "true",
      });
    const first = await verifyAuditExport(linesOf(await until(at(12))));
    const head = first.head ?? { batch: 0, digest: "" };
    const lines = linesOf(await until(at(24), at(12)));
    expect(await verifyAuditExport(lines, { expected: head })).toMatchObject({ ok: true, complete: "range" });
    const otherDigest = { ...head, digest: "0".repeat(64) };
    expect((await verifyAuditExport(lines, { expected: [head, otherDigest] })).problems).toMatchObject([
      { problem: "digest_differs", batch: head.batch },
    ]);
    const later = { ...head, batch: head.batch + 1_000 };
    expect((await verifyAuditExport(lines, { expected: later })).problems).toMatchObject([
      { problem: "expected_not_included" },
    ]);
  });

  it("includes what was recorded late", async () => {
    const { owner, accountId, rows, at } = await ownerWithPeriod();
    // As if an entry in the middle had been recorded by the last batch, whose digest is made again.
    const last = rows.toSorted((a, b) => Number(a.batch - b.batch)).at(-1);
    const moved = rows.find(
      ({ batch }, index) =>
        index > 9 && batch !== last?.batch && rows.filter((row) => row.batch === batch).length > 1,
    );
    await sql`update audit_entries set batch = ${String(last?.batch)} where id = ${moved?.id ?? ""}`;
    await sql`
      update audit_batches batches set (entries, newest) = (
        select count(*), (array_agg(id order by id desc))[1] from audit_entries e
        where e.account_id = ${accountId} and e.batch = batches.batch)
      where account_id = ${accountId}`;
    const batches = [...new Set(rows.map(({ batch }) => batch))].sort((a, b) => Number(a - b));
    for (const batch of batches) {
      await sql`
        update audit_batches batches set digest = sha256(
          coalesce((select digest from audit_batches b where b.account_id = ${accountId} and b.batch = batches.batch - 1), '') ||
          (select sha256(string_agg(entry_digest(entry), ''::bytea order by id)) from audit_entries entry
           where account_id = ${accountId} and batch = batches.batch))
        where account_id = ${accountId} and batch = ${String(batch)}`;
    }
    const until = new Date(at(rows.findIndex(({ id }) => id === moved?.id)).getTime() + 1);
    const lines = linesOf(
      await exported(owner, { from: at(9).toISOString(), to: until.toISOString(), proof: "true" }),
    );
    const report = await verifyAuditExport(lines);
    expect(report).toMatchObject({ ok: true, complete: "range", head: { batch: Number(last?.batch) } });
    expect(lines.some((line) => JSON.parse(line).id === moved?.id)).toBe(true);
  });

  it("without an entry has no problems, and proves nothing", async () => {
    const { owner } = await ownerWithPeriod();
    const lines = linesOf(await exported(owner, { to: "2020-01-01T00:00:00Z", proof: "true" }));
    expect(await verifyAuditExport(lines)).toMatchObject({
      ok: true,
      complete: null,
      batches: 0,
      head: null,
    });
    expect(await verifyAuditExport([])).toMatchObject({ ok: true, complete: null, entries: 0 });
  });

  it("is verified after retention has deleted what was before", async () => {
    const { owner, at, rows } = await ownerWithPeriod();
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(at(8).getTime() + 1 + 30 * DAY_MS));
    const { removedBatches } = await owner.trpc.audit.verify.query();
    expect(removedBatches).toBeGreaterThan(0);
    const query = { from: at(0).toISOString(), to: at(31).toISOString(), proof: "true" };
    const report = await verifyAuditExport(linesOf(await exported(owner, query)));
    expect(report).toMatchObject({ ok: true, complete: "range", first: removedBatches + 1 });
    const whole = linesOf(await exported(owner, { proof: "true" }));
    expect(await verifyAuditExport(whole, { removedBatches })).toMatchObject({ ok: true, complete: "log" });
    expect(await verifyAuditExport(whole)).toMatchObject({ ok: false });
    expect(rows.length).toBeGreaterThan(report.entries);
  });

  it.each(["with a proof", "without one"])(
    "is verified if retention deletes its first batches before it ends, %s",
    async (how) => {
      const { owner, at, accountId } = await ownerWithPeriod();
      const isProved = how === "with a proof";
      const recorder = { flush: async () => {} } as unknown as Recorder;
      const log = new AuditLog(new PostgresAuditReader(sql), recorder, new Reads(() => 0), Date.now);
      const filter = filterOf(isProved ? { from: at(5), to: at(31) } : {});
      const lines: string[] = [];
      const asked = { format: "ndjson", filter, cursor: null, isProved } as const;
      for await (const text of await log.export(accountId as AccountId, asked)) {
        lines.push(...linesOf(text));
        if (text.startsWith('{"id"'))
          await dropOldEntries(sql, BUILT_IN_PLANS, new Date(at(8).getTime() + 1 + 30 * DAY_MS));
      }
      const { removedBatches } = await owner.trpc.audit.verify.query();
      expect(removedBatches).toBeGreaterThan(0);
      for (const options of [{ removedBatches }, {}])
        expect(await verifyAuditExport(lines, options)).toMatchObject({ problems: [], ok: true });
      // A file that begins later than what was deleted lacks batches.
      const { first } = await verifyAuditExport(linesOf(await exported(owner, {})), { removedBatches });
      expect(first).toBe(removedBatches + 1);
      const later = await verifyAuditExport(linesOf(await exported(owner, {})), {
        removedBatches: removedBatches - 1,
      });
      expect(later.ok).toBe(false);
    },
  );

  it("shows what was changed in the database, also among the entries left out", async () => {
    const { owner, at } = await ownerWithPeriod();
    const query = { from: at(9).toISOString(), to: at(22).toISOString(), proof: "true" };
    const lines = linesOf(await exported(owner, query)).map((line) => JSON.parse(line));
    const inside = lines.flatMap(({ id }) => id ?? []);
    const leftOut = lines.flatMap(({ proof }) => proof?.left_out ?? []).map(({ entry }) => entry.id);
    for (const id of [inside[3], leftOut[0] ?? inside[4]]) {
      await sql`update audit_entries set latency_ms = latency_ms + 1 where id = ${id}`;
      expect(await verifyAuditExport(linesOf(await exported(owner, query)))).toMatchObject({
        ok: false,
        problems: [{ problem: "changed" }, { problem: "batches_missing" }],
      });
      await sql`update audit_entries set latency_ms = latency_ms - 1 where id = ${id}`;
    }
    expect(await verifyAuditExport(linesOf(await exported(owner, query)))).toMatchObject({ ok: true });
  });
});

describe("an export of a selection", () => {
  it("is verified with the number of entries that it left out, of which it tells nothing", async () => {
    const { owner, rows } = await ownerWithPeriod();
    const text = await exported(owner, { status: "404", proof: "true" });
    const found = rows.filter(({ status }) => status === 404);
    const report = await verifyAuditExport(linesOf(text));
    expect(report).toMatchObject({
      ok: true,
      complete: "selection",
      filter: { status: "404" },
      entries: found.length,
    });
    expect(report.entries + report.leftOut).toBe(rows.length);
    for (const { id } of rows.filter(({ status }) => status !== 404))
      expect(text.split(`"${id}"`)).toHaveLength(1);
  });

  it("continues after any of its lines", async () => {
    const { owner } = await ownerWithPeriod();
    const query = { status: "4xx", proof: "true" };
    const lines = linesOf(await exported(owner, query));
    for (const [index, line] of lines.entries()) {
      const cursor = JSON.parse(line).cursor;
      expect(linesOf(await exported(owner, { ...query, cursor }))).toEqual(lines.slice(index + 1));
    }
  });
});

describe("the parameter proof", () => {
  it("is refused where there can be none", async () => {
    const { owner } = await ownerWithPeriod();
    const [line = ""] = linesOf(await exported(owner, { proof: "true" }));
    const [plain = ""] = linesOf(await exported(owner, {}));
    const refused: Record<string, string>[] = [
      { proof: "yes" },
      { proof: "true", format: "csv" },
      { proof: "true", cursor: JSON.parse(plain).cursor },
      { cursor: JSON.parse(line).cursor },
      { proof: "true", cursor: "1~nonsense~1-1~batch1.1" },
    ];
    for (const query of refused)
      await expect(exported(owner, query), JSON.stringify(query)).rejects.toThrow(/^Error: 400|^400/);
    const far = "~019c167e-e1a1-7000-8000-0532e1c80eb8~1-999999999999999999~rest999999999999999998.999999999";
    expect(linesOf(await exported(owner, { proof: "true", cursor: far }))).toHaveLength(1);
  });
});

describe("verifying a file", () => {
  it("that can't be verified is another error than a change", async () => {
    const { owner, at } = await ownerWithPeriod();
    const client = new Ostiary({ apiKey: owner.key, baseURL: service.baseUrl });
    const others: Record<string, Iterable<string> | AsyncIterable<string>> = {
      CSV: client.audit.export({ format: "csv" }),
      "a part without its proof": client.audit.export({ from: at(9).toISOString() }),
      "a selection without its proof": client.audit.export({ status: "404" }),
      "a page": [JSON.stringify(await client.audit.list())],
      "another file": ["# Notes", "nothing"],
      "the end of an export": linesOf(
        await exported(owner, { to: at(20).toISOString(), proof: "true" }),
      ).slice(1),
    };
    for (const [what, lines] of Object.entries(others)) {
      const failure = await verifyAuditExport(lines).catch((error: unknown) => error);
      expect(failure, what).toBeInstanceOf(UnverifiableExportError);
      expect(String(failure), what).toContain("This kind of file can't be verified: ");
    }
    const proved = client.audit.export({ from: at(9).toISOString(), proof: true });
    expect(await verifyAuditExport(proved)).toMatchObject({ ok: true, complete: "range" });
  });

  it("on the command line has the lines that every reader finds, whatever a client named as its model", async () => {
    const { owner } = await ownerWithPeriod();
    const asked = await sendChat(service.baseUrl, owner.key, { model: "a\u2028b\u2029c\u0085d" });
    expect(asked.status).toBe(404);
    const file = join(folder, "lines.ndjson");
    expect(await run(owner, ["export", "-o", file])).toMatchObject({ code: 0 });
    const text = await readFile(file, "utf8");
    expect(text).toContain("a\ufffdb\ufffdc\ufffdd");
    // Python's str.splitlines, and httpx with it, ends lines at some control characters and at the separators.
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    expect(await run(owner, ["verify", file])).toMatchObject({ code: 0 });
    // As PowerShell redirects it.
    await writeFile(file, `\ufeff${text.replaceAll("\n", "\r\n")}`);
    expect(await run(owner, ["verify", file])).toMatchObject({ code: 0 });
  });

  it("on the command line exits with 0, 2 or 3", async () => {
    const { owner, at } = await ownerWithPeriod();
    const period = ["--from", at(9).toISOString(), "--to", at(22).toISOString()];
    const file = join(folder, "month.ndjson");
    expect(await run(owner, ["export", ...period, "-o", file])).toMatchObject({ code: 0 });
    const verified = await run(owner, ["verify", file]);
    expect(verified.code, verified.output).toBe(0);
    expect(verified.output).toContain("complete every entry of the period");
    const whole = await readFile(file, "utf8");
    await writeFile(file, whole.slice(0, whole.length - 300));
    expect(await run(owner, ["export", ...period, "-o", file, "--resume"])).toMatchObject({ code: 0 });
    expect(await readFile(file, "utf8")).toBe(whole);
    const [head] = /\d+:[0-9a-f]{64}/.exec(verified.output) ?? [""];
    expect((await run(owner, ["verify", file, "--expected", head, "--expected", head])).code).toBe(0);
    await writeFile(file, whole.replace(/"latency_ms":\d+/, '"latency_ms":987654'));
    expect(await run(owner, ["verify", file])).toMatchObject({ code: 3 });
    await run(owner, ["export", ...period, "--no-proof", "-o", file]);
    expect(await run(owner, ["verify", file])).toMatchObject({ code: 2 });
    await run(owner, ["export", "--format", "csv", ...period, "-o", file]);
    const csv = await run(owner, ["verify", file]);
    expect(csv).toMatchObject({
      code: 2,
      output: expect.stringContaining("This kind of file can't be verified"),
    });
  });
});
