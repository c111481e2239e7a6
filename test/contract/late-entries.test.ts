import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../sdk/src/contract/time-units.ts";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import type { ClaimId } from "../../server/src/contract/kept-answer.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import { PostgresCredit } from "../../server/src/credits/postgres-credit.ts";
import { inTransaction } from "../../server/src/database/database.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { type Service, startService } from "../fixtures/service.ts";

let service: Service;
let sql: Awaited<ReturnType<typeof openDatabaseOf>>;

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

async function newAccount(free: bigint): Promise<AccountId> {
  const id = crypto.randomUUID() as AccountId;
  await sql`insert into accounts (id, name, free_nano_usd, created_at) values (${id}, 'test', ${free}, now())`;
  return id;
}

describe("entries that are recorded after later ones, as those of a journal are", () => {
  it("leave what was used last, from where, and the newest entry as they are", async () => {
    const [accountId, key] = [await newAccount(0n), crypto.randomUUID() as KeyUuid];
    const audit = new PostgresAudit(sql, crypto.randomUUID());
    const [first, early, late] = ["08", "09", "10"].map((hour) => new Date(`2026-05-01T${hour}:00:00Z`)) as [
      Date,
      Date,
      Date,
    ];
    const common = { accountId, key };
    const earlier = [
      auditEntry({ ...common, at: first, sourceIp: "192.0.2.1" }),
      auditEntry({ ...common, at: early, sourceIp: "192.0.2.2" }),
    ];
    const later = auditEntry({ ...common, at: late, sourceIp: "192.0.2.1" });
    await audit.insertEntries([later]);
    await audit.insertEntries(earlier);
    expect(
      await sql`select requests, last_used_at, host(last_used_ip) as ip from key_usage where key = ${key}`,
    ).toMatchObject([{ requests: 3n, last_used_at: late, ip: "192.0.2.1" }]);
    expect(
      await sql`select host(source_ip) as ip, last_seen_at from key_addresses where key = ${key} order by 1`,
    ).toMatchObject([
      { ip: "192.0.2.1", last_seen_at: late },
      { ip: "192.0.2.2", last_seen_at: early },
    ]);
    expect(await sql`select newest, batches from audit_chains where account_id = ${accountId}`).toMatchObject(
      [{ newest: later.id, batches: 2n }],
    );
  });

  it("are not recorded or charged again once retention has deleted them, be they the last that it deleted", async () => {
    const accountId = await newAccount(100n);
    const audit = new PostgresAudit(sql, crypto.randomUUID());
    const entry = auditEntry({ accountId, costNanoUsd: 10n });
    await audit.insertEntries([entry]);
    await sql`delete from audit_entries where id = ${entry.id}`;
    await sql`update audit_chains set removed_up_to = ${entry.id}, removed_batches = 1 where account_id = ${accountId}`;
    for (const options of [{}, { mayExist: true }, { locked: "skip" as const }])
      await audit.insertEntries([entry], options);
    expect(await sql`select free_nano_usd as free from accounts where id = ${accountId}`).toMatchObject([
      { free: 90n },
    ]);
    expect(await sql<{ id: EntryId }[]>`select id from audit_entries where id = ${entry.id}`).toHaveLength(0);
  });
});

it("entries that were recorded before older ones are not charged again after both were deleted, one batch after the other", async () => {
  const accountId = await newAccount(100n);
  const audit = new PostgresAudit(sql, crypto.randomUUID());
  const older = auditEntry({ accountId, costNanoUsd: 10n });
  const newer = auditEntry({ accountId, costNanoUsd: 10n });
  for (const entry of [newer, older]) await audit.insertEntries([entry]);
  // As many as are deleted together.
  await sql`update audit_batches set entries = ${20_000} where account_id = ${accountId}`;
  await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 31 * DAY_MS));
  await audit.insertEntries([newer, older]);
  expect(await sql`select free_nano_usd as free from accounts where id = ${accountId}`).toMatchObject([
    { free: 80n },
  ]);
});

it("what an entry costs is taken from the credit that is left when a transfer of it under way has ended", async () => {
  const accountId = await newAccount(100n);
  const audit = new PostgresAudit(sql, crypto.randomUUID());
  const entry = auditEntry({ accountId, costNanoUsd: 70n });
  let inserted: Promise<unknown> = Promise.resolve();
  await inTransaction(sql, async (transaction) => {
    const [own] = await transaction<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await transaction`update accounts set free_nano_usd = 40 where id = ${accountId}`;
    inserted = audit.insertEntries([entry]);
    const waiting = () => transaction`
      select from pg_stat_activity where ${own?.pid ?? 0}::integer = any (pg_blocking_pids(pid))`;
    await expect.poll(async () => (await waiting()).length).toBe(1);
  });
  await inserted;
  expect(await sql`select free_nano_usd as free from accounts where id = ${accountId}`).toMatchObject([
    { free: 0n },
  ]);
  expect(
    await sql`select amount_nano_usd as amount from credit_ledger where account_id = ${accountId} and kind = 'uncollected'`,
  ).toMatchObject([{ amount: 30n }]);
});

it.each([{}, { locked: "leave" as const }, { locked: "skip" as const }])(
  "what an account did not pay is reported once, with the options %j",
  async (options) => {
    const accountId = await newAccount(100n);
    const uncollected: unknown[] = [];
    const audit = new PostgresAudit(sql, crypto.randomUUID(), (row) => uncollected.push(row));
    const entry = auditEntry({ accountId, costNanoUsd: 130n });
    for (let attempt = 0; attempt < 2; attempt++) await audit.insertEntries([entry], options);
    expect(uncollected).toEqual([{ accountId, reason: "released", amountNanoUsd: 30n }]);
  },
);

/** An entry whose answer is for the idempotency key that all of these have. */
function answered(entry: Parameters<typeof auditEntry>[0], text = "{}") {
  return auditEntry({
    ...entry,
    idempotency: {
      claim: crypto.randomUUID() as ClaimId,
      idempotencyKeyDigest: "a2V5",
      bodyDigest: "Ym9keQ==",
      answer: { isStream: false, model: "acme/chat", text },
    },
  });
}

it("what was reserved for a repeated answer pays for other entries of the same batch", async () => {
  const accountId = await newAccount(100n);
  const nodeId = crypto.randomUUID();
  const credit = new PostgresCredit(sql, nodeId, "test");
  const [reserving, poor] = [await credit.open(), await credit.open()];
  await credit.ask({ accountId, spender: reserving, number: 1n, targetNanoUsd: 100n, extraNanoUsd: 0n });
  const uncollected: unknown[] = [];
  const audit = new PostgresAudit(sql, nodeId, (row) => uncollected.push(row));
  const common = { accountId, spender: reserving };
  await audit.insertEntries([answered({ ...common, costNanoUsd: 40n })]);
  await audit.insertEntries([
    answered({ ...common, costNanoUsd: 50n }),
    auditEntry({ accountId, costNanoUsd: 30n, spender: poor }),
  ]);
  expect(uncollected).toEqual([{ accountId, reason: "repeated", amountNanoUsd: 50n }]);
  expect(await sql`select free_nano_usd as free from accounts where id = ${accountId}`).toMatchObject([
    { free: 20n },
  ]);
});

it("of two attempts of an idempotency key that are recorded together, the earlier one is charged and its answer repeated", async () => {
  const accountId = await newAccount(100n);
  const uncollected: unknown[] = [];
  const audit = new PostgresAudit(sql, crypto.randomUUID(), (row) => uncollected.push(row));
  const first = answered({ accountId, costNanoUsd: 40n }, "the first");
  const second = answered({ accountId, costNanoUsd: 50n }, "the second");
  await audit.insertEntries([first, second]);
  expect(uncollected).toEqual([{ accountId, reason: "repeated", amountNanoUsd: 50n }]);
  expect(await sql`select answer from idempotent_requests where account_id = ${accountId}`).toMatchObject([
    { answer: "the first" },
  ]);
});
