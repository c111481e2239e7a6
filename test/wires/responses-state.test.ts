import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openDatabaseOf } from "../fixtures/database.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { eventsOf, expectResponseStream, type ResponseEvent } from "./response-stream.ts";
import {
  answersMessage,
  CREDENTIAL,
  chunk,
  type ResponsesService,
  sentTo,
  startResponsesService,
  streamsChunks,
  USAGE,
} from "./responses-service.ts";

const running = sharedByFile(startResponsesService);

const get = async (path: string, key = running.key) => {
  const headers = { authorization: `Bearer ${key}` };
  return await fetch(`${running.service.baseUrl}/v1/responses/${path}`, { headers });
};
const texts = () => sentTo(running.chat).messages.map((message: ResponseEvent) => message.content);
const says = (content: string) => {
  running.answers.chat = answersMessage({ content });
};

describe("a stored response", () => {
  it("is stored before its last event is sent, as it was sent", async () => {
    running.answers.chat = streamsChunks([chunk({ content: "one" }), chunk({}, "stop", USAGE)]);
    const response = expectResponseStream(await running.stream({ input: "first" }));
    expect(response.store).toBe(true);
    expect(await (await get(response.id)).json()).toEqual(response);
    const items = await (await get(`${response.id}/input_items`)).json();
    expect(items.data).toMatchObject([
      {
        id: expect.stringMatching(/^msg_/),
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "first" }],
      },
    ]);
  });

  it.each(["whole", "streamed"])("has no credential that its upstream has quoted (%s)", async (how) => {
    const quoted = `you sent ${CREDENTIAL}`;
    if (how === "whole") says(quoted);
    else running.answers.chat = streamsChunks([chunk({ content: quoted }), chunk({}, "stop", USAGE)]);
    const response =
      how === "whole"
        ? await running.ask({ input: "first" })
        : expectResponseStream(await running.stream({ input: "first" }));
    const stored = await (await get(response.id)).text();
    expect(stored).toContain("you sent [credential]");
    expect(stored).not.toContain(CREDENTIAL);
    // Nor has the model's next turn, which contains the stored one.
    says("two");
    await running.ask({ input: "second", previous_response_id: response.id });
    expect(texts()).toEqual(["first", "you sent [credential]", "second"]);
  });

  it("is continued by its id, without its instructions", async () => {
    says("two");
    const first = await running.ask({ input: "one", instructions: "be first" });
    says("four");
    const second = await running.ask({
      input: "three",
      instructions: "be second",
      previous_response_id: first.id,
    });
    expect(second.previous_response_id).toBe(first.id);
    says("six");
    const third = await running.ask({ input: "five", previous_response_id: second.id });
    expect(texts()).toEqual(["one", "two", "three", "four", "five"]);
    // Each response has its own input only.
    const items = await (await get(`${third.id}/input_items`)).json();
    expect(items.data).toHaveLength(1);
  });

  it.each([undefined, null, []])(
    "is continued without anything new, as with an input of %s",
    async (input) => {
      says("two");
      const { id } = await running.ask({ input: "one" });
      says("and more");
      const { output, status } = await running.ask({ previous_response_id: id, input });
      expect(status).toBe("completed");
      expect(output[0].content[0].text).toBe("and more");
      expect(sentTo(running.chat).messages).toEqual([
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
      ]);
    },
  );

  it("has items that a request may refer to, as the AI SDK does in its second turn", async () => {
    running.answers.chat = streamsChunks([
      chunk({ reasoning_content: "hmm" }),
      chunk({ content: "two" }),
      chunk({}, "stop", USAGE),
    ]);
    const { output } = expectResponseStream(await running.stream({ input: "one" }));
    says("four");
    const answer = await running.post({
      input: [
        { role: "user", content: "one" },
        ...output.map(({ id }: ResponseEvent) => ({ type: "item_reference", id })),
        { role: "user", content: "three" },
      ],
    });
    expect(answer.status).toBe(200);
    expect(texts()).toEqual(["one", "two", "three"]);
  });

  it("is not stored with store: false", async () => {
    says("two");
    const response = await running.ask({ input: "one", store: false });
    expect(response.store).toBe(false);
    expect((await get(response.id)).status).toBe(404);
  });

  it("can be deleted, and is then unknown to requests that continue it", async () => {
    says("two");
    const { id } = await running.ask({ input: "one" });
    const headers = { authorization: `Bearer ${running.key}` };
    await fetch(`${running.service.baseUrl}/v1/responses/${id}`, { method: "DELETE", headers });
    const answer = await running.post({ input: "three", previous_response_id: id });
    expect(answer.status).toBe(404);
    expect((await answer.json()).error).toMatchObject({
      param: "previous_response_id",
      type: "invalid_request_error",
      message: expect.stringContaining(id),
    });
  });

  it("is unknown to other accounts, its items too", async () => {
    says("two");
    const response = await running.ask({ input: "one" });
    const { key } = await signUpWithKey(running.service.baseUrl);
    const before = running.chat.received.length;
    const errorOf = async (body: object) => {
      const answer = await running.post(body, { key });
      expect(answer.status).toBe(404);
      return (await answer.json()).error;
    };
    const itemId = response.output[0].id;
    const refer = (id: string) => ({ input: [{ type: "item_reference", id }] });
    const foreign = await errorOf({ input: "three", previous_response_id: response.id });
    const unknown = await errorOf({ input: "three", previous_response_id: "resp_none" });
    expect(foreign.message.replace(response.id, "resp_none")).toBe(unknown.message);
    const foreignItem = await errorOf(refer(itemId));
    const unknownItem = await errorOf(refer("msg_none"));
    expect(foreignItem.message.replace(itemId, "msg_none")).toBe(unknownItem.message);
    expect(running.chat.received.length).toBe(before);
  });

  it("is not referred to twice by one request", async () => {
    says("two");
    const { output } = await running.ask({ input: "one" });
    const reference = { type: "item_reference", id: output[0].id };
    const answer = await running.post({ input: [reference, reference] });
    expect(answer.status).toBe(400);
    expect((await answer.json()).error.param).toBe("input.1.id");
  });

  it("keeps what namespaces and custom tools were called with", async () => {
    const tools = [
      { type: "namespace", name: "mcp__echo", description: "", tools: [{ type: "function", name: "say" }] },
      { type: "custom", name: "patch" },
    ];
    const call = (id: string, name: string, args: string) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    });
    running.answers.chat = answersMessage(
      { tool_calls: [call("a", "mcp__echo__say", "{}"), call("b", "patch", '{"input":"x"}')] },
      "tool_calls",
    );
    const first = await running.ask({ input: "go", tools });
    expect(first.output).toMatchObject([
      { type: "function_call", namespace: "mcp__echo", name: "say" },
      { type: "custom_tool_call", name: "patch", input: "x" },
    ]);
    says("ok");
    await running.ask({
      tools,
      previous_response_id: first.id,
      input: [
        { type: "function_call_output", call_id: "a", output: "1" },
        { type: "custom_tool_call_output", call_id: "b", output: "2" },
      ],
    });
    expect(sentTo(running.chat).messages[1].tool_calls).toMatchObject([
      { id: "a", function: { name: "mcp__echo__say" } },
      { id: "b", function: { name: "patch", arguments: '{"input":"x"}' } },
    ]);
  });

  it("ends although it can't be stored, and says so", async () => {
    await using sql = await openDatabaseOf(running.service);
    await sql`alter table responses rename to responses_away`;
    try {
      running.answers.chat = streamsChunks([chunk({ content: "one" }), chunk({}, "stop", USAGE)]);
      const events = await running.stream({ input: "first" });
      expect(events[0]?.response.store).toBe(true);
      expect(expectResponseStream(events)).toMatchObject({ status: "completed", store: false });
      says("two");
      expect(await running.ask({ input: "first" })).toMatchObject({ status: "completed", store: false });
    } finally {
      await sql`alter table responses_away rename to responses`;
    }
  });
});

/** Members, each with a name of its own, which cost the most to parse. */
const named = (count: number, prefix: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 0]));

describe("a history", () => {
  it("holds no more than a single body may, however many responses it comes from", async () => {
    says("ok");
    const large = (prefix: string) => [{ role: "user", content: "x", extra: named(60_000, prefix) }];
    const first = await running.ask({ input: large("a") });
    const second = await running.ask({ input: large("b") });
    expect([first.store, second.store]).toEqual([true, true]);
    const before = running.chat.received.length;
    const itemOf = async ({ id }: ResponseEvent) =>
      (await (await get(`${id}/input_items`)).json()).data[0].id;
    const references = [];
    for (const one of [first, second]) references.push({ type: "item_reference", id: await itemOf(one) });
    for (const [body, param] of [
      [{ input: large("c"), previous_response_id: first.id }, "previous_response_id"],
      [{ input: references }, "input"],
      [{ input: references.slice(1), previous_response_id: first.id }, "input"],
    ] as const) {
      const answer = await running.post(body);
      expect([answer.status, param]).toEqual([413, param]);
      expect((await answer.json()).error).toMatchObject({
        code: "request_too_large",
        param,
        message: expect.stringMatching(/new conversation/),
      });
    }
    expect(running.chat.received.length).toBe(before);
    const small = await running.ask({ input: "x", previous_response_id: first.id });
    expect(small.status).toBe("completed");
  });

  it("is not read for a model that is not in the catalog", async () => {
    for (const body of [
      { input: "x", previous_response_id: "resp_none" },
      { input: [{ type: "item_reference", id: "msg_none" }] },
    ]) {
      const answer = await running.post({ ...body, model: "acme/none" });
      expect(answer.status).toBe(404);
      expect((await answer.json()).error).toMatchObject({ code: "model_not_found", param: "model" });
    }
  });
});

describe("the id of an item", () => {
  it("may be the client's, and is not stored in plain text", async () => {
    says("two");
    const id = `msg_${running.key}`;
    const item = { type: "message", id, role: "user", content: "one" };
    const response = await running.ask({ input: [item] });
    await using sql = await openDatabaseOf(running.service);
    const rows = await sql<{ text: string }[]>`
      select row_to_json(response_items)::text as text from response_items where response_id = ${response.id}`;
    expect(rows).toHaveLength(2);
    for (const { text } of rows) {
      expect(text).not.toContain(running.key);
      expect(text).not.toContain(Buffer.from(running.key).toString("hex"));
    }
    says("three");
    const answer = await running.post({ input: [{ type: "item_reference", id }] });
    expect(answer.status).toBe(200);
    expect(texts()).toEqual(["one"]);
  });
});

describe("a request with an idempotency key", () => {
  it("is answered once, and the same again", async () => {
    says("once");
    const headers = { "idempotency-key": crypto.randomUUID() };
    const before = running.chat.received.length;
    const first = await (await running.post({ input: "go" }, { headers })).json();
    const again = await (await running.post({ input: "go" }, { headers })).json();
    expect(again).toEqual(first);
    expect(running.chat.received.length).toBe(before + 1);
  });

  it("gets the same answer when what it refers to was deleted", async () => {
    says("one");
    const { id, output } = await running.ask({ input: "one" });
    says("two");
    const bodies = [
      { input: "two", previous_response_id: id },
      { input: [{ type: "item_reference", id: output[0].id }] },
    ].map((body) => ({ body, headers: { "idempotency-key": crypto.randomUUID() } }));
    const first = [];
    for (const { body, headers } of bodies) first.push(await (await running.post(body, { headers })).json());
    expect(first.map(({ status }) => status)).toEqual(["completed", "completed"]);
    const headers = { authorization: `Bearer ${running.key}` };
    await fetch(`${running.service.baseUrl}/v1/responses/${id}`, { method: "DELETE", headers });
    const again = [];
    for (const { body, headers } of bodies) again.push(await (await running.post(body, { headers })).json());
    expect(again).toEqual(first);
  });

  it("can be sent again when its reference was not found", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const body = { input: "two", previous_response_id: "resp_none" };
    const codes = [];
    for (let time = 0; time < 2; time++) {
      codes.push((await (await running.post(body, { headers })).json()).error.code);
    }
    expect(codes).toEqual(["not_found", "not_found"]);
  });

  it("gets the same stream again", async () => {
    running.answers.chat = streamsChunks([chunk({ content: "once" }), chunk({}, "stop", USAGE)]);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const before = running.chat.received.length;
    const body = { input: "go", stream: true };
    const first = await (await running.post(body, { headers })).text();
    expect(expectResponseStream(eventsOf(first)).status).toBe("completed");
    expect(await (await running.post(body, { headers })).text()).toBe(first);
    expect(running.chat.received.length).toBe(before + 1);
  });

  it("leaves no plain text in the journal and the database", async () => {
    const secret = `secret-${crypto.randomUUID()}`;
    await using sql = await openDatabaseOf(running.service);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const tool = { type: "function", name: "look", description: secret, parameters: { type: "object" } };
    const body = { input: "go", instructions: secret, tools: [tool], metadata: { of: secret }, store: false };
    const digest = createHash("sha256").update(JSON.stringify({ model: "acme/chat", ...body }));
    const bodyDigest = digest.digest("base64");
    // The entry stays in the journal until the table is unlocked.
    let unlock = () => {};
    const unlocked = new Promise<void>((resolve) => {
      unlock = resolve;
    });
    let locked: Promise<unknown> = Promise.resolve();
    running.answers.chat = (request) => {
      locked = sql.transaction("", async (transaction) => {
        await transaction`lock table idempotent_requests in exclusive mode`;
        answersMessage({ content: `${secret} \0` })(request);
        await unlocked;
      });
    };
    const asked = running.post(body, { headers });
    try {
      await expect.poll(() => journalOf(running), { timeout: 10_000 }).toContain(bodyDigest);
      expect(await journalOf(running)).not.toContain(secret);
    } finally {
      unlock();
    }
    await locked;
    const first = await (await asked).text();
    expect(first).toContain(secret);
    const [row] = await sql<{ text: string; answer: string }[]>`
      select row_to_json(known)::text as text, answer from idempotent_requests known
      where body_digest = decode(${bodyDigest}, 'base64')`;
    expect(row?.answer.length).toBeGreaterThan(0);
    expect(row?.text).not.toContain(secret);
    const again = await running.post(body, { headers });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await again.text()).toBe(first);
  });
});

/** The text of all files in the journal's folder. */
async function journalOf({ service }: ResponsesService): Promise<string> {
  const folder = join(service.dataDir, "journal");
  const names = await readdir(folder);
  // Segments are deleted meanwhile.
  const texts = names.map((name) => readFile(join(folder, name), "utf8").catch(() => ""));
  return (await Promise.all(texts)).join("");
}
