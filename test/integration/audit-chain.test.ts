import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyAuditExport } from "../../sdk/src/audit/verify-export.ts";
import { UnverifiableExportError } from "../../sdk/src/core/errors.ts";
import { inTransaction } from "../../server/src/database/database.ts";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp } from "../fixtures/user.ts";

let service: Service;
let sql: ServiceDatabase;

beforeAll(async () => {
  service = await startService({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  sql = await openDatabaseOf(service);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

interface RecordedOwner extends Owner {
  readonly accountId: string;
  readonly headers: Record<string, string>;
}

/** An account with many entries of all kinds, in many batches. */
async function ownerWithEntries(): Promise<RecordedOwner> {
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "reader" });
  const { id } = await owner.trpc.account.get.query();
  const models = ["sandbox/echo", "sandbox/lorem", "no/such/модель", "sandbox/echo"];
  const sources = ["192.0.2.1", "2001:DB8:0:0::7", "::ffff:192.0.2.9", "nonsense"];
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      models.map(async (model, index) => {
        const response = await sendChat(
          service.baseUrl,
          key,
          { model, stream: index === 3 },
          { headers: { "x-forwarded-for": sources[index] ?? "" } },
        );
        await response.arrayBuffer();
      }),
    );
    // What was recorded so far is written for who reads: a batch for each round at least, and all of them at the end.
    await owner.trpc.audit.list.query({ limit: 1 });
  }
  return { ...owner, accountId: id, headers: { authorization: `Bearer ${token}` } };
}

async function exportedLines(owner: RecordedOwner, query = ""): Promise<string[]> {
  const response = await fetch(`${service.baseUrl}/v1/audit/export?${query}`, { headers: owner.headers });
  return (await response.text()).trimEnd().split("\n");
}

it("an export and a page lack no request that is not in the database yet: they are refused meanwhile", async () => {
  const owner = await signUp(service.baseUrl);
  const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
  const { token } = await owner.trpc.tokens.create.mutate({ name: "reader" });
  const { id } = await owner.trpc.account.get.query();
  const headers = { authorization: `Bearer ${token}` };
  const send = async () =>
    void (await (await sendChat(service.baseUrl, key, { model: "sandbox/echo" })).arrayBuffer());
  const statuses = () =>
    Promise.all(
      ["/v1/audit/export", "/v1/audit"].map(
        async (path) => (await fetch(`${service.baseUrl}${path}`, { headers })).status,
      ),
    );
  await send();
  expect(await statuses()).toEqual([200, 200]);
  await inTransaction(sql, async (transaction) => {
    await transaction`select from audit_chains where account_id = ${id} for update`;
    await send();
    // When the recorder's statement was cancelled.
    expect(await statuses()).toEqual([503, 503]);
  });
  await expect.poll(statuses).toEqual([200, 200]);
  const response = await fetch(`${service.baseUrl}/v1/audit/export`, { headers });
  expect((await response.text()).trimEnd().split("\n")).toHaveLength(2);
});

it.each(["audit_chains", "usage_days"])(
  "requests of other accounts are recorded while rows of an account in %s are locked, and those of the account afterwards",
  async (table) => {
    const [locked, other] = [await signUp(service.baseUrl), await signUp(service.baseUrl)];
    const callers = await Promise.all(
      [locked, other].map(async (owner) => {
        const { key } = await owner.trpc.keys.create.mutate({ name: "busy" });
        const { token } = await owner.trpc.tokens.create.mutate({ name: "reader" });
        const headers = { authorization: `Bearer ${token}` };
        const models: string[] = [];
        const send = async (model: string) => {
          await (await sendChat(service.baseUrl, key, { model })).arrayBuffer();
          models.push(model);
        };
        const recorded = async () => {
          const response = await fetch(`${service.baseUrl}/v1/audit/export`, { headers });
          if (response.status !== 200) return response.status;
          return (await response.text())
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line).model);
        };
        await send("sandbox/echo");
        expect(await recorded()).toEqual(models);
        return { send, recorded, models };
      }),
    );
    const [caller, neighbour] = callers as [(typeof callers)[0], (typeof callers)[0]];
    const { id } = await locked.trpc.account.get.query();
    await inTransaction(sql, async (transaction) => {
      await transaction.unsafe(`select from ${table} where account_id = '${id}' for update`);
      await caller.send("sandbox/lorem");
      for (let request = 0; request < 3; request++) {
        await neighbour.send("sandbox/lorem");
        const neighbours = async () => {
          // A transaction that is idle would be ended, and its locks with it.
          await transaction`select 1`;
          return neighbour.recorded();
        };
        await expect.poll(neighbours).toEqual(neighbour.models);
        await caller.send("sandbox/echo");
      }
      const refused = caller.recorded();
      await expect
        .poll(
          async () => {
            await transaction`select 1`;
            return Promise.race([refused, "waiting"]);
          },
          { timeout: 60_000 },
        )
        .toBe(503);
    });
    await expect.poll(caller.recorded).toEqual(caller.models);
    expect(await locked.trpc.audit.verify.query()).toMatchObject({
      entries: caller.models.length,
      problems: [],
    });
  },
);

describe("the integrity of an account's entries", () => {
  it("is verified online and offline", async () => {
    const owner = await ownerWithEntries();
    const report = await owner.trpc.audit.verify.query();
    expect(report).toMatchObject({ entries: 20, problems: [], next: null, removedBatches: 0 });
    const offline = await verifyAuditExport(await exportedLines(owner));
    expect(offline).toMatchObject({ ok: true, entries: 20, first: 1, problems: [] });
    expect(offline.head).toEqual(report.head);
    expect(offline.batches).toBe(report.head?.batch);
  });

  const tampering: Record<string, (accountId: string) => Promise<unknown>> = {
    "a changed model": (id) =>
      sql`update audit_entries set model = 'sandbox/lorem' where id = (
            select id from audit_entries where account_id = ${id} and model = 'sandbox/echo' order by id offset 3 limit 1)`,
    "a changed source address": (id) =>
      sql`update audit_entries set source_ip = '192.0.2.77' where id = (
            select id from audit_entries where account_id = ${id} order by id offset 5 limit 1)`,
    "a changed cost": (id) =>
      sql`update audit_entries set cost_nano_usd = cost_nano_usd + 1 where id = (
            select id from audit_entries where account_id = ${id} order by id offset 7 limit 1)`,
    "changed tokens of reasoning": (id) =>
      sql`update audit_entries set reasoning_tokens = reasoning_tokens + 1 where id = (
            select id from audit_entries where account_id = ${id} and reasoning_tokens is not null order by id limit 1)`,
    "a part of the usage taken away": (id) =>
      sql`update audit_entries set cache_write_tokens = null where id = (
            select id from audit_entries where account_id = ${id} and cache_write_tokens is not null order by id limit 1)`,
    "a removed entry": (id) =>
      sql`delete from audit_entries where id = (
            select id from audit_entries where account_id = ${id} order by id offset 2 limit 1)`,
    "a removed batch": (id) =>
      sql`with gone as (delete from audit_batches where account_id = ${id} and batch = 2)
          delete from audit_entries where account_id = ${id} and batch = 2`,
    "an entry moved to another time": (id) =>
      sql`update audit_entries set at = at - interval '1 minute' where id = (
            select id from audit_entries where account_id = ${id} order by id offset 4 limit 1)`,
    "an entry of a batch that has not come yet": (id) =>
      sql`update audit_entries set batch = 1000000 where id = (
            select id from audit_entries where account_id = ${id} order by id limit 1)`,
    "an entry moved to another batch": (id) =>
      sql`update audit_entries set batch = 1 where id = (
            select id from audit_entries where account_id = ${id} and batch > 1 order by id offset 1 limit 1)`,
    "an invented entry": (id) =>
      sql`insert into audit_entries
          select gen_random_uuid_like.id, account_id, key, key_id, at, endpoint, model, upstream, status, error_code,
                 end_reason, usage_source, prompt_tokens, completion_tokens, cached_tokens, cost_nano_usd, latency_ms,
                 time_to_first_token_ms, source_ip, would_refuse, batch
          from (select * from audit_entries where account_id = ${id} order by id limit 1) one,
               lateral (select (substr(one.id::text, 1, 24) || 'ffffffffffff')::uuid as id) gen_random_uuid_like`,
  };
  for (const [what, tamper] of Object.entries(tampering)) {
    it(`is found violated after ${what}`, async () => {
      const owner = await ownerWithEntries();
      await tamper(owner.accountId);
      const report = await owner.trpc.audit.verify.query();
      expect(report.problems.length).toBeGreaterThan(0);
      const offline = await verifyAuditExport(await exportedLines(owner));
      expect(offline.ok).toBe(false);
      expect(offline.problems.length).toBeGreaterThan(0);
    });
  }

  it("is found violated after a change of what is stored beside the fields that digests cover", async () => {
    const owner = await ownerWithEntries();
    const { accountId } = owner;
    const other = await owner.trpc.keys.create.mutate({ name: "quiet" });
    const foreign = await (await signUp(service.baseUrl)).trpc.keys.create.mutate({ name: "foreign" });
    // Requests may have been recorded under an earlier key ID of it.
    await sql`update keys set issued_at = created_at + interval '1 minute' where id = ${foreign.id}`;
    const changes = [
      sql`update audit_batches set entries = entries + 1 where account_id = ${accountId} and batch = 1`,
      sql`update audit_batches set newest = gen_random_uuid() where account_id = ${accountId} and batch = 2`,
      sql`update audit_entries set key = ${other.id} where account_id = ${accountId} and batch = 3`,
      sql`update audit_entries set key = ${foreign.id} where account_id = ${accountId} and batch = 4`,
    ];
    for (const change of changes) expect((await change).count).toBeGreaterThan(0);
    // The text that the digest covers stays the same.
    const [rewritten] = await sql<{ batch: bigint }[]>`
      update audit_entries set
        would_refuse = E'\ncache_write_tokens:' || cache_write_tokens || E'\ncache_write_1h_tokens:' || cache_write_1h_tokens
          || E'\nreasoning_tokens:' || reasoning_tokens || E'\naudio_tokens:' || audio_tokens || E'\nimage_tokens:' || image_tokens,
        cache_write_tokens = null, cache_write_1h_tokens = null, reasoning_tokens = null, audio_tokens = null, image_tokens = null
      where id = (
        select id from audit_entries where account_id = ${accountId} and reasoning_tokens is not null order by id desc limit 1)
      returning batch`;
    const problem = (batch: number, name = "changed") => expect.objectContaining({ batch, problem: name });
    const last = problem(Number(rewritten?.batch));
    const { problems } = await owner.trpc.audit.verify.query();
    expect(problems).toEqual([problem(1, "entries_missing"), problem(2), problem(3), problem(4), last]);
    expect((await verifyAuditExport(await exportedLines(owner))).problems).toContainEqual(last);
  });

  it("is found violated after changes that leave the texts of all digests as they are", async () => {
    const owner = await ownerWithEntries();
    const { accountId } = owner;
    await sql.unsafe(
      `create table kept_entries as select * from audit_entries where account_id = '${accountId}'`,
    );
    const changes: Record<string, () => Promise<{ readonly count: number }>> = {
      "fields in the places of others": () => sql`
        update audit_entries set
          usage_source = usage_source || E'\n' || prompt_tokens, prompt_tokens = completion_tokens,
          completion_tokens = cached_tokens, cached_tokens = cost_nano_usd, cost_nano_usd = latency_ms,
          latency_ms = time_to_first_token_ms, time_to_first_token_ms = null,
          would_refuse = 'cache_write_tokens:' || cache_write_tokens, cache_write_tokens = null
        where account_id = ${accountId} and source_ip is null and time_to_first_token_ms is not null`,
      "networks instead of addresses": () => sql`
        update audit_entries set source_ip = set_masklen(source_ip, 24) where account_id = ${accountId}`,
      "an invented entry without a digest": async () => {
        await sql`update audit_batches set entries = entries + 1 where account_id = ${accountId} and batch = 1`;
        return sql`
          insert into audit_entries
          select (jsonb_populate_record(one, jsonb_build_object(
            'id', substr(one.id::text, 1, 24) || 'ffffffffffff', 'at', 'infinity'))).*
          from audit_entries one where account_id = ${accountId} order by id limit 1`;
      },
    };
    const problems = async () => (await owner.trpc.audit.verify.query()).problems;
    expect(await problems()).toEqual([]);
    for (const [what, change] of Object.entries(changes)) {
      expect((await change()).count, what).toBeGreaterThan(0);
      expect(
        (await problems()).map(({ problem }) => problem),
        what,
      ).toContain("changed");
      await sql`delete from audit_entries where account_id = ${accountId}`;
      await sql`insert into audit_entries select * from kept_entries`;
    }
    await sql`drop table kept_entries`;
  });

  it("is found violated after a change of what is stored of the chain's end", async () => {
    const owner = await ownerWithEntries();
    const { accountId } = owner;
    const { head } = await owner.trpc.audit.verify.query();
    const [end] = await sql`select digest, newest from audit_chains where account_id = ${accountId}`;
    const changes = [
      sql`digest = sha256('')`,
      sql`newest = (select id from audit_entries entry where entry.account_id = ${accountId} order by id limit 1)`,
      sql`newest = null`,
      sql`removed_up_to = 'ffffffff-ffff-7000-8000-000000000001'`,
      sql`removed_digest = sha256('')`,
    ];
    const changed: number[] = [];
    for (const change of changes) {
      await sql`update audit_chains set ${change} where account_id = ${accountId}`;
      const { problems } = await owner.trpc.audit.verify.query();
      expect(problems).toMatchObject([{ batch: head?.batch, problem: "changed" }]);
      await sql`
        update audit_chains set
          digest = ${end?.digest}, newest = ${end?.newest}, removed_up_to = null, removed_digest = null
        where account_id = ${accountId}`;
    }
    await sql`
      insert into audit_batches select account_id, batch + 1, recorded_at, entries, newest, digest
      from audit_batches where account_id = ${accountId} order by batch desc limit 1`;
    expect((await owner.trpc.audit.verify.query()).problems).toMatchObject([{ problem: "changed" }]);
    await sql`delete from audit_batches where account_id = ${accountId} and batch > ${head?.batch ?? 0}`;
    await sql`
      insert into audit_entries
      select (jsonb_populate_record(entry, jsonb_build_object(
        'id', substr(entry.id::text, 1, 24) || 'ffffffffffff', 'batch', ${(head?.batch ?? 0) + 1}::bigint))).*
      from audit_entries entry where account_id = ${accountId} order by id limit 1`;
    expect((await owner.trpc.audit.verify.query()).problems).toMatchObject([{ problem: "entries_added" }]);
    await sql`delete from audit_entries where account_id = ${accountId} and batch > ${head?.batch ?? 0}`;
    // A key that was reissued has another key ID than before, under which requests may have been recorded since.
    await sql`
      update keys set key_id = 'late', issued_at = created_at + interval '1 minute' where account_id = ${accountId}`;
    expect((await owner.trpc.audit.verify.query()).problems).toEqual([]);
    const [batch] = await sql`select * from audit_batches where account_id = ${accountId} and batch = 1`;
    const [entry] =
      await sql`select to_jsonb(entry) as row from audit_entries entry where account_id = ${accountId} and batch = 1`;
    await sql`delete from audit_entries where account_id = ${accountId}`;
    await sql`delete from audit_batches where account_id = ${accountId}`;
    const { problems } = await owner.trpc.audit.verify.query();
    expect(problems).toMatchObject(
      Array.from({ length: head?.batch ?? 0 }, (_, index) => ({
        batch: index + 1,
        problem: "batch_missing",
      })),
    );
    // As at the end of the retention of all entries.
    const removed = sql`
      removed_batches = batches, removed_digest = ${end?.digest}, removed_up_to = ${end?.newest}, digest = ${end?.digest}`;
    for (const change of [
      sql`digest = digest`,
      sql`removed_digest = null, digest = null`,
      sql`removed_digest = sha256('')`,
      sql`removed_up_to = null`,
      sql`removed_up_to = 'ffffffff-ffff-7000-8000-000000000001'`,
      sql`removed_batches = 0, removed_digest = null, removed_up_to = null, digest = null`,
    ]) {
      await sql`update audit_chains set ${removed} where account_id = ${accountId}`;
      await sql`update audit_chains set ${change} where account_id = ${accountId}`;
      changed.push((await owner.trpc.audit.verify.query()).problems.length);
    }
    expect(changed).toEqual([0, 1, 1, 1, 1, 1]);
    await sql`update audit_chains set ${removed} where account_id = ${accountId}`;
    await sql`
      insert into audit_batches (account_id, batch, entries, newest, digest)
      values (${accountId}, 1, ${batch?.entries}, ${batch?.newest}, ${batch?.digest})`;
    expect((await owner.trpc.audit.verify.query()).problems).toMatchObject([{ problem: "changed" }]);
    await sql`delete from audit_batches where account_id = ${accountId}`;
    await sql`
      insert into audit_entries
      select * from jsonb_populate_record(null::audit_entries, ${sql.json(entry?.row)})`;
    expect((await owner.trpc.audit.verify.query()).problems).toMatchObject([
      { batch: 1, problem: "entries_added", foundEntries: 1 },
    ]);
  });

  it("fails for a chain that was recomputed, for anyone who saved an earlier digest", async () => {
    const owner = await ownerWithEntries();
    const { head } = await owner.trpc.audit.verify.query();
    if (head === null) throw new Error("nothing was recorded");
    await sql`delete from audit_entries where account_id = ${owner.accountId} and batch > 1`;
    await sql`delete from audit_batches where account_id = ${owner.accountId} and batch > 1`;
    await sql`
      update audit_chains set batches = 1, digest = (
        select digest from audit_batches where account_id = ${owner.accountId} and batch = 1)
      where account_id = ${owner.accountId}`;
    expect((await owner.trpc.audit.verify.query()).problems).toEqual([]);
    const expected = { batch: head.batch, digest: head.digest };
    expect((await owner.trpc.audit.verify.query({ expected })).problems).toMatchObject([
      { problem: "digest_differs", batch: head.batch },
    ]);
    const lines = await exportedLines(owner);
    expect(await verifyAuditExport(lines, { expected })).toMatchObject({ ok: false });
  });
});

describe("a stored export", () => {
  it("fails verification when lines were changed, removed, duplicated or reordered", async () => {
    const owner = await ownerWithEntries();
    const lines = await exportedLines(owner);
    const changed = lines.with(3, (lines[3] ?? "").replace(/"latency_ms":\d+/, '"latency_ms":987654'));
    const swapped = lines.with(4, lines[5] ?? "").with(5, lines[4] ?? "");
    const forgeries = {
      changed,
      swapped,
      shortened: [...lines.slice(0, 6), ...lines.slice(7)],
      doubled: [...lines.slice(0, 6), lines[5] ?? "", ...lines.slice(6)],
      recounted: lines.map((line) => line.replace(/"token_count":\d+/, '"token_count":1')),
      renamed: lines.with(2, (lines[2] ?? "").replace(/"request_id":"req_./, '"request_id":"req_x')),
      torn: lines.with(9, (lines[9] ?? "").slice(0, 40)),
    };
    for (const [what, forged] of Object.entries(forgeries)) {
      expect((await verifyAuditExport(forged)).ok, what).toBe(false);
    }
    expect((await verifyAuditExport(lines)).ok).toBe(true);
  });

  it("is told apart from a filtered export", async () => {
    const owner = await ownerWithEntries();
    const filtered = await exportedLines(owner, "status=200");
    await expect(verifyAuditExport(filtered)).rejects.toThrow(UnverifiableExportError);
  });
});
