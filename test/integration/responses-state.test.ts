import { beforeAll, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { accountIdOf, type OpenResponseStore, openResponseStore, responseOf } from "../fixtures/responses.ts";
import { RUNTIME, type Service, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import {
  answerOf,
  failureOf,
  inheritance,
  type StoringService,
  startStoringService,
} from "./storing-service.ts";

const CLOCK = new URL("../fixtures/shifted-clock.mjs", import.meta.url).href;

const storing = sharedByFile(startStoringService);
let service: Service;
let stored: OpenResponseStore;
let owner: StoringService["owner"];
let accountId: AccountId;
let ask: StoringService["ask"];
let save: StoringService["save"];

beforeAll(async () => {
  ({ service, stored, owner, accountId, ask, save } = storing);
});

/** The environment of a service that deletes what is old all the time. */
const OFTEN = { NODE_OPTIONS: `--import=${CLOCK}`, TEST_HOURLY_EVERY_MS: "100" };

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

describe("a response past its TTL", () => {
  it.each([
    ["the one that it was stored with", "expires_at = now() - interval '1 second'"],
    ["the present one", "created_at = now() - interval '31 days', expires_at = now() + interval '10 days'"],
  ])("(%s) is unknown before it is deleted", async (_, change) => {
    const kept = await save("old");
    const later = await save("later", kept.id);
    expect((await ask(kept.id)).status).toBe(200);
    await stored.sql.unsafe(`update responses set ${change} where id = '${kept.id}'`);
    for (const method of ["GET", "DELETE"]) expect((await ask(kept.id, { method })).status).toBe(404);
    for (const id of [kept.id, later.id])
      expect((await failureOf(stored.store.history(accountId, id))).message).toContain(kept.id);
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
    expect([own.store.isStoring, store.isStoring]).toEqual([true, false]);
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
