import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dropOldEntries } from "../../server/src/audit/audit-retention.ts";
import { PostgresAudit } from "../../server/src/audit/audit-store.ts";
import type { AccountId } from "../../server/src/contract/account.ts";
import type { EntryId } from "../../server/src/contract/entry.ts";
import type { KeyUuid } from "../../server/src/contract/key.ts";
import { BUILT_IN_PLANS } from "../../server/src/contract/plans.ts";
import type { Database } from "../../server/src/database/database.ts";
import { dropOldAnswers } from "../../server/src/idempotency/idempotency-store.ts";
import { auditEntry } from "../fixtures/audit-entry.ts";
import { openDatabaseOf } from "../fixtures/database.ts";
import { sendChat } from "../fixtures/request.ts";
import { logLines, RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey, visit } from "../fixtures/user.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Longer than any built-in plan keeps entries. */
const FAR_MS = 401 * DAY_MS;
const CLOCK = new URL("../fixtures/shifted-clock.mjs", import.meta.url).href;

/** The environment of a service whose clock is ahead by so much, and whose hourly jobs run all the time. */
function shifted(aheadMs: number): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${CLOCK}`,
    TEST_CLOCK_AHEAD_MS: String(aheadMs),
    TEST_HOURLY_EVERY_MS: "250",
  };
}

/** Of a service whose entries keep the time of its clock however far it is behind, as none are deleted by their age. */
const KEEPS_ALL = {
  OSTIARY_PLANS: JSON.stringify(
    Object.fromEntries(["free", "pro", "enterprise"].map((plan) => [plan, { auditRetentionDays: null }])),
  ),
};

function inheritance(service: Service) {
  return {
    dataDir: service.dataDir,
    ...(service.databaseUrl === undefined ? {} : { databaseUrl: service.databaseUrl }),
  };
}

function ask(service: Service, key: string, headers: Record<string, string> = {}): Promise<Response> {
  return sendChat(service.baseUrl, key, {}, { headers });
}

async function chat(service: Service, key: string): Promise<void> {
  const response = await ask(service, key);
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

async function chats(service: Service, { key }: Owner & { readonly key: string }): Promise<number> {
  const { trpc } = visit(service.baseUrl, { authorization: `Bearer ${key}` });
  const { entries } = await trpc.audit.list.query({ limit: 1_000 });
  return entries.filter(({ endpoint }) => endpoint === "POST /v1/chat/completions").length;
}

/** Makes connections that are opened from here on read the time from the schema `shifted`, and ends those that are open. */
async function openShiftedClock(sql: Database): Promise<void> {
  await sql`create schema shifted`;
  await sql`create table shifted.clock (ahead interval not null)`;
  await sql`insert into shifted.clock values ('0')`;
  await sql`
    create function shifted.now() returns timestamptz language sql stable
    as 'select pg_catalog.now() + ahead from shifted.clock'`;
  await sql`
    create function shifted.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + ahead from shifted.clock'`;
  const [{ name } = { name: "" }] = await sql<{ name: string }[]>`select current_database() as name`;
  await sql`alter database ${sql(name)} set search_path = shifted, pg_catalog, public`;
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`;
}

async function skewOf(service: Service): Promise<number> {
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
  return Number(/^ostiary_clock_skew_seconds (\S+)$/m.exec(metrics)?.[1]);
}

// The clock is shifted by an option of Node's.
describe.skipIf(RUNTIME === "deno")("a node whose clock is 401 days", () => {
  it.each([
    ["ahead", FAR_MS],
    ["behind", -FAR_MS],
  ])("%s deletes nothing, and logs that once", async (_, aheadMs) => {
    await using first = await startService();
    const owner = await signUpWithKey(first.baseUrl);
    for (let count = 0; count < 3; count++) await chat(first, owner.key);
    // Something of each kind that is deleted for its age.
    await fetch(`${first.baseUrl}/v1/models`, { headers: { authorization: `Bearer sk-${"A".repeat(49)}` } });
    await first.stop();

    const wrong = await startService({ ...inheritance(first), env: shifted(aheadMs) });
    await using sql = await openDatabaseOf(wrong);
    const count = async () => {
      const [row] = await sql`
        select (select count(*) from audit_entries) as entries, (select count(*) from key_usage_minutes) as minutes,
               (select count(*) from key_addresses) as addresses, (select count(*) from security_events) as events`;
      return row;
    };
    const before = await count();
    expect(before).toMatchObject({ entries: 3n, addresses: 1n, events: 1n });
    const ran = await runsOf(sql);
    await expect.poll(() => runsOf(sql)).toBeGreaterThan(ran + 20);
    expect(await count()).toEqual(before);
    expect(await skewOf(wrong)).toBeCloseTo(aheadMs / 1_000, -2);
    expect(wrong.stderr().match(/deletes nothing by age/g)).toHaveLength(1);
    // It goes on to serve.
    await chat(wrong, owner.key);
    await wrong.stop();

    await using right = await startService(inheritance(first));
    expect(await chats(right, owner)).toBe(4);
    expect(Math.abs(await skewOf(right))).toBeLessThan(60);
    expect(right.stderr()).not.toContain("deletes nothing by age");
    await chat(right, owner.key);
    expect(await chats(right, owner)).toBe(5);
  });

  /** How often the nodes of a database have asked for its time. */
  async function runsOf(sql: Awaited<ReturnType<typeof openDatabaseOf>>): Promise<number> {
    const [row] = await sql<{ commits: bigint }[]>`
      select xact_commit as commits from pg_stat_database where datname = current_database()`;
    return Number(row?.commits ?? 0n);
  }
});

describe.skipIf(RUNTIME === "deno")("entries past retention by the database's clock", () => {
  it("are deleted by a node whose clock agrees with it", async () => {
    await using past = await startService({ env: { ...shifted(-FAR_MS), ...KEEPS_ALL } });
    const owner = await signUpWithKey(past.baseUrl);
    await chat(past, owner.key);
    expect(await chats(past, owner)).toBe(1);
    await past.stop();
    await using right = await startService({ ...inheritance(past), env: shifted(0) });
    await using sql = await openDatabaseOf(right);
    await expect.poll(() => sql`select from audit_entries`).toHaveLength(0);
    // Its runtime may be one that gets no security fixes any more.
    expect(logLines(right.stderr()).filter(({ msg }) => !msg?.startsWith("Node "))).toEqual([]);
  });
});

describe.skipIf(RUNTIME === "deno")(
  "a node whose clock is behind entries that were deleted for their age",
  () => {
    it("dates its own entries later, so that they are not taken for deleted ones, and recorded", async () => {
      await using past = await startService({ env: { ...shifted(-FAR_MS), ...KEEPS_ALL } });
      const owner = await signUpWithKey(past.baseUrl);
      await chat(past, owner.key);
      await past.stop();
      const right = await startService({ ...inheritance(past), env: shifted(0) });
      const sql = await openDatabaseOf(right);
      await expect.poll(() => sql`select from audit_entries`).toHaveLength(0);
      await sql.end();
      await right.stop();

      for (const plans of [{}, KEEPS_ALL]) {
        await using wrong = await startService({
          ...inheritance(past),
          env: { ...shifted(-2 * FAR_MS), ...plans },
        });
        const before = await chats(wrong, owner);
        await chat(wrong, owner.key);
        expect(await chats(wrong, owner)).toBe(before + 1);
      }
    });
  },
);

describe.skipIf(RUNTIME === "deno")("a node whose clock is ahead", () => {
  it("dates its entries by the database's clock, so that they and those after them are deleted in time", async () => {
    await using wrong = await startService({ env: shifted(FAR_MS) });
    const owner = await signUpWithKey(wrong.baseUrl);
    await chat(wrong, owner.key);
    await wrong.stop();
    await using right = await startService(inheritance(wrong));
    await chat(right, owner.key);
    expect(await chats(right, owner)).toBe(2);
    await using sql = await openDatabaseOf(right);
    // Also that of the read of the log.
    await expect.poll(() => sql`select from audit_entries`).toHaveLength(3);
    expect(await sql`select from audit_entries where at > now() + interval '1 minute'`).toHaveLength(0);
    await dropOldEntries(sql, BUILT_IN_PLANS, new Date(Date.now() + 31 * DAY_MS));
    expect(await sql`select from audit_entries`).toHaveLength(0);
  });
});

describe("entries of a month that has no partition yet", () => {
  it("do not prevent the service from starting when it is created, and are moved into it", async () => {
    await using first = await startService();
    const owner = await signUpWithKey(first.baseUrl);
    await chat(first, owner.key);
    const [[key], { id: accountId }] = await Promise.all([
      owner.trpc.keys.list.query().then(({ keys }) => keys),
      owner.trpc.account.get.query(),
    ]);
    if (key === undefined) throw new Error("the account has no key");
    const now = new Date();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 1));
    const partition = `audit_entries_${month.toISOString().slice(0, 7).replace("-", "_")}`;
    const sql = await openDatabaseOf(first);
    // As if it were later in the year when that month's is made.
    await sql`drop table ${sql(partition)}`;
    const at = new Date(month.getTime() + DAY_MS);
    const id = uuidv7({ msecs: at.getTime() }) as EntryId;
    const { keyId } = key;
    const ahead = auditEntry({ id, at, keyId, accountId: accountId as AccountId, key: key.id as KeyUuid });
    await new PostgresAudit(sql, uuidv7()).insertEntries([ahead]);
    expect(await chats(first, owner)).toBe(2);
    const strays = await sql<{ id: string }[]>`select id from audit_entries_other order by id`;
    expect(strays.length).toBeGreaterThan(0);
    await sql.end();
    await first.stop();

    await using right = await startService(inheritance(first));
    await using after = await openDatabaseOf(right);
    expect(await after`select id from ${after(partition)}`).toEqual(expect.arrayContaining(strays));
    expect(await after`select from audit_entries_other`).toHaveLength(0);
    expect(await chats(right, owner)).toBe(2);
    const { trpc } = visit(right.baseUrl, { authorization: `Bearer ${owner.key}` });
    expect(await trpc.audit.verify.query()).toMatchObject({ problems: [] });
    // What is in no month has its place as before.
    await after`
      update audit_entries set id = 'ffffffff-ffff-7000-8000-000000000001' where id = ${strays[0]?.id ?? ""}::text::uuid`;
    expect(await after`select from audit_entries_other`).toHaveLength(1);
  });
});

describe.skipIf(process.env.OSTIARY_TEST_DATABASE_URL === undefined)(
  "a partition that can't be created, because a backup reads the audit log,",
  () => {
    it("does not keep a service from starting and recording", async () => {
      const env = { REDIS_URL: undefined };
      await using first = await startService({ env });
      const owner = await signUpWithKey(first.baseUrl);
      await first.stop();
      await using sql = await openDatabaseOf(first);
      const partitions = await sql<{ name: string }[]>`
        select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'audit_entries'::regclass and relname ~ '\\d$' order by 1`;
      const absent = partitions.at(-1)?.name ?? "";
      await sql`drop table ${sql(absent)}`;
      await sql.transaction("", async (backup) => {
        await backup`set local idle_in_transaction_session_timeout = 0`;
        await backup`lock table audit_entries in access share mode`;
        await using service = await startService({ ...inheritance(first), env });
        await chat(service, owner.key);
        expect(await chats(service, owner)).toBe(1);
        await expect.poll(service.stderr).toContain("partitions of the next months are created later");
        await service.stop();
      });
      await using later = await startService({ ...inheritance(first), env });
      expect(await sql`select from pg_class where relname = ${absent}`).toHaveLength(1);
      await later.stop();
    });
  },
);

describe("an idempotency key", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service?.[Symbol.asyncDispose]());

  it("that was used while the database's clock was ahead is in use for the lease of its claim from when a request finds that, if its node has died", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const askOnce = () => ask(service, key, { "idempotency-key": "order-1" });
    expect((await askOnce()).status).toBe(200);
    await using sql = await openDatabaseOf(service);
    const answered = async () =>
      (await sql`select from idempotent_requests where answered_at is not null`).length;
    await expect.poll(answered).toBe(1);
    await sql`
      update idempotent_requests
      set answered_at = null, answer = null, node_id = gen_random_uuid(), renewed_at = now() + interval '1 day'`;
    const refused = await askOnce();
    expect((await refused.json()).error).toMatchObject({ code: "idempotency_key_in_use" });
    await sql`update idempotent_requests set renewed_at = renewed_at - interval '61 seconds'`;
    const executed = await askOnce();
    expect(executed.status).toBe(200);
    expect(executed.headers.get("idempotency-replayed")).toBeNull();
  });

  it("that was used while the database's clock was ahead is forgotten a day after the service finds that, with its answer", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    const askOnce = async () => {
      const response = await ask(service, key, { "idempotency-key": "order-2" });
      await response.text();
      return response.headers.get("idempotency-replayed");
    };
    await askOnce();
    await using sql = await openDatabaseOf(service);
    await sql`delete from idempotent_requests where created_at < (select max(created_at) from idempotent_requests)`;
    await sql`update idempotent_requests set created_at = now() + interval '10 years'`;
    await dropOldAnswers(sql);
    expect(await askOnce()).toBe("true");
    await sql`update idempotent_requests set created_at = created_at - interval '25 hours'`;
    await dropOldAnswers(sql);
    expect(await sql`select from idempotent_requests`).toHaveLength(0);
  });

  it("is still in use by the node that answers it, and its answer is kept, when the database's clock jumps ahead", async () => {
    await using sql = await openDatabaseOf(service);
    await sql`delete from idempotent_requests`;
    await openShiftedClock(sql);
    await expect.poll(async () => (await fetch(`${service.baseUrl}/readyz`)).status).toBe(200);
    const { key } = await signUpWithKey(service.baseUrl);
    const askOnce = (name: string) => ask(service, key, { "idempotency-key": name });
    for (const name of ["running", "answered"]) expect((await askOnce(name)).status).toBe(200);
    const answered = async () =>
      (await sql`select from idempotent_requests where answered_at is not null`).length;
    await expect.poll(answered).toBe(2);
    await sql`
      update idempotent_requests set answered_at = null, answer = null, node_id = gen_random_uuid(), renewed_at = now()
      where created_at = (select min(created_at) from idempotent_requests)`;
    for (const ahead of ["10 minutes", "2 days"]) {
      await sql`update shifted.clock set ahead = ${ahead}::interval`;
      const refused = await askOnce("running");
      expect((await refused.json()).error).toMatchObject({ code: "idempotency_key_in_use" });
      expect((await askOnce("answered")).headers.get("idempotency-replayed")).toBe("true");
    }
  });
});
