import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabaseOf, type ServiceDatabase } from "../fixtures/database.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { sendChat } from "../fixtures/request.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUp, signUpWithKey } from "../fixtures/user.ts";

const ENTRIES = 110_000;
/** Connections of a node for expensive reads, and how many of them one account may use concurrently. */
const MAX_READING = 4;
const MAX_READING_OF_ACCOUNT = 2;

let service: Service;
let sql: ServiceDatabase;
/** Has many entries, and a key that may only read. */
let reader: Owner & { readonly key: string };

beforeAll(async () => {
  service = await startService();
  sql = await openDatabaseOf(service);
  reader = await signUpWithKey(service.baseUrl);
  await insertEntries(service, reader, ENTRIES);
  await chain((await reader.trpc.account.get.query()).id);
});

afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

/** Gives the batches that a test has written the digests that they would have. */
async function chain(accountId: string): Promise<void> {
  await sql.unsafe(`
    do $$
    declare
      one record;
      previous bytea := '';
    begin
      for one in
        select batch, sha256(string_agg(entry_digest(entry), ''::bytea order by id)) as content
        from audit_entries entry where account_id = '${accountId}' group by batch order by batch
      loop
        previous := sha256(previous || one.content);
        update audit_batches set digest = previous where account_id = '${accountId}' and batch = one.batch;
      end loop;
      update audit_chains set digest = previous where account_id = '${accountId}';
    end $$`);
  await sql.unsafe("vacuum analyze audit_batches");
}

interface Batch {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly codes: readonly string[];
}

/** Twenty calls in one request, with the key. */
async function batchOf(procedure: string): Promise<Batch> {
  const names = Array.from({ length: 20 }, () => procedure).join(",");
  const response = await fetch(`${service.baseUrl}/trpc/${names}?batch=1&input={}`, {
    headers: { authorization: `Bearer ${reader.key}` },
  });
  const answers = (await response.json()) as { error?: { json: { data: { ostiary: { code: string } } } } }[];
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    codes: answers.map(({ error }) => error?.json.data.ostiary.code ?? "ok"),
  };
}

/** What the service's connections are busy with. */
async function busy(): Promise<readonly string[]> {
  const rows = await sql<{ query: string }[]>`
    select query from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
  return rows.map(({ query }) => query);
}

const isVerification = (query: string) => query.includes("entry_digest") || query.includes("audit_batches");

describe("an account that verifies its log in a loop", () => {
  it("does not delay other accounts, and is told when to retry", async () => {
    const victim = await signUp(service.baseUrl);
    const [revoked, uncached] = await Promise.all([
      victim.trpc.keys.create.mutate({ name: "leaked" }),
      victim.trpc.keys.create.mutate({ name: "new" }),
    ]);
    let isOver = false;
    const flood = Promise.all(Array.from({ length: 6 }, () => batchOf("audit.verify"))).finally(() => {
      isOver = true;
    });
    await expect.poll(async () => (await busy()).filter(isVerification).length).toBeGreaterThan(0);

    // The account itself finds the key and revokes it, too.
    const { keys } = await reader.trpc.keys.list.query();
    const own = await reader.trpc.keys.create.mutate({ name: "another" });
    await reader.trpc.keys.revoke.mutate({ id: own.id });
    expect(keys).not.toHaveLength(0);
    expect((await reader.trpc.audit.list.query({ limit: 1 })).entries).toHaveLength(1);
    await victim.trpc.keys.revoke.mutate({ id: revoked.id });
    const ready = await fetch(`${service.baseUrl}/readyz`);
    const chat = await sendChat(service.baseUrl, uncached.key);
    const read = await victim.trpc.audit.list.query({ status: "2xx" });
    const reading = (await busy()).filter(isVerification);

    // All of it was answered while the reads went on, which none of it had to wait for.
    expect(isOver).toBe(false);
    expect(ready.status).toBe(200);
    expect(chat.status).toBe(200);
    expect(read.entries).toHaveLength(1);
    expect(reading.length).toBeLessThanOrEqual(MAX_READING_OF_ACCOUNT);

    const answers = await flood;
    const codes = answers.flatMap((answer) => answer.codes);
    expect(codes).toHaveLength(120);
    expect(new Set(codes)).toEqual(new Set(["ok", "rate_limit_exceeded"]));
    expect(codes.filter((code) => code === "ok").length).toBeLessThanOrEqual(22);
    const refused = answers.filter((answer) => answer.codes.includes("rate_limit_exceeded"));
    for (const { retryAfter } of refused) expect(Number(retryAfter)).toBeGreaterThan(0);
  });

  it("can still verify its whole log, in several calls", async () => {
    const whole = { entries: 0, batches: 0, calls: 0 };
    let next: number | null = 0;
    while (next !== null) {
      const report: { next: number | null; entries: number; batches: number; problems: readonly unknown[] } =
        await reader.trpc.audit.verify.query({ after: next });
      expect(report.problems).toEqual([]);
      whole.entries += report.entries;
      whole.batches += report.batches;
      whole.calls++;
      next = report.next;
    }
    expect(whole.entries).toBeGreaterThanOrEqual(ENTRIES);
    expect(whole.calls).toBeLessThanOrEqual(20);
  });
});

describe("an account that lists its keys in a loop", () => {
  it("uses few database connections", async () => {
    let mostReading = 0;
    const flood = Promise.all(Array.from({ length: 6 }, () => batchOf("keys.list")));
    let isOver = false;
    void flood.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      mostReading = Math.max(
        mostReading,
        (await busy()).filter((query) => query.includes("key_usage")).length,
      );
    }
    expect(mostReading).toBeLessThanOrEqual(MAX_READING);
    const codes = (await flood).flatMap((answer) => answer.codes);
    expect(new Set(codes)).toEqual(new Set(["ok", "rate_limit_exceeded"]));
  });
});

describe("an account that searches its log for entries that do not exist", () => {
  it("uses few database connections, by every way of searching", async () => {
    const headers = { authorization: `Bearer ${reader.key}` };
    const ask = (path: string) => fetch(`${service.baseUrl}${path}`, { headers });
    let mostReading = 0;
    const flood = Promise.all([
      ...Array.from({ length: 30 }, () => ask("/v1/audit?source=203.0.113.1")),
      ...Array.from({ length: 10 }, () => ask("/v1/audit/export?source=203.0.113.1")),
      ...Array.from({ length: 3 }, () => batchOf("audit.list")),
    ]);
    let isOver = false;
    void flood.finally(() => {
      isOver = true;
    });
    while (!isOver)
      mostReading = Math.max(mostReading, (await busy()).filter((q) => q.includes("entries")).length);
    expect(mostReading).toBeLessThanOrEqual(MAX_READING);
    const answers = (await flood).filter((answer): answer is Response => answer instanceof Response);
    for (const answer of answers) {
      expect([200, 429]).toContain(answer.status);
      if (answer.status === 429) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      await answer.text();
    }
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  });
});

describe("a search through a long log", () => {
  it("finds all matches, by pages and in an export, though it runs in slices", async () => {
    const filter = { source: "192.0.2.7", key: undefined };
    const { id } = await reader.trpc.account.get.query();
    const [expected] = await sql<{ count: bigint }[]>`
      select count(*) from audit_entries where account_id = ${id} and source_ip = '192.0.2.7'`;
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page: { entries: readonly { id: string }[]; nextCursor: string | null } =
        await reader.trpc.audit.list.query({ source: filter.source, limit: 150, cursor });
      found.push(...page.entries.map((entry) => entry.id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(found).toHaveLength(Number(expected?.count));
    expect(new Set(found).size).toBe(found.length);
    const response = await fetch(`${service.baseUrl}/v1/audit/export?source=${filter.source}`, {
      headers: { authorization: `Bearer ${reader.key}` },
    });
    const lines = (await response.text()).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(found.reverse());
  });
});

describe("an account that has created and revoked many keys", () => {
  it("lists them in pages, active keys first", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const { id: accountId } = await owner.trpc.account.get.query();
    await sql`
      insert into keys (id, account_id, name, key_id, digest, state, created_at, issued_at, revoked_at)
      select gen_random_uuid(), ${accountId}, 'old', lpad(number::text, 4, '0'), sha256(('old' || number)::bytea),
             'revoked', now(), now(), now()
      from generate_series(1, 2500) number`;
    const first = await owner.trpc.keys.list.query();
    expect(first.keys).toHaveLength(1_000);
    expect(first.keys[0]).toMatchObject({ id: owner.id, state: "active" });
    const seen = new Set(first.keys.map(({ id }) => id));
    for (let cursor = first.nextCursor; cursor !== null; ) {
      const page = await owner.trpc.keys.list.query({ cursor, limit: 700 });
      expect(page.keys.length).toBeLessThanOrEqual(700);
      for (const { id } of page.keys) seen.add(id);
      cursor = page.nextCursor;
    }
    expect(seen.size).toBe(2_501);
    await expect(owner.trpc.keys.list.query({ cursor: "active~1" })).rejects.toThrow("nextCursor");
    // Neither does a rotation go through all of them.
    expect((await owner.trpc.keys.rotate.mutate({ id: owner.id })).name).toBe("test 2");
  });
});

describe("an export that is under way", () => {
  it.each([
    ["a key", async () => await reader.trpc.keys.create.mutate({ name: "auditor" })],
    [
      "a management token",
      async () => {
        const { id, token } = await reader.trpc.tokens.create.mutate({ name: "auditor" });
        return { id, key: token };
      },
    ],
  ] as const)("ends when %s is revoked", async (kind, create) => {
    const { id, key } = await create();
    const response = await fetch(`${service.baseUrl}/v1/audit/export`, {
      headers: { authorization: `Bearer ${key}`, "accept-encoding": "identity" },
    });
    const body = response.body?.getReader();
    expect([response.status, (await body?.read())?.done]).toEqual([200, false]);
    if (kind === "a key") await reader.trpc.keys.revoke.mutate({ id });
    else await reader.trpc.tokens.revoke.mutate({ id });
    const readRest = async () => {
      while ((await body?.read())?.done === false);
    };
    await expect(readRest()).rejects.toThrow();
    // That is no fault of the service.
    expect(service.stderr()).not.toContain("internal_error");
    if (kind !== "a key") return;
    const { entries } = await reader.trpc.audit.list.query({ key: id });
    expect(entries).toMatchObject([
      {
        endpoint: "GET /v1/audit/export",
        status: 200,
        errorCode: "revoked_api_key",
        endReason: "refused",
      },
    ]);
  });
});
