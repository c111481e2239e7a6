import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { eventsIn, messageIn } from "./messages-events.ts";
import {
  CREDENTIAL,
  chatStream,
  frames,
  HI,
  NATIVE_END,
  NATIVE_MESSAGE,
  NATIVE_START,
  NATIVE_TEXT,
  NATIVE_USAGE,
  nativeStream,
  startMessagesService,
  TOOL,
} from "./messages-service.ts";

const service = sharedByFile(startMessagesService);

const NATIVE = { ...HI, model: "acme/native" };
const answerWhole = (message: object = NATIVE_MESSAGE) => {
  service.answers.native = ({ response }) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(message));
};
const refuse = (status: number, error: object, headers: Record<string, string> = {}) => {
  service.answers.native = ({ response }) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify({ type: "error", error, request_id: "req_1" }));
};
// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
const json = async (response: Response): Promise<any> => response.json();

describe("an upstream of the Messages API that does not find something", () => {
  const notFound = (message: string) => refuse(404, { type: "not_found_error", message });

  it("lets the client choose another model, whose name at the provider it does not learn", async () => {
    notFound("model: claude-inner");
    const response = await service.post(NATIVE);
    expect(response.status).toBe(404);
    const { error } = await json(response);
    expect(error.type).toBe("not_found_error");
    expect(error.message).toContain("acme/native");
    expect(error.message).not.toContain("claude-inner");
  });

  it("reports which file of the request does not exist", async () => {
    notFound("File not found: file_1");
    const response = await service.post(NATIVE);
    expect(response.status).toBe(404);
    expect((await json(response)).error).toEqual({
      type: "not_found_error",
      message: "File not found: file_1",
    });
  });

  it("fails when it is another server, as with a wrong address", async () => {
    service.answers.native = ({ response }) => void response.writeHead(404).end("<h1>Not Found</h1>");
    const response = await service.post(NATIVE);
    expect(response.status).toBe(502);
    expect((await json(response)).error.type).toBe("api_error");
  });
});

describe("a request for an upstream of the Messages API", () => {
  it("reaches it byte for byte, except for the model's name", async () => {
    answerWhole();
    // As Claude Code sends it: marks on the instructions and on the last block of the last turn, unknown fields, odd white space.
    const body = `{ "model" : "acme/native",
      "max_tokens": 1e2, "stream": false,
      "system":[{"type":"text","text":"x-anthropic-billing-header: a"},{"type":"text","text":"You are…","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Rules","cache_control":{"type":"ephemeral","ttl":"1h"}}],
      "messages":[{"role":"user","content":"h\\u0069"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"EqQBCg=="},{"type":"redacted_thinking","data":"EmwKAh=="},{"type":"tool_use","id":"toolu_1","name":"weather","input":{"n":1.0}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"sunny"}],"cache_control":{"type":"ephemeral"}}]},
        {"role":"system","content":"Go on."}],
      "tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"weather","input_schema":{"type":"object"},"defer_loading":true}],
      "context_management":{"edits":[]}, "metadata":{"user_id":"user_1"} }`;
    const response = await service.post(body);
    expect(response.status).toBe(200);
    expect(service.native.received.at(-1)?.text).toBe(body.replace('"acme/native"', '"claude-inner"'));
  });

  it("may write its prompt to the cache only", async () => {
    answerWhole({ content: [], stop_reason: "max_tokens" });
    const response = await service.post({ ...NATIVE, max_tokens: 0 });
    expect(await json(response)).toMatchObject({ content: [], stop_reason: "max_tokens" });
    expect(service.native.received.at(-1)?.body.max_tokens).toBe(0);
  });

  it("has the operator's credential, and of the client's headers only those of Anthropic's API", async () => {
    answerWhole();
    await service.post(
      NATIVE,
      {
        "anthropic-version": "2099-01-01",
        "anthropic-beta": "context-1m-2025-08-07,some-beta",
        "x-claude-code-session-id": "session",
        cookie: "a=b",
      },
      "/v1/messages?beta=true&other=1",
    );
    const { path, headers } = service.native.received.at(-1) ?? { headers: {} };
    expect(path).toBe("/v1/messages?beta=true");
    expect(headers).toMatchObject({
      "x-api-key": CREDENTIAL,
      "anthropic-version": "2099-01-01",
      "anthropic-beta": "context-1m-2025-08-07,some-beta",
    });
    for (const name of ["authorization", "cookie", "x-claude-code-session-id", "ostiary-key"]) {
      expect(headers).not.toHaveProperty(name);
    }
    expect(JSON.stringify(headers)).not.toContain(service.owner.key);
    await service.post(NATIVE);
    expect(service.native.received.at(-1)?.path).toBe("/v1/messages");
  });

  it("has no thoughts of other providers' models, which Anthropic would refuse", async () => {
    const call = {
      id: "a",
      function: { name: "weather", arguments: "{}" },
      extra_content: { google: { a: "b" } },
    };
    service.answers.chat = chatStream(
      [{ reasoning_content: "Hm" }],
      [{ tool_calls: [{ index: 0, ...call }] }],
      [{}, "tool_calls"],
    );
    const asked = { ...HI, tools: [TOOL], thinking: { type: "adaptive" }, stream: true };
    const { content } = messageIn(await (await service.post(asked)).text());
    expect(content.map(({ type }: { type: string }) => type)).toEqual([
      "thinking",
      "redacted_thinking",
      "tool_use",
    ]);
    answerWhole();
    const own = { type: "thinking", thinking: "hm", signature: "EqQBCg==" };
    const result = { type: "tool_result", tool_use_id: "a", content: "sunny" };
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: [own, ...content] },
      { role: "user", content: [result] },
      { role: "assistant", content: [content[0]] },
    ];
    await service.post({ ...NATIVE, messages });
    expect(service.native.received.at(-1)?.body.messages).toEqual([
      messages[0],
      { role: "assistant", content: [own, content[2]] },
      messages[2],
    ]);
  });
});

describe("a thought without a signature", () => {
  const unsigned = { type: "thinking", thinking: "hm", signature: "" };
  const call = { type: "tool_use", id: "a", name: "weather", input: {} };
  const asked = (model: string) => ({
    ...NATIVE,
    model,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: [unsigned, call] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sunny" }] },
    ],
  });

  it("goes back to other vendors' models, which do not sign theirs, and to none of Anthropic's", async () => {
    answerWhole();
    await service.post(asked("acme/other-native"));
    expect(service.native.received.at(-1)?.body.messages).toEqual(asked("").messages);
    await service.post(asked("acme/native"));
    expect(service.native.received.at(-1)?.body.messages).toMatchObject([{}, { content: [call] }, {}]);
  });
});

describe("a whole answer of the Messages API", () => {
  it("is passed on with the catalog's name of the model, and its usage is charged", async () => {
    answerWhole();
    const response = await service.post(NATIVE);
    expect(await response.text()).toBe(JSON.stringify({ ...NATIVE_MESSAGE, model: "acme/native" }));
    expect(await service.lastEntry()).toMatchObject({
      upstream: "native",
      usageSource: "upstream",
      promptTokens: 3_210,
      cachedTokens: 3_000,
      completionTokens: 7,
    });
  });

  it("that is no message is refused", async () => {
    answerWhole({ choices: [] });
    const response = await service.post(NATIVE);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "api_error" } });
  });
});

describe("a streamed answer of the Messages API", () => {
  it("is passed on event by event, byte for byte but for the model's name", async () => {
    const text = frames(NATIVE_START, ...NATIVE_TEXT, ...NATIVE_END);
    service.answers.native = nativeStream(text);
    const response = await service.post({ ...NATIVE, stream: true });
    expect(await response.text()).toBe(text.replace('"model":"claude-inner"', '"model":"acme/native"'));
    expect(await service.lastEntry()).toMatchObject({
      promptTokens: 3_210,
      cachedTokens: 3_000,
      completionTokens: 7,
      usageSource: "upstream",
    });
  });

  it("keeps events and blocks that are not known here, and the last usage that is told", async () => {
    const usage = { ...NATIVE_USAGE, input_tokens: 12, output_tokens: 99, cache_read_input_tokens: null };
    const text = frames(
      NATIVE_START,
      { type: "content_block_start", index: 0, content_block: { type: "some_new_block", a: 1 } },
      { type: "content_block_delta", index: 0, delta: { type: "some_delta", b: 2 } },
      { type: "content_block_stop", index: 0 },
      { type: "some_new_event", c: 3 },
      { type: "message_delta", delta: { stop_reason: "pause_turn", stop_sequence: null }, usage },
      { type: "message_stop" },
    );
    service.answers.native = nativeStream(text);
    const answer = await (await service.post({ ...NATIVE, stream: true })).text();
    expect(answer).toBe(text.replace("claude-inner", "acme/native"));
    expect(await service.lastEntry()).toMatchObject({ promptTokens: 3_212, completionTokens: 99 });
  });

  it.each([
    // A summary of the conversation, whose tokens the totals do not contain.
    ["compaction", { input_tokens: 180_000, output_tokens: 3_500 }, 23_000 + 180_000, 1_000 + 3_500],
    ["advisor_message", { model: "claude-other", input_tokens: 820, output_tokens: 1_600 }, 23_820, 2_600],
    ["compaction", { input_tokens: -1, output_tokens: 3_500 }, 23_000, 1_000],
  ])(
    "is charged for its %s, which is reported beside the totals",
    async (type, tokens, prompt, completion) => {
      const totals = { input_tokens: 23_000, output_tokens: 1_000 };
      const usage = {
        ...totals,
        iterations: [
          { type, ...tokens },
          { type: "message", ...totals },
        ],
      };
      const start = { ...NATIVE_START, message: { ...NATIVE_START.message, usage: totals } };
      const [end, stop] = NATIVE_END;
      const text = frames(start, ...NATIVE_TEXT, { ...end, usage }, { ...stop });
      service.answers.native = nativeStream(text);
      const answer = await (await service.post({ ...NATIVE, stream: true })).text();
      expect(answer).toBe(text.replace("claude-inner", "acme/native"));
      const counted = { usageSource: "upstream", promptTokens: prompt, completionTokens: completion };
      expect(await service.lastEntry()).toMatchObject(counted);
      answerWhole({ ...NATIVE_MESSAGE, usage });
      await service.post(NATIVE);
      expect(await service.lastEntry()).toMatchObject(counted);
    },
  );

  it.each([
    ["after its text", frames(NATIVE_START, ...NATIVE_TEXT)],
    ["after message_delta", frames(NATIVE_START, ...NATIVE_TEXT, ...NATIVE_END.slice(0, 1))],
    ["within an event", frames(NATIVE_START).slice(0, -9)],
  ])("that ends %s, without message_stop, ends with an error", async (_, text) => {
    service.answers.native = nativeStream(text);
    const answer = await (await service.post({ ...NATIVE, stream: true })).text();
    expect(answer).toContain("api_error");
    expect(answer).not.toContain("message_stop");
    expect(await service.lastEntry()).toMatchObject({ errorCode: "upstream_error" });
  });

  it("that breaks off is charged for the prompt as the upstream has counted it", async () => {
    service.answers.native = nativeStream(frames(NATIVE_START, ...NATIVE_TEXT));
    await (await service.post({ ...NATIVE, stream: true })).text();
    expect(await service.lastEntry()).toMatchObject({
      usageSource: "estimated",
      promptTokens: 3_210,
      cachedTokens: 3_000,
      completionTokens: 1,
    });
  });

  it("that its client leaves is charged in the same way, and ended", async () => {
    let dropped: Promise<void> | undefined;
    service.answers.native = (request) => {
      dropped = request.dropped;
      request.response.setHeader("content-type", "text/event-stream");
      request.response.write(frames(NATIVE_START, ...NATIVE_TEXT));
    };
    const response = await service.post({ ...NATIVE, stream: true });
    await response.body?.getReader().cancel();
    await dropped;
    await expect
      .poll(() => service.lastEntry())
      .toMatchObject({
        endReason: "client_gone",
        promptTokens: 3_210,
        cachedTokens: 3_000,
        completionTokens: 1,
      });
  });

  it("that fails after its beginning ends with the error", async () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    service.answers.native = nativeStream(frames(NATIVE_START, ...NATIVE_TEXT, { type: "error", error }));
    const events = eventsIn(await (await service.post({ ...NATIVE, stream: true })).text());
    expect(events.at(-1)).toMatchObject({ event: "error", data: { error: { type: "overloaded_error" } } });
    expect(events.filter(({ event }) => event === "error")).toHaveLength(1);
  });

  it("that fails at once is an error with a status", async () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    service.answers.native = nativeStream(frames({ type: "error", error }));
    const response = await service.post({ ...NATIVE, stream: true });
    expect(response.status).toBe(529);
  });
});

describe("an error of the Messages API", () => {
  it.each([
    [400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"],
    [413, "request_too_large", "Request exceeds the maximum size"],
  ])("of status %i keeps its type and words", async (status, type, message) => {
    refuse(status, { type, message });
    const response = await service.post(NATIVE);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      type: "error",
      error: { type, message },
      request_id: response.headers.get("request-id"),
    });
  });

  it.each([
    [429, "rate_limit_error", 529, "overloaded_error"],
    [529, "overloaded_error", 529, "overloaded_error"],
    [500, "api_error", 502, "api_error"],
    [401, "authentication_error", 502, "api_error"],
  ])(
    "of status %i, which concerns the operator, tells nothing of it",
    async (status, type, told, toldType) => {
      refuse(status, { type, message: `about ${CREDENTIAL}` });
      const response = await service.post(NATIVE);
      expect(response.status).toBe(told);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ error: { type: toldType } });
      expect(text).not.toContain("about");
    },
  );
});

describe("a request that credit covers only in part", () => {
  const priced = { ...NATIVE, model: "acme/priced", max_tokens: 8_000 };

  it("asks for no more than is paid for, and for a thinking budget below it", async () => {
    answerWhole();
    await service.grant(0.03);
    const thinking = { type: "enabled", budget_tokens: 6_000 };
    expect((await service.post({ ...priced, thinking })).status).toBe(200);
    const body = service.native.received.at(-1)?.body as {
      max_tokens: number;
      thinking: { budget_tokens: number };
    };
    expect(body.max_tokens).toBeGreaterThan(1_024);
    expect(body.max_tokens).toBeLessThan(3_001);
    expect(body.thinking.budget_tokens).toBeGreaterThanOrEqual(1_024);
    expect(body.thinking.budget_tokens).toBeLessThan(body.max_tokens);
  });

  it("is refused without any as 402, not to be sent again", async () => {
    answerWhole({ ...NATIVE_MESSAGE, usage: { input_tokens: 90_000, output_tokens: 8_192 } });
    await service.post(priced);
    const response = await service.post(priced);
    expect(response.status).toBe(402);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await json(response)).toMatchObject({ error: { type: "billing_error" } });
  });

  it("may still count its tokens, free of charge and without its upstream", async () => {
    const calls = service.native.received.length;
    const { model, messages } = priced;
    const response = await service.post({ model, messages }, {}, "/v1/messages/count_tokens?beta=true");
    expect(await json(response)).toEqual({ input_tokens: expect.any(Number) });
    expect(service.native.received).toHaveLength(calls);
    expect(await service.lastEntry()).toMatchObject({
      endpoint: "POST /v1/messages/count_tokens",
      status: 200,
      costNanoUsd: 0n,
      promptTokens: 0,
    });
  });
});
