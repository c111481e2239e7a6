import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  CONVERSATION,
  CREDENTIAL,
  chat,
  chunks,
  INEXPRESSIBLE,
  messageOf,
  NEUTRAL,
  replayVendor,
  upstreamOf,
  WEATHER_TOOL,
  whole,
} from "./dialect.ts";

// The wire format of Anthropic's Messages API, version 2023-06-01, as its reference documents it.
const vendor = replayVendor("https://api.anthropic.com/v1/messages");
const upstream = upstreamOf("anthropic");
const MODEL = "claude-sonnet-4-5";
const HI = { messages: [{ role: "user", content: "hi" }] };

function message(content: object[], stop = "end_turn") {
  return {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: MODEL,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 30,
      output_tokens: 7,
    },
  };
}

function events(...list: object[]): string {
  return list
    .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

const START = {
  type: "message_start",
  message: {
    id: "msg_01",
    type: "message",
    role: "assistant",
    model: MODEL,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 100,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 30,
      output_tokens: 1,
    },
  },
};
const text = (index: number, ...deltas: string[]) => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  ...deltas.map((delta) => ({
    type: "content_block_delta",
    index,
    delta: { type: "text_delta", text: delta },
  })),
  { type: "content_block_stop", index },
];
const toolUse = (index: number, id: string, ...deltas: string[]) => [
  { type: "content_block_start", index, content_block: { type: "tool_use", id, name: "weather", input: {} } },
  ...deltas.map((delta) => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json: delta },
  })),
  { type: "content_block_stop", index },
];
const end = (reason: string) => [
  { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 7 } },
  { type: "message_stop" },
];

describe("a request to Anthropic", () => {
  it("carries every field that the client set, translated, with the operator's credential", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    await chat(upstream, MODEL, {
      messages: CONVERSATION,
      max_tokens: 100,
      temperature: 0.5,
      // Anthropic refuses the empty text of a form that was not filled in.
      stop: ["END", "", "STOP"],
      tools: [WEATHER_TOOL],
      tool_choice: { type: "function", function: { name: "weather" } },
      parallel_tool_calls: false,
    });
    const [sent] = vendor.sent;
    expect(sent?.headers.get("x-api-key")).toBe(CREDENTIAL);
    expect(sent?.body).toMatchObject({
      model: MODEL,
      max_tokens: 100,
      temperature: 0.5,
      stop_sequences: ["END", "STOP"],
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Let me look." },
            { type: "tool_use", id: "call_1", name: "weather", input: { city: "Rome" } },
            { type: "tool_use", id: "call_2", name: "weather", input: { city: "Oslo" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call_1", content: "sunny" },
            { type: "tool_result", tool_use_id: "call_2", content: "rain" },
            { type: "text", text: "So?" },
          ],
        },
      ],
      tools: [{ name: "weather", input_schema: { type: "object", required: ["city"] } }],
      tool_choice: { type: "tool", name: "weather", disable_parallel_tool_use: true },
    });
  });

  it("asks for JSON by schema, for reasoning, and for images by URL", async () => {
    vendor.answers(200, message([{ type: "text", text: '{"a":"b"}' }]));
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const answer = await whole(
      chat(upstream, MODEL, {
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
        ],
        response_format: { type: "json_schema", json_schema: { name: "s", schema, strict: true } },
      }),
    );
    expect(answer.choices[0].message.content).toBe('{"a":"b"}');
    expect(JSON.stringify(vendor.sent[0]?.body)).toContain('"additionalProperties":false');
    expect(vendor.sent[0]?.body.messages[0].content[0]).toMatchObject({
      type: "image",
      source: { type: "url", url: "https://example.com/a.png" },
    });
    await chat(upstream, MODEL, { ...HI, reasoning_effort: "low" });
    expect(vendor.sent[1]?.body.thinking).toMatchObject({ type: "enabled" });
  });

  it.each([
    ...INEXPRESSIBLE,
    [{ seed: 1 }, "seed"],
    [{ presence_penalty: 0.5 }, "presence_penalty"],
    [{ frequency_penalty: 0.5 }, "frequency_penalty"],
    [{ temperature: 1.5 }, "temperature"],
    [{ reasoning_effort: "high", temperature: 0.5 }, "temperature"],
    [{ reasoning_effort: "high", top_p: 0.5 }, "top_p"],
    [{ reasoning_effort: "high", tools: [WEATHER_TOOL], tool_choice: "required" }, "tool_choice"],
  ] as const)("is refused when Anthropic has no equivalent of a field: %j", async (fields, param) => {
    await expect(chat(upstream, MODEL, { ...HI, ...fields })).rejects.toMatchObject({
      code: "invalid_request",
      param,
    });
    expect(vendor.sent).toEqual([]);
  });

  it.each([
    ["claude-sonnet-4-20250514", { temperature: 0.5, top_p: 0.9 }, []],
    ["another-vendors-model", { temperature: 0.5, top_p: 0.9 }, []],
    ["claude-opus-4-1-20250805", { temperature: 0.5 }, ["top_p"]],
    ["claude-haiku-4-5", { temperature: 0.5 }, ["top_p"]],
    ["claude-sonnet-4-6", { temperature: 0.5 }, ["top_p"]],
    ["claude-sonnet-5", {}, ["temperature", "top_p"]],
  ])("has the temperature and top_p that %s takes together", async (model, sampling, ignored) => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    const answer = await chat(upstream, model, { ...HI, temperature: 0.5, top_p: 0.9 });
    const { temperature, top_p } = vendor.sent[0]?.body ?? {};
    expect({ temperature, top_p }).toEqual(sampling);
    expect(answer.ignored).toEqual(ignored);
  });

  it("has the top_p for a model that takes one of them, if the temperature is the default", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    const answer = await chat(upstream, "claude-sonnet-4-5", { ...HI, temperature: 1, top_p: 0.5 });
    const { temperature, top_p } = vendor.sent[0]?.body ?? {};
    expect({ temperature, top_p, ignored: answer.ignored }).toEqual({ top_p: 0.5, ignored: [] });
  });

  it("may have an effort beside them for a model that takes neither", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    const sampling = { temperature: 0.5, top_p: 0.9 };
    const answer = await chat(upstream, "claude-opus-4-8", { ...HI, ...sampling, reasoning_effort: "low" });
    expect(vendor.sent[0]?.body).toMatchObject({ output_config: { effort: "low" } });
    expect(answer.ignored).toEqual(["temperature", "top_p"]);
  });

  it("has no verbosity, which is left out and named", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    const answer = await chat(upstream, MODEL, { ...HI, verbosity: "low" });
    expect(answer.ignored).toEqual(["verbosity"]);
    expect(vendor.sent[0]?.body).not.toHaveProperty("verbosity");
  });

  it.each(NEUTRAL)("is sent when such a field has its default: %j", async (fields) => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    expect((await whole(chat(upstream, MODEL, { ...HI, ...fields }))).choices[0].message.content).toBe(
      "Fine.",
    );
  });
});

describe("a request to Anthropic that credit covers only in part", () => {
  it("is limited to the tokens that credit covers, thinking included", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    await chat(upstream, MODEL, HI, { maxTokens: 5_000 });
    expect(vendor.sent[0]?.body.max_tokens).toBe(5_000);
    await chat(upstream, MODEL, { ...HI, reasoning_effort: "high" }, { maxTokens: 5_000 });
    expect(vendor.sent[1]?.body.max_tokens).toBe(5_000);
    expect(vendor.sent[1]?.body.thinking.budget_tokens).toBeLessThan(5_000);
    const thinking = chat(
      upstream,
      MODEL,
      { ...HI, reasoning_effort: "high", max_tokens: 1 },
      { maxTokens: 1 },
    );
    await expect(thinking).rejects.toMatchObject({ code: "invalid_request", param: "reasoning_effort" });
    expect(vendor.sent).toHaveLength(2);
  });

  it("is answered even when it asks for more than the model's maximum", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    const answer = await chat(upstream, MODEL, { ...HI, max_tokens: 65_000 }, { maxTokens: 65_000 });
    expect(answer.kind === "whole" && answer.ignored).toEqual([]);
  });

  it("takes no fields from clients that would raise the cost", async () => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }]));
    const call = {
      id: "call_1",
      type: "function",
      function: { name: "weather", arguments: "{}" },
      extra_content: { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } },
    };
    const messages = [
      ...HI.messages,
      { role: "assistant", content: null, refusal: null, reasoning_content: "hm", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "sunny", name: "weather" },
    ];
    await chat(upstream, MODEL, { messages, tools: [WEATHER_TOOL] });
    expect(JSON.stringify(vendor.sent[0]?.body)).not.toContain("cache_control");
  });
});

describe("an answer from Anthropic", () => {
  it("has text, reasoning, tool calls and usage in OpenAI's format, with cached tokens as part of the prompt", async () => {
    vendor.answers(
      200,
      message(
        [
          { type: "thinking", thinking: "Hm.", signature: "sig" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } },
          { type: "tool_use", id: "toolu_2", name: "weather", input: { city: "Oslo" } },
        ],
        "tool_use",
      ),
    );
    const answer = chat(upstream, MODEL, { ...HI, tools: [WEATHER_TOOL] });
    expect(await whole(answer)).toMatchObject({
      object: "chat.completion",
      model: "acme/chat",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: "I look.",
            reasoning_content: "Hm.",
            tool_calls: [
              {
                id: "toolu_1",
                type: "function",
                function: { name: "weather", arguments: '{"city":"Rome"}' },
              },
              {
                id: "toolu_2",
                type: "function",
                function: { name: "weather", arguments: '{"city":"Oslo"}' },
              },
            ],
          },
        },
      ],
      usage: {
        prompt_tokens: 150,
        completion_tokens: 7,
        total_tokens: 157,
        prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
      },
    });
    expect((await answer).kind === "whole" && (await answer)).toMatchObject({
      usage: { promptTokens: 150, completionTokens: 7, cachedTokens: 30, cacheWriteTokens: 20 },
    });
  });

  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["refusal", "content_filter"],
  ])("that stopped for %s finishes with %s", async (stop, finish) => {
    vendor.answers(200, message([{ type: "text", text: "Fine." }], stop));
    expect((await whole(chat(upstream, MODEL, HI))).choices[0].finish_reason).toBe(finish);
  });

  it("is streamed in pieces, tool calls with their index, usage last and only on request", async () => {
    const stream = events(
      START,
      { type: "ping" },
      ...text(0, "I ", "look."),
      ...toolUse(1, "toolu_1", '{"city"', ':"Rome"}'),
      ...toolUse(2, "toolu_2", '{"city":"Oslo"}'),
      ...end("tool_use"),
    );
    vendor.streams(stream);
    const found = await chunks(chat(upstream, MODEL, { ...HI, tools: [WEATHER_TOOL], stream: true }));
    expect(found[0].choices[0].delta.role).toBe("assistant");
    expect(messageOf(found)).toEqual({
      content: "I look.",
      reasoning: "",
      calls: [
        { id: "toolu_1", name: "weather", arguments: '{"city":"Rome"}' },
        { id: "toolu_2", name: "weather", arguments: '{"city":"Oslo"}' },
      ],
      finish: "tool_calls",
      usage: expect.objectContaining({ prompt_tokens: 150, completion_tokens: 7 }),
    });
    expect(
      found.every(({ model, object }) => model === "acme/chat" && object === "chat.completion.chunk"),
    ).toBe(true);
    const hidden = await chunks(
      chat(upstream, MODEL, { ...HI, tools: [WEATHER_TOOL], stream: true }, { includeUsage: false }),
    );
    expect(hidden.some((chunk) => "usage" in chunk)).toBe(false);
  });

  it("that ends without a finish reason or with an error is not a complete answer", async () => {
    vendor.streams(events(START, ...text(0, "so far")));
    await expect(chunks(chat(upstream, MODEL, { ...HI, stream: true }))).rejects.toMatchObject({
      fault: "cut",
    });
    vendor.streams(
      events(START, ...text(0, "so far"), {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" },
      }),
    );
    await expect(chunks(chat(upstream, MODEL, { ...HI, stream: true }))).rejects.toMatchObject({
      failure: { code: "server_is_overloaded" },
    });
  });

  it.each([
    [400, "invalid_request_error", "max_tokens: too many", 400, "invalid_request"],
    [401, "authentication_error", `bad key ${CREDENTIAL}`, 502, "upstream_error"],
    [403, "permission_error", "no", 502, "upstream_error"],
    [404, "not_found_error", "no model", 502, "upstream_error"],
    [413, "request_too_large", "large", 413, "request_too_large"],
    [429, "rate_limit_error", "slow down", 503, "server_is_overloaded"],
    [500, "api_error", "internal", 502, "upstream_error"],
    [529, "overloaded_error", "Overloaded", 503, "server_is_overloaded"],
  ])("of status %i is answered with %s … %i %s", async (status, type, told, expected, code) => {
    vendor.answers(status, { type: "error", error: { type, message: told } });
    const thrown = await chat(upstream, MODEL, HI).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ status, failure: { status: expected, code } });
    expect(JSON.stringify(thrown) + String((thrown as { failure: Error }).failure)).not.toContain(CREDENTIAL);
    expect(vendor.sent).toHaveLength(1);
  });

  it("that is malformed counts as the upstream's fault", async () => {
    vendor.answers(200, { hello: "world" });
    const prompt = { messages: [{ role: "user", content: "a secret prompt" }] };
    const thrown = await chat(upstream, MODEL, prompt).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ failure: { code: "upstream_error" } });
    expect(inspect(thrown, { depth: 20 })).not.toContain("a secret prompt");
  });
});
