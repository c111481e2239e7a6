import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { Failure, toFailure } from "../../server/src/errors/failure.ts";
import {
  MAX_CHAIN_LENGTH,
  MAX_ITEM_REFERENCES,
  MAX_REFERABLE_ITEMS,
  ResponseStore,
} from "../../server/src/responses/response-store.ts";
import { Sealer } from "../../server/src/secrets/sealer.ts";
import { accountIdOf, type OpenResponseStore, openResponseStore, responseOf } from "../fixtures/responses.ts";
import { RUNTIME, runToExit, type Service, startService } from "../fixtures/service.ts";
import { type Owner, signUpWithKey } from "../fixtures/user.ts";

const isDistributed =
  process.env.OSTIARY_TEST_REDIS_URL !== undefined && process.env.OSTIARY_TEST_DATABASE_URL !== undefined;
const CLOCK = new URL("../fixtures/shifted-clock.mjs", import.meta.url).href;

let service: Service;
let stored: OpenResponseStore;
let owner: Owner & { readonly key: string };
let accountId: AccountId;

beforeAll(async () => {
  service = await startService();
  stored = await openResponseStore(service);
  owner = await signUpWithKey(service.baseUrl);
  accountId = await accountIdOf(owner);
});

afterAll(async () => {
  await stored?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

interface Asked {
  readonly method?: string;
  readonly key?: string;
  readonly at?: string;
}

function ask(path: string, { method = "GET", key = owner.key, at = service.baseUrl }: Asked = {}) {
  return fetch(`${at}/v1/responses/${path}`, { method, headers: { authorization: `Bearer ${key}` } });
}

/** The status and body of an answer. */
async function answerOf(asked: Promise<Response>) {
  const response = await asked;
  return { status: response.status, body: await response.json() };
}

/** The failure that a promise rejects with. */
async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const thrown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Failure)) throw new Error("there was no failure", { cause: thrown });
  return thrown;
}

async function save(text: string, previousResponseId: string | null = null) {
  const kept = responseOf(text, previousResponseId);
  await stored.store.save(accountId, kept);
  return kept;
}

/** The environment of a service that deletes what is old all the time. */
const OFTEN = { NODE_OPTIONS: `--import=${CLOCK}`, TEST_HOURLY_EVERY_MS: "100" };

function inheritance({ dataDir, databaseUrl }: Service) {
  return { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) };
}

describe("a stored response", () => {
  it("is returned as it was stored, with its fields in their order", async () => {
    const kept = await save("hello \ud800 ✓");
    const response = await ask(kept.id);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(JSON.stringify(kept.response));
    expect((await ask(kept.id, { method: "HEAD" })).status).toBe(200);
    expect((await ask(`${kept.id}?include[]=a&include[]=b&stream=false`)).status).toBe(200);
    expect((await ask(`${kept.id}/`)).status).toBe(200);
  });

  it("stays as it is when its id is stored again", async () => {
    const kept = await save("first");
    await stored.store.save(accountId, { ...kept, response: { ...kept.response, model: "another" } });
    expect((await answerOf(ask(kept.id))).body).toEqual(kept.response);
  });

  it("is not streamed again", async () => {
    const { id } = await save("streamed");
    for (const [query, param] of [
      ["stream=true", "stream"],
      ["stream=1", "stream"],
      ["starting_after=3", "starting_after"],
      ["nonsense=1", "nonsense"],
    ]) {
      const { status, body } = await answerOf(ask(`${id}?${query}`));
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_request", param]);
    }
  });

  it("needs a key", async () => {
    const { id } = await save("private");
    for (const [path, method] of [
      [id, "GET"],
      [`${id}/input_items`, "GET"],
      [id, "DELETE"],
    ] as const) {
      const response = await fetch(`${service.baseUrl}/v1/responses/${path}`, { method });
      expect(response.status).toBe(401);
    }
    expect((await ask(id)).status).toBe(200);
  });

  it("is deleted once, with its items", async () => {
    const kept = await save("to be deleted");
    const later = await save("later", kept.id);
    const itemId = `msg_out_${kept.id}`;
    expect((await stored.store.items(accountId, [itemId])).size).toBe(1);
    expect(await answerOf(ask(kept.id, { method: "DELETE" }))).toEqual({
      status: 200,
      body: { id: kept.id, object: "response.deleted", deleted: true },
    });
    for (const path of [kept.id, `${kept.id}/input_items`]) expect((await ask(path)).status).toBe(404);
    expect((await ask(kept.id, { method: "DELETE" })).status).toBe(404);
    expect((await failureOf(stored.store.items(accountId, [itemId]))).message).toContain(itemId);
    // What continues it is still there, but can't be continued itself.
    expect((await ask(later.id)).status).toBe(200);
    expect((await failureOf(stored.store.history(accountId, later.id))).message).toContain(kept.id);
    const rows = await stored.sql`select from response_items where response_id = ${kept.id}`;
    expect(rows).toHaveLength(0);
  });

  it("is refused alike to another account and where there is none", async () => {
    const { id } = await save("of this account");
    const stranger = await signUpWithKey(service.baseUrl);
    const strangerId = await accountIdOf(stranger);
    const unknown = `resp_${"0".repeat(id.length - 5)}`;
    for (const [path, method] of [
      ["", "GET"],
      ["/input_items", "GET"],
      ["", "DELETE"],
    ] as const) {
      const theirs = await answerOf(ask(`${id}${path}`, { method, key: stranger.key }));
      const nobodys = await answerOf(ask(`${unknown}${path}`, { method, key: stranger.key }));
      expect(theirs.status).toBe(404);
      expect(theirs.body.error).toMatchObject({ type: "invalid_request_error", code: "not_found" });
      expect(JSON.stringify(theirs).replaceAll(id, "X")).toBe(
        JSON.stringify(nobodys).replaceAll(unknown, "X"),
      );
    }
    const [mine, none] = [
      await failureOf(stored.store.history(strangerId, id)),
      await failureOf(stored.store.history(strangerId, unknown)),
    ];
    expect(mine.message.replace(id, "X")).toBe(none.message.replace(unknown, "X"));
    await failureOf(stored.store.items(strangerId, [`msg_out_${id}`]));
    expect((await ask(id)).status).toBe(200);
  });

  it.each(["a%00b", "a%2Fb", "%F0%9F%98%80", "x".repeat(5_000), "null", "%27%3B--", "resp_%E2%80%AE"])(
    "has no id like %s",
    async (id) => {
      for (const method of ["GET", "DELETE"]) {
        const { status, body } = await answerOf(ask(id, { method }));
        expect([status, body.error.code]).toEqual([404, "not_found"]);
      }
      const decoded = decodeURIComponent(id);
      expect((await failureOf(stored.store.history(accountId, decoded))).code).toBe("not_found");
      expect((await failureOf(stored.store.items(accountId, [decoded]))).code).toBe("not_found");
    },
  );
});

describe("input items", () => {
  const ids = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);

  it("are paged in both orders, the last first by default", async () => {
    const kept = responseOf("paged");
    const input = Array.from({ length: 45 }, (_, number) => ({ id: `item_${number}`, type: "message" }));
    await stored.store.save(accountId, { ...kept, input });
    const path = `${kept.id}/input_items`;
    const { body: first } = await answerOf(ask(path));
    expect(first).toMatchObject({ object: "list", first_id: "item_44", last_id: "item_25", has_more: true });
    expect(first.data).toHaveLength(20);
    const { body: second } = await answerOf(ask(`${path}?after=item_25`));
    const { body: third } = await answerOf(ask(`${path}?after=${second.last_id}&include[]=x`));
    expect(third).toMatchObject({ last_id: "item_0", has_more: false });
    const all = [first, second, third].flatMap(ids);
    expect(all).toEqual(input.map(({ id }) => id).toReversed());
    const { body: whole } = await answerOf(ask(`${path}?limit=100&order=asc`));
    expect(whole).toMatchObject({ data: input, has_more: false });
    const { body: beyond } = await answerOf(ask(`${path}?order=asc&after=item_44`));
    expect(beyond).toEqual({ object: "list", data: [], first_id: null, last_id: null, has_more: false });
    const { body: exact } = await answerOf(ask(`${path}?order=asc&limit=1&after=item_43`));
    expect(exact).toMatchObject({ first_id: "item_44", has_more: false });
  });

  it.each([
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=1.5", "limit"],
    ["limit=", "limit"],
    ["order=up", "order"],
    ["after=unknown", "after"],
    ["after=a%00", "after"],
    ["before=x", "before"],
    ["limit=1&limit=2", "limit"],
  ])("are refused with %s", async (query, param) => {
    const { id } = await save("asked wrongly");
    const { status, body } = await answerOf(ask(`${id}/input_items?${query}`));
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_request", param]);
  });
});

describe("a history", () => {
  it("has the items of the whole chain, oldest first, and their size", async () => {
    const first = await save("one");
    const second = await save("two", first.id);
    await save("another branch", first.id);
    const third = await save("three", second.id);
    const { items, bytes } = await stored.store.history(accountId, third.id);
    const chain = [first, second, third].flatMap(({ input, response }) => [input, response.output]);
    expect(items).toEqual(chain.flat());
    const sizes = chain.map((part) => Buffer.byteLength(JSON.stringify(part)));
    expect(bytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
    expect((await stored.store.history(accountId, first.id)).items).toHaveLength(2);
  });

  it("names what is missing, and says what to do", async () => {
    const failure = await failureOf(stored.store.history(accountId, "resp_missing"));
    expect(failure).toMatchObject({ code: "not_found", status: 404, param: "previous_response_id" });
    expect(failure.message).toMatch(/`resp_missing`.*Send the full history, or set `store: false`/);
  });

  it("is bounded in bytes and in length", async () => {
    const first = await save("x".repeat(10_000));
    const second = await save("y".repeat(10_000), first.id);
    const { bytes } = await stored.store.history(accountId, second.id);
    expect((await stored.with({ maxHistoryBytes: bytes }).history(accountId, second.id)).bytes).toBe(bytes);
    const narrow = stored.with({ maxHistoryBytes: bytes - 1 });
    const failure = await failureOf(narrow.history(accountId, second.id));
    expect(failure).toMatchObject({ code: "request_too_large", param: "previous_response_id" });
    expect((await narrow.history(accountId, first.id)).items).toHaveLength(2);

    let last: string | null = null;
    for (let length = 0; length < MAX_CHAIN_LENGTH; length++) last = (await save("", last)).id;
    const { items } = await stored.store.history(accountId, last ?? "");
    expect(items).toHaveLength(2 * MAX_CHAIN_LENGTH);
    const { id } = await save("one too many", last);
    expect(await failureOf(stored.store.history(accountId, id))).toMatchObject({ code: "invalid_request" });
  });
});

describe("referenced items", () => {
  it("are found among input and output, by id", async () => {
    const [one, two] = [await save("one"), await save("two")];
    const ids = [`msg_in_${one.id}`, `msg_out_${one.id}`, `msg_out_${two.id}`];
    const items = await stored.store.items(accountId, [...ids, ...ids]);
    expect([...items.keys()].toSorted()).toEqual(ids.toSorted());
    expect(items.get(`msg_in_${one.id}`)).toEqual(one.input[0]);
    expect(items.get(`msg_out_${two.id}`)).toEqual((two.response.output as unknown[])[0]);
    expect((await stored.store.items(accountId, [])).size).toBe(0);
  });

  it("are what a response has put out, although a later request claims the id for other content", async () => {
    const real = await save("real");
    const id = `msg_out_${real.id}`;
    const forged = { ...responseOf("forged"), input: [{ id, type: "message", content: "forged" }] };
    await stored.store.save(accountId, forged);
    expect((await stored.store.items(accountId, [id])).get(id)).toEqual(
      (real.response.output as unknown[])[0],
    );
    // Each response has its own copy, so the other one stays when the first is deleted.
    await stored.store.delete(accountId, real.id);
    expect((await stored.store.items(accountId, [id])).get(id)).toEqual(forged.input[0]);
  });

  it("are refused naming the first unknown id in their order", async () => {
    const { id } = await save("known");
    const failure = await failureOf(
      stored.store.items(accountId, [`msg_out_${id}`, "msg_missing_1", "msg_missing_0"]),
    );
    expect(failure).toMatchObject({ code: "not_found", status: 404, param: "input" });
    expect(failure.message).toMatch(/`msg_missing_1`.*Send the full history, or set `store: false`/);
  });

  it("are the last of a response with very many", async () => {
    const kept = responseOf("with very many items");
    const input = Array.from({ length: MAX_REFERABLE_ITEMS + 1 }, (_, number) => ({ id: `many_${number}` }));
    await stored.store.save(accountId, { ...kept, input });
    const rows = await stored.sql`select from response_items where response_id = ${kept.id}`;
    expect(rows).toHaveLength(MAX_REFERABLE_ITEMS);
    const ids = [`msg_out_${kept.id}`, `many_${MAX_REFERABLE_ITEMS}`, "many_2"];
    expect((await stored.store.items(accountId, ids)).size).toBe(3);
    expect((await failureOf(stored.store.items(accountId, ["many_1"]))).code).toBe("not_found");
    // All of them are part of its history.
    const { items } = await stored.store.history(accountId, kept.id);
    expect(items).toHaveLength(MAX_REFERABLE_ITEMS + 2);
    expect(await stored.store.delete(accountId, kept.id)).toBe(true);
  });

  it("are bounded in number and bytes", async () => {
    const many = Array.from({ length: MAX_ITEM_REFERENCES + 1 }, (_, number) => `msg_${number}`);
    expect((await failureOf(stored.store.items(accountId, many))).code).toBe("invalid_request");
    expect((await failureOf(stored.store.items(accountId, many.slice(1)))).code).toBe("not_found");
    const kept = await save("z".repeat(100_000));
    const narrow = stored.with({ maxHistoryBytes: 1_000 });
    const failure = await failureOf(narrow.items(accountId, [`msg_in_${kept.id}`]));
    expect(failure).toMatchObject({ code: "request_too_large", param: "input" });
  });
});

describe("a response past its TTL", () => {
  it.each([
    ["the one that it was stored with", "expires_at = now() - interval '1 second'"],
    ["the present one", "created_at = now() - interval '31 days', expires_at = now() + interval '10 days'"],
  ])("(%s) is unknown before it is deleted", async (_, change) => {
    const kept = await save("old");
    expect((await ask(kept.id)).status).toBe(200);
    await stored.sql.unsafe(`update responses set ${change} where id = '${kept.id}'`);
    for (const method of ["GET", "DELETE"]) expect((await ask(kept.id, { method })).status).toBe(404);
    await failureOf(stored.store.history(accountId, kept.id));
    await failureOf(stored.store.items(accountId, [`msg_out_${kept.id}`]));
    expect(await stored.sql`select from responses where id = ${kept.id}`).toHaveLength(1);
  });

  // The clock is shifted by an option of Node's.
  it.skipIf(RUNTIME === "deno")(
    "is deleted in the background, and with a TTL of 0 every response is",
    async () => {
      await using first = await startService({ env: OFTEN });
      await using own = await openResponseStore(first);
      const someone = await signUpWithKey(first.baseUrl);
      const id = await accountIdOf(someone);
      const [old, young] = [responseOf("old"), responseOf("young")];
      await own.store.save(id, old);
      await own.store.save(id, young);
      await own.sql`update responses set expires_at = now() where id = ${old.id}`;
      const left = async () =>
        (await own.sql<{ id: string }[]>`select id from responses`).map((row) => row.id);
      await expect.poll(left).toEqual([young.id]);
      expect(await own.sql`select from response_items where response_id = ${old.id}`).toHaveLength(0);
      expect((await ask(young.id, { at: first.baseUrl, key: someone.key })).status).toBe(200);
      await first.stop();

      await using none = await startService({
        ...inheritance(first),
        env: { ...OFTEN, OSTIARY_RESPONSES_TTL_DAYS: "0" },
      });
      await using after = await openResponseStore(none);
      const rows = () => after.sql`select from responses`;
      await expect.poll(rows).toHaveLength(0);
    },
  );

  it.skipIf(RUNTIME === "deno")("is not judged by a node's wrong clock", async () => {
    const ahead = String(400 * 24 * 60 * 60_000);
    await using first = await startService({
      env: { ...OFTEN, TEST_CLOCK_AHEAD_MS: ahead, OSTIARY_LOG: "silent" },
    });
    await using own = await openResponseStore(first);
    const someone = await signUpWithKey(first.baseUrl);
    const kept = responseOf("young");
    await own.store.save(await accountIdOf(someone), kept);
    expect((await ask(kept.id, { at: first.baseUrl, key: someone.key })).status).toBe(200);
  });
});

describe("a service with a TTL of 0", () => {
  it("stores nothing and says so", async () => {
    await using none = await startService({ env: { OSTIARY_RESPONSES_TTL_DAYS: "0" } });
    await using own = await openResponseStore(none);
    const someone = await signUpWithKey(none.baseUrl);
    const id = await accountIdOf(someone);
    expect((await someone.trpc.account.get.query()).responsesTtlDays).toBe(0);
    expect((await owner.trpc.account.get.query()).responsesTtlDays).toBe(30);
    const kept = responseOf("of a service that stored it before");
    await own.store.save(id, kept);
    const store = own.with({ ttlDays: 0 });
    expect([own.store.isKeeping, store.isKeeping]).toEqual([true, false]);
    await store.save(id, responseOf("not stored"));
    expect(await own.sql`select from responses`).toHaveLength(1);
    for (const [path, method] of [
      [kept.id, "GET"],
      [`${kept.id}/input_items`, "GET"],
      [kept.id, "DELETE"],
    ] as const) {
      const { status, body } = await answerOf(ask(path, { method, at: none.baseUrl, key: someone.key }));
      expect(status).toBe(404);
      expect(body.error.message).toContain("This service stores no responses");
    }
    const failures = [
      await failureOf(store.history(id, kept.id)),
      await failureOf(store.items(id, [`msg_out_${kept.id}`])),
    ];
    for (const { code, message } of failures) {
      expect(code).toBe("not_found");
      expect(message).toMatch(/This service stores no responses.*Send the full history/);
    }
  });
});

describe("the key of stored responses", () => {
  it("can be replaced; without the former one its responses are unknown, which is logged once", async () => {
    const [former, present] = [randomBytes(32), randomBytes(32)];
    const first = await startService({
      env: { OSTIARY_RESPONSES_KEY: former.toString("base64") },
      fromNothing: true,
    });
    let later: Service | null = null;
    try {
      const someone = await signUpWithKey(first.baseUrl);
      const id = await accountIdOf(someone);
      const kept = [responseOf("one"), responseOf("two")];
      {
        await using own = await openResponseStore(first, former);
        for (const response of kept) await own.store.save(id, response);
        const [row] = await own.sql`select responses_key from installation`;
        expect(row?.responses_key).toBeNull();
      }
      const statuses = async ({ baseUrl }: Service) =>
        Promise.all(
          kept.map(async (response) => (await ask(response.id, { at: baseUrl, key: someone.key })).status),
        );
      expect(await statuses(first)).toEqual([200, 200]);
      await first.stop();

      later = await startService({
        ...inheritance(first),
        env: { OSTIARY_RESPONSES_KEY: present.toString("hex") },
      });
      expect(await statuses(later)).toEqual([404, 404]);
      const unreadable = await answerOf(ask(kept[0]?.id ?? "", { at: later.baseUrl, key: someone.key }));
      const unknown = await answerOf(ask("resp_unknown", { at: later.baseUrl, key: someone.key }));
      expect(JSON.stringify(unreadable).replace(kept[0]?.id ?? "", "resp_unknown")).toBe(
        JSON.stringify(unknown),
      );
      expect(later.stderr().match(/cannot be decrypted/g)).toHaveLength(1);
      {
        await using own = await openResponseStore(later, present);
        expect(await failureOf(own.store.history(id, kept[0]?.id ?? ""))).toMatchObject({
          code: "not_found",
        });
        const reference = own.store.items(id, [`msg_out_${kept[0]?.id}`]);
        expect(await failureOf(reference)).toMatchObject({ code: "not_found" });
      }
      // They can still be deleted.
      expect(
        (await ask(kept[1]?.id ?? "", { method: "DELETE", at: later.baseUrl, key: someone.key })).status,
      ).toBe(200);
      await later.stop();

      const keys = [present, former].map((key) => key.toString("base64")).join(", ");
      later = await startService({ ...inheritance(first), env: { OSTIARY_RESPONSES_KEY: keys } });
      expect(await statuses(later)).toEqual([200, 404]);
      expect(later.stderr()).not.toContain("cannot be decrypted");
    } finally {
      await later?.[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    }
  });

  it("can be set when the installation's own was used before", async () => {
    await using first = await startService();
    const someone = await signUpWithKey(first.baseUrl);
    const kept = responseOf("sealed by the installation");
    {
      await using own = await openResponseStore(first);
      await own.store.save(await accountIdOf(someone), kept);
    }
    await first.stop();
    await using later = await startService({
      ...inheritance(first),
      env: { OSTIARY_RESPONSES_KEY: randomBytes(32).toString("base64url") },
    });
    expect((await ask(kept.id, { at: later.baseUrl, key: someone.key })).status).toBe(200);
  });

  it("is refused unless it has 32 bytes, without being shown", async () => {
    for (const wrong of [
      "secret-of-the-operator",
      randomBytes(31).toString("hex"),
      `${randomBytes(32).toString("hex")},`,
    ]) {
      const { code, stderr } = await runToExit({
        env: { OSTIARY_RESPONSES_KEY: wrong, OSTIARY_RESPONSES_TTL_DAYS: "3651", DATABASE_URL: undefined },
      });
      expect(code).toBe(1);
      expect(stderr).toMatch(/OSTIARY_RESPONSES_KEY: must be 32 random bytes/);
      expect(stderr).toMatch(/OSTIARY_RESPONSES_TTL_DAYS: must be a whole number from 0 to 3650/);
      expect(stderr).not.toContain(wrong);
    }
  });
});

describe("the database", () => {
  it("contains no plain text of prompts and answers", async () => {
    const secret = `secret-${crypto.randomUUID()}`;
    const kept = await save(secret);
    const rows = await stored.sql<{ text: string }[]>`
      select row_to_json(responses)::text as text from responses where id = ${kept.id}
      union all select row_to_json(response_items)::text from response_items where response_id = ${kept.id}`;
    const text = rows.map((row) => row.text).join("\n");
    const hex = (plain: string) => Buffer.from(plain).toString("hex");
    // The search finds what is there.
    expect(text).toContain(kept.id);
    const [sealed] = await stored.sql<{ head: Buffer }[]>`select head from responses where id = ${kept.id}`;
    expect(text).toContain(sealed?.head.toString("hex"));
    for (const plain of [secret, "sandbox/echo", "input_text", "assistant"]) {
      expect(text).not.toContain(plain);
      expect(text).not.toContain(hex(plain));
    }
    expect(JSON.stringify((await answerOf(ask(kept.id))).body)).toContain(secret);
  });

  it("does not pass content to another account or response whose row it was copied to", async () => {
    const stranger = await signUpWithKey(service.baseUrl);
    const [kept, other] = [await save("copied"), await save("target")];
    await stored.sql`
      insert into responses (account_id, id, expires_at, head, input, output)
      select ${await accountIdOf(stranger)}, id, expires_at, head, input, output from responses where id = ${kept.id}`;
    expect((await ask(kept.id, { key: stranger.key })).status).toBe(404);
    await stored.sql`
      update responses set output = copied.output from responses copied
      where responses.id = ${other.id} and copied.id = ${kept.id} and copied.account_id = ${accountId}`;
    expect((await ask(other.id)).status).toBe(404);
    expect((await ask(kept.id)).status).toBe(200);
  });

  it("deletes responses with their account", async () => {
    const gone = crypto.randomUUID() as AccountId;
    await stored.sql`insert into accounts (id, name, created_at) values (${gone}, 'Gone', now())`;
    const kept = responseOf("of an account");
    await stored.store.save(gone, kept);
    expect(await stored.sql`select from response_items where account_id = ${gone}`).toHaveLength(2);
    await stored.sql`delete from accounts where id = ${gone}`;
    expect(await stored.sql`select from responses where account_id = ${gone}`).toHaveLength(0);
    expect(await stored.sql`select from response_items where account_id = ${gone}`).toHaveLength(0);
  });

  it("that does not answer makes each method fail as unavailable", async () => {
    const database = openDatabase(
      { url: "postgres://ostiary@127.0.0.1:1/none" },
      { maxConnections: 1, connectTimeoutS: 1 },
    );
    const store = new ResponseStore({
      database,
      maxConnections: 1,
      sealer: new Sealer([randomBytes(32)]),
      ttlDays: 30,
      maxHistoryBytes: 1_000,
      onUnreadable: () => {},
    });
    const outcomes = await Promise.allSettled([
      store.save(accountId, responseOf("lost")),
      store.find(accountId, "resp_1"),
      store.delete(accountId, "resp_1"),
      store.history(accountId, "resp_1"),
      store.items(accountId, ["msg_1"]),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") throw new Error("nothing can have been answered");
      expect(toFailure(outcome.reason)).toMatchObject({ code: "server_is_overloaded", status: 503 });
    }
    await database.end();
  });
});

describe("routes of the Responses API that are not served", () => {
  it.each([
    ["POST", "/v1/responses/compact", "Compaction"],
    ["POST", "/v1/responses/input_tokens", "usage"],
    ["POST", "/v1/responses/resp_1/cancel", "background"],
    ["POST", "/v1/alpha/search", "Search"],
  ])("%s %s is answered 404 with what to do instead", async (method, path, hint) => {
    const { status, body } = await answerOf(
      fetch(`${service.baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${owner.key}` },
        body: "{}",
      }),
    );
    expect([status, body.error.code]).toEqual([404, "not_found"]);
    expect(body.error.message).toContain(hint);
  });

  it("differ from a method that a served path does not take", async () => {
    const response = await ask("resp_1", { method: "PUT" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD, DELETE");
  });
});

describe.skipIf(!isDistributed)("several nodes", () => {
  it("share responses, and the key that the first of them has made", async () => {
    await using first = await startService();
    const databaseUrl = first.databaseUrl ?? "";
    await using second = await startService({ databaseUrl });
    const someone = await signUpWithKey(first.baseUrl);
    const id = await accountIdOf(someone);
    await using own = await openResponseStore(first);
    const kept = responseOf("shared");
    await own.store.save(id, kept);
    for (const { baseUrl: at } of [first, second]) {
      expect((await answerOf(ask(kept.id, { at, key: someone.key }))).body).toEqual(kept.response);
    }
    expect((await ask(kept.id, { method: "DELETE", at: second.baseUrl, key: someone.key })).status).toBe(200);
    expect((await ask(kept.id, { at: first.baseUrl, key: someone.key })).status).toBe(404);
  });
});
