import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import {
  answersWhole,
  beginningOf,
  eventsOfUpstream,
  MESSAGE,
  THOUGHT,
  upstreamResponse,
} from "./native-responses.ts";
import { eventsOf, expectResponseStream, expectWhole, type ResponseEvent } from "./response-stream.ts";
import {
  chunk,
  sentTo,
  startResponsesService,
  streamsChunks,
  streamsEvents,
  USAGE,
} from "./responses-service.ts";

const running = sharedByFile(startResponsesService);

const streamsResponse = (fields: object = {}) => streamsEvents(eventsOfUpstream(upstreamResponse(fields)));
const ERROR = { type: "error", code: "rate_limit_exceeded", message: "no", param: null };
const native = (body: object) => ({ model: "acme/native", input: "hello", ...body });

describe("a response of an upstream with the Responses API", () => {
  it("goes through with all that the upstream has, under the model's public name", async () => {
    const inner = upstreamResponse({ output: [MESSAGE] });
    running.answers.native = answersWhole(inner);
    const response = await running.ask(native({ metadata: { a: "b" }, novelty: { deep: [1] } }));
    expectWhole(response);
    const id = expect.stringMatching(/^resp_[0-9a-f]{32}$/);
    expect(response).toEqual({ ...inner, id, model: "acme/native", store: true });
    expect(sentTo(running.native)).toEqual({
      model: "inner",
      input: "hello",
      metadata: { a: "b" },
      novelty: { deep: [1] },
      store: false,
      include: ["reasoning.encrypted_content"],
    });
  });

  it("is sent to the letter but for what the service decides", async () => {
    running.answers.native = answersWhole(upstreamResponse());
    const body = `{"model": "acme/native",  "input":[{"role":"user","content":"h\\u00e9"}],"temperature":1.0,"seed":12345678901234567890}`;
    await fetch(`${running.service.baseUrl}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${running.key}`, "content-type": "application/json" },
      body,
    });
    expect(running.native.received.at(-1)?.text).toBe(
      `{"model": "inner",  "input":[{"role":"user","content":"h\\u00e9"}],"temperature":1.0,"seed":12345678901234567890,"store":false,"include":["reasoning.encrypted_content"]}`,
    );
  });

  it("streams the upstream's events as they are", async () => {
    const response = upstreamResponse();
    running.answers.native = streamsEvents(eventsOfUpstream(response));
    const events = await running.stream(native({ include: ["reasoning.encrypted_content"], store: false }));
    expectResponseStream(events);
    const expected = eventsOfUpstream(response).map((event) =>
      "response" in event ? { ...event, response: { ...event.response, model: "acme/native" } } : event,
    );
    expect(events).toEqual(expected);
  });

  it("hides encrypted reasoning from a client that has not asked for it", async () => {
    running.answers.native = streamsResponse();
    const events = await running.stream(native({}));
    expectResponseStream(events);
    expect(JSON.stringify(events)).not.toContain("encrypted_content");
    running.answers.native = answersWhole(upstreamResponse());
    expect(JSON.stringify(await running.ask(native({})))).not.toContain("encrypted_content");
  });

  it("is stored under an id of its own, whatever the upstream calls it", async () => {
    running.answers.native = answersWhole(upstreamResponse({ id: "resp_same" }));
    const first = await running.ask(native({ input: "one" }));
    const second = await running.ask(native({ input: "two" }));
    expect(second.id).not.toBe(first.id);
    await running.ask(native({ input: "more", previous_response_id: second.id }));
    expect(sentTo(running.native).input[0].content).toEqual([{ type: "input_text", text: "two" }]);
  });

  it("is continued with the encrypted reasoning that was stored, and without references", async () => {
    for (const isStream of [true, false]) {
      running.answers.native = isStream ? streamsResponse() : answersWhole(upstreamResponse());
      const first = isStream
        ? expectResponseStream(await running.stream(native({})))
        : await running.ask(native({}));
      expect(first.store).toBe(true);
      running.answers.native = answersWhole(upstreamResponse());
      const second = await running.ask(native({ input: "more", previous_response_id: first.id }));
      expect(second.previous_response_id).toBe(first.id);
      const { input, previous_response_id: forwarded } = sentTo(running.native);
      expect(forwarded).toBeUndefined();
      expect(input).toMatchObject([
        { role: "user", content: [{ type: "input_text", text: "hello" }] },
        { type: "reasoning", id: THOUGHT.id, encrypted_content: THOUGHT.encrypted_content },
        { type: "message", role: "assistant", content: MESSAGE.content },
        { type: "message", role: "user", content: "more" },
      ]);
    }
  });

  it("keeps a thought of another upstream to itself", async () => {
    const extra = { extra_content: { google: { thought_signature: "c2lnbmVk" } } };
    const call = { id: "call_1", type: "function", function: { name: "first", arguments: "{}" }, ...extra };
    running.answers.chat = streamsChunks([
      chunk({ tool_calls: [{ index: 0, ...call }] }),
      chunk({}, "tool_calls", USAGE),
    ]);
    const tools = [{ type: "function", name: "first" }];
    const include = ["reasoning.encrypted_content"];
    const { output } = expectResponseStream(await running.stream({ input: "go", tools, include }));
    running.answers.native = answersWhole(upstreamResponse());
    await running.ask(
      native({
        input: [
          { role: "user", content: "go" },
          ...output,
          { type: "function_call_output", call_id: "call_1", output: "1" },
        ],
      }),
    );
    const types = sentTo(running.native).input.map((item: ResponseEvent) => item.type);
    expect(types).toEqual([undefined, "function_call", "function_call_output"]);
  });

  it("passes on hosted tools, and items and events that this service does not know", async () => {
    const search = { id: "ws_1", type: "web_search_call", status: "completed", action: { query: "x" } };
    const response = upstreamResponse({ output: [search] });
    const begun = { ...response, status: "in_progress", output: [] };
    const events = [
      { type: "response.created", response: begun },
      { type: "response.in_progress", response: begun },
      { type: "response.output_item.added", output_index: 0, item: { ...search, status: "in_progress" } },
      { type: "response.web_search_call.searching", output_index: 0, item_id: "ws_1" },
      { type: "response.output_item.done", output_index: 0, item: search },
      { type: "response.completed", response },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
    running.answers.native = streamsEvents(events);
    const sent = await running.stream(native({ tools: [{ type: "web_search" }] }));
    expect(sent.map(({ type }) => type)).toEqual(events.map(({ type }) => type));
    expect(sentTo(running.native).tools).toEqual([{ type: "web_search" }]);
  });

  it("numbers events that the upstream has not numbered", async () => {
    const events = eventsOfUpstream(upstreamResponse()).map(({ sequence_number: _, ...event }) => event);
    running.answers.native = streamsEvents(events);
    expectResponseStream(await running.stream(native({})));
  });

  it("has a usage even if the upstream tells none", async () => {
    running.answers.native = streamsResponse({ usage: null });
    const streamed = expectResponseStream(await running.stream(native({})));
    running.answers.native = answersWhole(upstreamResponse({ usage: null }));
    const whole = await running.ask(native({}));
    expectWhole(whole);
    for (const { usage } of [streamed, whole]) {
      expect(usage.input_tokens).toBeGreaterThan(0);
      expect(usage.output_tokens).toBeGreaterThan(0);
    }
  });

  it("is charged by the upstream's usage", async () => {
    running.answers.native = streamsResponse();
    await running.stream(native({}));
    const headers = { authorization: `Bearer ${running.key}` };
    const audit = await fetch(`${running.service.baseUrl}/v1/audit?limit=1`, { headers });
    expect((await audit.json()).data[0]).toMatchObject({
      usage_source: "upstream",
      model: "acme/native",
      token_count: 42,
    });
  });
});

describe("an upstream with the Responses API that fails", () => {
  const failed = (code: string, message = "told so") =>
    upstreamResponse({ status: "failed", error: { code, message }, output: [], usage: null });

  it.each([
    ["context_length_exceeded", "context_length_exceeded"],
    ["invalid_prompt", "invalid_prompt"],
    ["rate_limit_exceeded", "server_is_overloaded"],
    ["too_many_requests", "server_is_overloaded"],
    ["server_is_overloaded", "server_is_overloaded"],
    ["insufficient_quota", "server_error"],
    ["server_error", "server_error"],
  ])("tells %s as %s", async (code, expected) => {
    running.answers.native = ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      const begun = beginningOf(upstreamResponse());
      const last = { type: "response.failed", sequence_number: begun.length, response: failed(code) };
      for (const event of [...begun, last]) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end();
    };
    const response = expectResponseStream(await running.stream(native({})));
    expect(response).toMatchObject({ status: "failed", model: "acme/native", error: { code: expected } });
    expect(response.output).toHaveLength(2);
  });

  it("tells an error event, and a stream that breaks off", async () => {
    const begun = beginningOf(upstreamResponse());
    const told = async (events: readonly object[]) => {
      running.answers.native = streamsEvents(events);
      return expectResponseStream(await running.stream(native({})));
    };
    const error = { code: "server_is_overloaded" };
    expect(await told([...begun, ERROR])).toMatchObject({ status: "failed", error });
    expect(await told(begun)).toMatchObject({ status: "failed", error: { code: "server_error" } });
  });

  it.each([
    ["/v1/responses", native({ stream: true })],
    [
      "/v1/chat/completions",
      { model: "acme/native", messages: [{ role: "user", content: "hi" }], stream: true },
    ],
    [
      "/v1/messages",
      { model: "acme/native", messages: [{ role: "user", content: "hi" }], stream: true, max_tokens: 9 },
    ],
  ])("is paid for what it has reported, by a client of %s", async (path, body) => {
    const response = { ...failed("server_error"), usage: { input_tokens: 5_000, output_tokens: 700 } };
    const last = { type: "response.failed", response };
    // Azure and OpenAI send both events.
    for (const end of [[last], [ERROR, last]]) {
      running.answers.native = streamsEvents([...beginningOf(upstreamResponse()), ...end]);
      const headers = { authorization: `Bearer ${running.key}`, "content-type": "application/json" };
      const { baseUrl } = running.service;
      await (await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) })).text();
      const audit = await fetch(`${baseUrl}/v1/audit?limit=1`, { headers });
      expect((await audit.json()).data[0]).toMatchObject({
        end_reason: "upstream_error",
        usage_source: "estimated",
        prompt_tokens: 5_000,
        completion_tokens: 700,
      });
    }
  });

  it("tells an error event of an upstream that then keeps the connection open or breaks it off", async () => {
    const text = [...beginningOf(upstreamResponse()), ERROR]
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join("");
    for (const breaksOff of [false, true]) {
      running.answers.native = ({ response }) => {
        response.setHeader("content-type", "text/event-stream");
        response.write(text, () => breaksOff && response.socket?.destroySoon());
      };
      expect(expectResponseStream(await running.stream(native({})))).toMatchObject({
        status: "failed",
        error: { code: "server_is_overloaded" },
      });
    }
  });

  it.each([
    ["/v1/responses", native({})],
    ["/v1/chat/completions", { model: "acme/native", messages: [{ role: "user", content: "hi" }] }],
    [
      "/v1/messages",
      { model: "acme/native", messages: [{ role: "user", content: "hi" }], max_tokens: 9, stream: true },
    ],
  ])(
    "is paid for what it has reported with a whole failed response, by a client of %s",
    async (path, body) => {
      const usage = { input_tokens: 5_000, output_tokens: 700 };
      const headers = { authorization: `Bearer ${running.key}`, "content-type": "application/json" };
      const { baseUrl } = running.service;
      for (const [status, code] of [
        ["failed", "server_error"],
        ["failed", "invalid_prompt"],
        ["cancelled", null],
      ]) {
        const response = { ...failed(code ?? ""), status, ...(code === null && { error: null }), usage };
        running.answers.native =
          "stream" in body
            ? streamsEvents([{ type: `response.${status}`, response }])
            : answersWhole(response);
        const answer = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
        expect(answer.status).toBe(code === "invalid_prompt" ? 400 : 502);
        const audit = await fetch(`${baseUrl}/v1/audit?limit=1`, { headers });
        expect((await audit.json()).data[0]).toMatchObject({
          status: answer.status,
          upstream: "native",
          usage_source: "upstream",
          prompt_tokens: 5_000,
          completion_tokens: 700,
        });
      }
    },
  );

  it("has an error envelope where the whole response has failed", async () => {
    running.answers.native = answersWhole(failed("server_error"));
    const answer = await running.post(native({}));
    expect(answer.status).toBe(502);
    expect((await answer.json()).error.code).toBe("upstream_error");
  });

  it("passes on what the upstream has found wrong with the request", async () => {
    running.answers.native = ({ response }) =>
      void response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: "bad tool", param: "tools[0]", code: "invalid_value" } }));
    const answer = await running.post(native({ stream: true }));
    expect(answer.status).toBe(400);
    expect((await answer.json()).error).toMatchObject({ message: "bad tool", param: "tools[0]" });
  });

  it.each(["not json", "[]", '{"output":1}'])("answers 502 for the malformed answer %s", async (text) => {
    running.answers.native = ({ response }) => void response.end(text);
    expect((await running.post(native({}))).status).toBe(502);
  });
});

describe("a silent stream", () => {
  it("has keepalive events once it has begun, and numbers without gaps", async () => {
    const proceed = deferred();
    const events = eventsOfUpstream(upstreamResponse());
    running.answers.native = async ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      for (const event of events.slice(0, 5)) response.write(`data: ${JSON.stringify(event)}\n\n`);
      await proceed.promise;
      for (const event of events.slice(5)) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end();
    };
    running.answers.chat = async ({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(`data: ${JSON.stringify(chunk({ content: "one" }))}\n\n`);
      await proceed.promise;
      response.write(`data: ${JSON.stringify(chunk({ content: "two" }))}\n\n`);
      response.end(`data: ${JSON.stringify(chunk({}, "stop", USAGE))}\n\ndata: [DONE]\n\n`);
    };
    const alive: Promise<void>[] = [];
    const read = async (model: string) => {
      const answer = await running.post({ model, input: "hello", stream: true });
      const signal = deferred();
      alive.push(signal.promise);
      let text = "";
      for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        if (text.includes("event: keepalive\n")) signal.resolve();
      }
      return eventsOf(text);
    };
    const streams = [read("acme/native"), read("acme/chat")];
    await expect.poll(() => alive.length).toBe(2);
    await Promise.all(alive);
    proceed.resolve();
    for (const found of await Promise.all(streams)) {
      expect(found.map(({ type }) => type)).toContain("keepalive");
      expect(expectResponseStream(found).status).toBe("completed");
    }
  });
});

describe("a stream that fails before it has begun", () => {
  it("has comments while it waits, and then an error event", async () => {
    const proceed = deferred();
    running.answers.chat = async ({ response }) => {
      await proceed.promise;
      const error = { message: "too long", code: "context_length_exceeded" };
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    };
    const answer = await running.post({ input: "hello", stream: true });
    let text = "";
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes(": waiting\n\n")) proceed.resolve();
    }
    const error = { code: "context_length_exceeded", message: "too long", param: null };
    expect(eventsOf(text)).toEqual([
      { type: "error", sequence_number: 0, ...error, error: { type: "invalid_request_error", ...error } },
    ]);
  });
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}
