import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { findUsageMismatches } from "../../server/src/credits/reconciliation-store.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { type Service, startService } from "../fixtures/service.ts";
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
  const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox/echo", messages: [{ role: "user", content: "hi" }] }),
  });
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

  it("loses those that a wrong clock has dated far ahead, and those after them, in time", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id: accountId } = await owner.trpc.account.get.query();
    const [key] = (await owner.trpc.keys.list.query()).keys;
    const dated = (days: number) => {
      const at = new Date(Date.now() + days * DAY_MS);
      const of = { accountId: accountId as AccountId, key: key?.id as KeyUuid, keyId: key?.keyId ?? "" };
      return auditEntry({ id: uuidv7({ msecs: at.getTime() }) as EntryId, at, ...of });
    };
    const sink = new PostgresAudit(sql, uuidv7());
    const [ahead, ofToday] = [dated(400), dated(0)];
    await sink.insertEntries([ahead, ofToday]);
    await chat(owner.key);
    expect(await idsOf(owner)).toHaveLength(3);
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 29 * DAY_MS));
    expect(await idsOf(owner)).toHaveLength(3);
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 31 * DAY_MS));
    expect(await idsOf(owner)).toEqual([]);
    expect(await findUsageMismatches(sql, new Date(ahead.at.getTime() - DAY_MS), 10)).toEqual([]);

    // They come again from an old journal, and are not recorded again. New ones are.
    const before = await owner.trpc.usage.summary.query(whole);
    await sink.insertEntries([ahead, ofToday]);
    const later = dated(0);
    await sink.insertEntries([later]);
    expect(await idsOf(owner)).toEqual([later.id]);
    await chat(owner.key);
    const after = await owner.trpc.usage.summary.query(whole);
    expect(after.total.requests).toBe(before.total.requests + 2);
    expect(await owner.trpc.audit.verify.query()).toMatchObject({ problems: [], entries: 2 });
  });

  it("keeps those whose date has come for as long as others of that date", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id: accountId } = await owner.trpc.account.get.query();
    const [key] = (await owner.trpc.keys.list.query()).keys;
    const at = new Date(Date.now() + 20 * DAY_MS);
    const of = { accountId: accountId as AccountId, key: key?.id as KeyUuid, keyId: key?.keyId ?? "" };
    const entry = auditEntry({ id: uuidv7({ msecs: at.getTime() }) as EntryId, at, ...of });
    await new PostgresAudit(sql, uuidv7()).insertEntries([entry]);
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 49 * DAY_MS));
    expect(await idsOf(owner)).toEqual([entry.id]);
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 51 * DAY_MS));
    expect(await idsOf(owner)).toEqual([]);
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

function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}
