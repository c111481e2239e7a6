import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { backupCheck } from "../../server/src/commands/backup-check.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { type AuditDatabase, openAuditDatabase } from "../fixtures/audit-database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { MIGRATIONS } from "../fixtures/migrations.ts";

const HOUR_MS = 3_600_000;
const PLANS = { ...BUILT_IN_PLANS, free: { ...BUILT_IN_PLANS.free, auditRetentionDays: 1 } };
const NEWEST_MS = Date.UTC(2026, 9, 31, 22, 30);
/** As many hours as the command compares with these plans. */
const HOURS = 23;

let database: AuditDatabase;

beforeAll(async () => {
  const owner = auditEntry();
  database = await openAuditDatabase(owner);
  for (let ago = 30; ago >= 0; ago--) {
    const msecs = NEWEST_MS - ago * HOUR_MS;
    const id = uuidv7({ msecs }) as EntryId;
    await database.audit.insertEntries([{ ...owner, id, at: new Date(msecs) }]);
  }
});

afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
});

describe("a backup that was made hours after the last request", () => {
  it("is found whole, although entries of the hours before that were deleted for their age", async () => {
    const check = () => backupCheck(database.sql, MIGRATIONS, HOURS);
    expect((await check()).problems).toEqual([]);
    await dropOldEntries(database.sql, PLANS, new Date(NEWEST_MS + 6 * HOUR_MS));
    const [left] = await database.sql<
      { entries: number }[]
    >`select count(*)::int as entries from audit_entries`;
    expect(left?.entries).toBeLessThan(HOURS);
    expect((await check()).problems).toEqual([]);
    // What can be compared still is.
    await database.sql`
      update usage_hours set requests = requests + 1 where hour = (
        select date_trunc('hour', min(at), 'UTC') from audit_entries)`;
    expect((await check()).problems).toContainEqual(expect.stringContaining("the usage of the hour"));
  });
});
