import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { makeAuditPartitions } from "../../server/src/audit/audit-partitions.ts";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { firstEntryIdAt } from "../../server/src/contract/entry.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { sendChat } from "../fixtures/request.ts";
import { runProcess } from "../fixtures/run-process.ts";
import { ROOT, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey, visit } from "../fixtures/user.ts";

const DAY_MS = 24 * 60 * 60_000;

let service: Service;
let sql: ServiceDatabase;

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

async function chat(key: string): Promise<void> {
  const response = await sendChat(service.baseUrl, key);
  await response.arrayBuffer();
}

async function idsOf(owner: Owner): Promise<string[]> {
  return (await owner.trpc.audit.list.query()).entries.map(({ id }) => id);
}

const whole = {
  from: new Date(Date.now() - DAY_MS),
  to: new Date(Date.now() + DAY_MS),
  interval: "day",
} as const;

describe("an audit log with entries past its plan's retention", () => {
  it("loses only those, and the rest can be verified, exported and added to as before", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    for (let count = 0; count < 4; count++) await chat(owner.key);
    const [newest] = await idsOf(owner);
    const { head: headBefore } = await owner.trpc.audit.verify.query();
    await expect.poll(() => Date.now()).toBeGreaterThan(timeOf(newest ?? ""));
    const between = Date.now();
    for (let count = 0; count < 3; count++) await chat(owner.key);
    const kept = (await idsOf(owner)).slice(0, 3);
    const used = await owner.trpc.usage.summary.query(whole);

    const inTime = new Date(between + 30 * DAY_MS);
    await dropOldEntries(sql, BUILT_IN_PLANS, inTime);
    await dropOldEntries(sql, BUILT_IN_PLANS, inTime);

    expect(await idsOf(owner)).toEqual(kept);
    await chat(owner.key);
    const report = await owner.trpc.audit.verify.query();
    expect(report).toMatchObject({ problems: [], next: null, entries: 4 });
    expect(report.removedBatches).toBe(headBefore?.batch);
    const response = await fetch(`${service.baseUrl}/v1/audit/export`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    const lines = (await response.text()).trimEnd().split("\n");
    const { removedBatches } = report;
    expect(await verifyAuditExport(lines, { removedBatches })).toMatchObject({ ok: true, entries: 4 });
    expect(await verifyAuditExport(lines)).toMatchObject({ ok: false });
    expect((await owner.trpc.usage.summary.query(whole)).total.requests).toBe(used.total.requests + 2);
    expect((await owner.trpc.account.get.query()).auditRetentionDays).toBe(30);
  });

  it("gets new entries while the old ones are being deleted, however long that takes", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await chat(owner.key);
    const [old = ""] = await idsOf(owner);
    await expect.poll(() => Date.now()).toBeGreaterThan(timeOf(old));
    const inTime = new Date(Date.now() + 30 * DAY_MS);
    await using other = await openDatabaseOf(service);
    // As a disk that is slow.
    const deletion = await sql.transaction("", async (slow) => {
      await slow`select from audit_entries where id = ${old} for update`;
      const deleting = dropOldEntries(sql, BUILT_IN_PLANS, inTime);
      await expect
        .poll(
          () =>
            other`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        )
        .toHaveLength(1);
      await chat(owner.key);
      expect(await idsOf(owner)).toHaveLength(2);
      return { deleting };
    });
    await deletion.deleting;
    expect(await idsOf(owner)).toHaveLength(1);
    expect(await owner.trpc.audit.verify.query()).toMatchObject({ problems: [], next: null, entries: 1 });
  });

  it("is whole after two nodes have deleted at the same time, of which one would have deleted less", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    for (let count = 0; count < 3; count++) {
      await chat(owner.key);
      // An entry a batch, and a millisecond.
      const [newest] = await idsOf(owner);
      await expect.poll(() => Date.now()).toBeGreaterThan(timeOf(newest ?? ""));
    }
    const ids = (await idsOf(owner)).reverse();
    const drop = (upTo = "") => dropOldEntries(sql, BUILT_IN_PLANS, new Date(timeOf(upTo) + 1 + 30 * DAY_MS));
    await using other = await openDatabaseOf(service);
    const waiting = () =>
      other`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    const { more, less } = await other.transaction("", async (slow) => {
      await slow`select from audit_entries where id = ${ids[0] ?? ""} for update`;
      const more = drop(ids[1]);
      await expect.poll(waiting).toHaveLength(1);
      const less = drop(ids[0]);
      await expect.poll(waiting).toHaveLength(2);
      return { more, less };
    });
    await Promise.all([more, less]);
    expect(await idsOf(owner)).toEqual(ids.slice(2));
    expect(await owner.trpc.audit.verify.query()).toMatchObject({ problems: [], removedBatches: 2 });
  });

  it("is verified by the command line with the number of deleted batches, which that prints", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await chat(owner.key);
    await idsOf(owner);
    const { head } = await owner.trpc.audit.verify.query();
    await chat(owner.key);
    const [newest] = await idsOf(owner);
    await expect.poll(() => Date.now()).toBeGreaterThan(timeOf(newest ?? ""));
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 30 * DAY_MS));
    await chat(owner.key);
    const folder = await mkdtemp(join(tmpdir(), "ostiary-retention-"));
    const cli = (...args: string[]) =>
      runProcess(process.execPath, [join(ROOT, "sdk/dist/cli.js"), "audit", ...args], {
        cwd: folder,
        env: { OSTIARY_API_KEY: owner.key, OSTIARY_BASE_URL: service.baseUrl },
      });
    try {
      await writeFile(join(folder, "audit.ndjson"), (await cli("export")).stdout);
      const failed = await cli("verify", "audit.ndjson");
      expect(failed).toMatchObject({ code: 3 });
      expect(failed.stdout).toMatch(/^The first batch is 3\..* pass --removed-batches /m);
      expect((await cli("verify")).stdout).toMatch(/^removed {2}2 batches,/m);
      const verified = await cli("verify", "audit.ndjson", "--removed-batches", "2");
      expect(verified).toMatchObject({ code: 0, stdout: expect.not.stringContaining("--removed-batches") });
      // A head that was kept for too long was not compared, which is not to look like a success.
      const expected = `${head?.batch}:${head?.digest}`;
      for (const file of [[], ["audit.ndjson", "--removed-batches", "2"]]) {
        const outcome = await cli("verify", ...file, "--expected", expected);
        expect(outcome).toMatchObject({ code: 3 });
        expect(outcome.stdout).toMatch(/^problem expected_not_included {2}batch 1$/m);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("still has to follow the last batch that was deleted, for whoever kept its digest", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await chat(owner.key);
    const { head } = await owner.trpc.audit.verify.query();
    if (head === null) throw new Error("nothing was recorded");
    const [newest] = await idsOf(owner);
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(timeOf(newest ?? "") + 1 + 30 * DAY_MS));
    await chat(owner.key);
    const verified = (digest: string) =>
      owner.trpc.audit.verify.query({ expected: { batch: head.batch, digest } });
    expect(await verified(head.digest)).toMatchObject({ removedBatches: head.batch, problems: [] });
    const other = head.digest.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    expect(await verified(other)).toMatchObject({
      problems: [{ problem: "digest_differs", batch: head.batch }],
    });
  });

  it("is not exported with a gap if they are deleted before an export continues", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { token } = await owner.trpc.tokens.create.mutate({ name: "export" });
    const ask = (parameters: Record<string, string>, method = "GET") =>
      fetch(`${service.baseUrl}/v1/audit/export?${new URLSearchParams(parameters)}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      });
    for (let count = 0; count < 4; count++) {
      await chat(owner.key);
      // An entry a batch, and a millisecond.
      const [newest] = await idsOf(owner);
      await expect.poll(() => Date.now()).toBeGreaterThan(timeOf(newest ?? ""));
    }
    const ids = (await idsOf(owner)).reverse();
    const exported = async (parameters: Record<string, string>) => {
      const text = await (await ask(parameters)).text();
      return text.split("\n").filter((line) => line.includes("~"));
    };
    const formats = ["csv", "ndjson"] as const;
    const before = await Promise.all(formats.map((format) => exported({ format })));
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(timeOf(ids[2] ?? "") + 30 * DAY_MS));
    for (const [index, format] of formats.entries()) {
      const lines = before[index] ?? [];
      expect(lines).toHaveLength(4);
      const [first = "", second = ""] = lines.map((line) => /(\d*~[^"},]+)"?\}?$/.exec(line)?.[1] ?? "");
      expect((await ask({ format, cursor: first }, "HEAD")).status).toBe(404);
      const refused = await ask({ format, cursor: first });
      expect(refused.status).toBe(404);
      expect(await refused.json()).toMatchObject({
        error: { code: "not_found", param: "cursor", message: expect.stringContaining("without a cursor") },
      });
      expect(await exported({ format, cursor: second })).toEqual(lines.slice(2));
    }
  });

  it("does not restore or charge them again from an old journal", async () => {
    await using first = await startService();
    const owner = await signUpWithKey(first.baseUrl);
    const response = await fetch(`${first.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    await response.arrayBuffer();
    expect(await idsOf(owner)).toHaveLength(1);
    await using database = await openDatabaseOf(first);
    await dropOldEntries(database, BUILT_IN_PLANS, new Date(Date.now() + 31 * DAY_MS));
    await first.kill();
    await using second = await startService({
      dataDir: first.dataDir,
      ...(first.databaseUrl === undefined ? {} : { databaseUrl: first.databaseUrl }),
    });
    const { trpc } = visit(second.baseUrl, { cookie: owner.cookie() });
    expect((await trpc.audit.list.query()).entries).toEqual([]);
    expect((await trpc.usage.summary.query(whole)).total.requests).toBe(1);
  });

  it("keeps all of them when the plan has no retention limit", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await chat(owner.key);
    const { free } = BUILT_IN_PLANS;
    const plans = { ...BUILT_IN_PLANS, free: { ...free, auditRetentionDays: null } };
    await dropOldEntries(sql, plans, new Date(Date.now() + 4_000 * DAY_MS));
    expect(await idsOf(owner)).toHaveLength(1);
  });
});

describe("the storage of a month whose entries are all deleted", () => {
  /** Those of these months. */
  async function monthsStored(of: string): Promise<string[]> {
    const rows = await sql<{ name: string }[]>`
      select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'audit_entries'::regclass and starts_with(relname, ${`audit_entries_${of}`}) order by 1`;
    return rows.map(({ name }) => name.slice(-7));
  }

  it("is freed two months later, unless a journal has brought a late entry of it meanwhile", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    await chat(owner.key);
    const [newest = ""] = await idsOf(owner);
    await makeAuditPartitions(sql, new Date("2024-03-15"));
    expect(await monthsStored("2024")).toEqual(["2024_02", "2024_03", "2024_04", "2024_05"]);
    const dropEmpty = (now: string) => dropOldEntries(sql, BUILT_IN_PLANS, new Date(now));
    await dropEmpty("2024-05-31T23:59:59Z");
    expect(await monthsStored("2024")).toEqual(["2024_03", "2024_04", "2024_05"]);

    const late = firstEntryIdAt(new Date("2024-03-05"));
    await using other = await openDatabaseOf(service);
    const { dropping } = await other.transaction("", async (recording) => {
      await recording`
        insert into audit_entries
        select (jsonb_populate_record(entry, jsonb_build_object('id', ${late}::text))).*
        from audit_entries entry where id = ${newest}`;
      const dropping = dropEmpty("2024-06-01");
      await expect
        .poll(
          () =>
            sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        )
        .toHaveLength(1);
      return { dropping };
    });
    await dropping;
    expect(await monthsStored("2024")).toEqual(["2024_03", "2024_04", "2024_05"]);
    expect(await idsOf(owner)).toEqual([newest, late]);
    await sql`delete from audit_entries where id = ${late}`;
    await dropEmpty("2024-06-01");
    expect(await monthsStored("2024")).toEqual(["2024_04", "2024_05"]);
  });
});

function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}
