import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { AccountId } from "../../server/src/contract/account.ts";
import { openDatabase } from "../../server/src/database/database.ts";
import { toFailure } from "../../server/src/errors/failure.ts";
import {
  MAX_CHAIN_LENGTH,
  MAX_ITEM_REFERENCES,
  MAX_REFERABLE_ITEMS,
  ResponseStore,
} from "../../server/src/responses/response-store.ts";
import { Sealer } from "../../server/src/secrets/sealer.ts";
import { SNIPPETS } from "../documents/snippets.ts";
import { sendChat } from "../fixtures/request.ts";
import { accountIdOf, type OpenResponseStore, responseOf } from "../fixtures/responses.ts";
import type { Service } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { answerOf, failureOf, type StoringService, startStoringService } from "./storing-service.ts";

const storing = sharedByFile(startStoringService);
let service: Service;
let stored: OpenResponseStore;
let accountId: AccountId;
let ask: StoringService["ask"];
let save: StoringService["save"];

beforeAll(async () => {
  ({ service, stored, accountId, ask, save } = storing);
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
    expect(failure.message).toMatch(/`resp_missing`\. Send the full history\.$/);
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
    expect(failure.message).toMatch(/`msg_missing_1`\. Send the full history\.$/);
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

  it("are those of the newest response that has put them out, and otherwise of the newest that was sent them", async () => {
    const id = `msg_${crypto.randomUUID()}`;
    const item = (text: string) => ({ id, type: "message", text });
    const textOf = async () => (await stored.store.items(accountId, [id])).get(id)?.text;
    const sent = async (text: string) =>
      stored.store.save(accountId, { ...responseOf(text), input: [item(text)] });
    const putOut = async (text: string) => {
      const kept = responseOf(text);
      await stored.store.save(accountId, { ...kept, response: { ...kept.response, output: [item(text)] } });
    };
    for (const text of ["sent", "sent again"]) await sent(text);
    expect(await textOf()).toBe("sent again");
    for (const text of ["put out", "put out again"]) await putOut(text);
    await sent("sent later");
    expect(await textOf()).toBe("put out again");
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

  it("keeps nothing of the answers to an account after the statements of the how-to, and executes no request again", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const id = await accountIdOf(owner);
    const kept = responseOf("of an account");
    await stored.store.save(id, kept);
    const other = await save("of another account");
    const repeat = () => sendChat(service.baseUrl, owner.key, {}, { headers: { "idempotency-key": "once" } });
    expect((await repeat()).status).toBe(200);
    const snippet = SNIPPETS.find(
      ({ document, language }) => document === "docs/how-to/keep-responses.md" && language === "sql",
    );
    if (snippet === undefined) throw new Error("the how-to has no statements");
    await stored.sql.unsafe(snippet.code.replaceAll("00000000-0000-0000-0000-000000000000", id));
    expect((await ask(kept.id, { key: owner.key })).status).toBe(404);
    expect(await stored.sql`select from response_items where account_id = ${id}`).toHaveLength(0);
    expect((await ask(other.id)).status).toBe(200);
    const refused = await answerOf(repeat());
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "idempotent_answer_gone" } } });
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
