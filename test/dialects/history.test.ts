import { describe, expect, it } from "vitest";
import { chat, messages, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";

// Histories that clients send, as upstreams get them.
const vendor = replayVendor(
  /https:\/\/models\.example\/v1\/(?:chat\/completions|responses|messages|models\/.*)/,
);
const baseUrl = "https://models.example/v1";
const completions = upstreamOf("openai", { baseUrl });
const responses = upstreamOf("openai-responses", { baseUrl });
const anthropic = upstreamOf("anthropic", { baseUrl });
const google = upstreamOf("google", { baseUrl });
const USAGE = { prompt_tokens: 1, completion_tokens: 1 };
const COMPLETION = {
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  usage: USAGE,
};
const RESPONSE = { status: "completed", output: [], usage: { input_tokens: 1, output_tokens: 1 } };
const MESSAGE = {
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** What chat completions get of an input of the Responses API. */
async function messagesFor(input: unknown): Promise<unknown> {
  vendor.answers(200, COMPLETION);
  await whole(respond(completions, "m", { input }));
  return vendor.sent[0]?.body.messages;
}

const user = (content: unknown) => ({ role: "user", content });
const called = (call_id: string) => ({ type: "function_call", call_id, name: "weather", arguments: "{}" });
const result = (call_id: string) => ({ type: "function_call_output", call_id, output: call_id });

describe("the items of an input", () => {
  it("may have other items between calls and their results, which follow the calls for other providers", async () => {
    const sent = await messagesFor([
      user("hi"),
      called("a"),
      called("b"),
      result("a"),
      { role: "developer", content: "be quick" },
      result("b"),
      { role: "assistant", content: "done" },
    ]);
    expect(sent).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "a" }, { id: "b" }] },
      { role: "tool", tool_call_id: "a" },
      { role: "tool", tool_call_id: "b" },
      { role: "system", content: "be quick" },
      { role: "assistant", content: "done" },
    ]);
  });

  it("may have calls of the same id in several turns", async () => {
    const turn = [called("a"), result("a"), user("again")];
    expect(await messagesFor([user("hi"), ...turn, ...turn])).toMatchObject(
      ["user", "assistant", "tool", "user", "assistant", "tool", "user"].map((role) => ({ role })),
    );
  });

  it("may have nothing but thoughts of the model, which chat completions have no message for", async () => {
    const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };
    expect(await messagesFor([user("hi"), thought, user("well?")])).toEqual([user("hi"), user("well?")]);
  });

  it.each(["data:image/png;charset=utf-8;base64,iVBORw0KGgo=", "data:image/png;a=b;c=d;base64,iVBORw0KGgo="])(
    "may have an image by a data URL with parameters: %s",
    async (image_url) => {
      expect(await messagesFor([user([{ type: "input_image", image_url }])])).toMatchObject([
        { content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }] },
      ]);
    },
  );
});

describe("the detail of an image, which Codex sends with each", () => {
  const image_url = "data:image/png;base64,iVBORw0KGgo=";
  const input = (detail: string) => [user([{ type: "input_image", image_url, detail }])];

  it("is left out for providers without it, and the client is told so", async () => {
    vendor.answersOnce(200, MESSAGE);
    const told = { ignored: ["input.0.content.0.detail"] };
    expect(await respond(anthropic, "claude-x", { input: input("high") })).toMatchObject(told);
    vendor.answers(200, {
      candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    });
    expect(await respond(google, "gemini-3-pro", { input: input("original") })).toMatchObject(told);
    expect(vendor.sent).toHaveLength(2);
  });

  it.each([
    ["low", "low"],
    ["high", "high"],
    ["original", "high"],
  ])("%s is %s for chat completions", async (detail, sent) => {
    expect(await messagesFor(input(detail))).toMatchObject([{ content: [{ image_url: { detail: sent } }] }]);
  });
});

describe("a tool that has failed", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
  const failedWith = (content: unknown) => ({
    max_tokens: 10,
    messages: [
      user("hi"),
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "weather", input: {} }] },
      user([{ type: "tool_result", tool_use_id: "a", content, is_error: true }]),
    ],
  });

  it.each([
    ["no such city", "Error: no such city"],
    [[image], "Error: [image below]"],
  ])("has told so to a model of chat completions: %j", async (content, told) => {
    vendor.answers(200, COMPLETION);
    await whole(messages(completions, "m", failedWith(content)));
    expect(vendor.sent[0]?.body.messages[2]).toEqual({ role: "tool", tool_call_id: "a", content: told });
  });

  it("has told so to a model of the Responses API, also with an image", async () => {
    vendor.answers(200, RESPONSE);
    await whole(messages(responses, "m", failedWith("no such city")));
    await whole(messages(responses, "m", failedWith([image])));
    expect(vendor.sent.map(({ body }) => body.input[2].output)).toMatchObject([
      "Error: no such city",
      [{ type: "input_text", text: "Error:" }, { type: "input_image" }],
    ]);
  });
});

describe("a message of Anthropic", () => {
  it("has the number of its thoughts' tokens in other formats, too", async () => {
    const usage = { ...MESSAGE.usage, output_tokens: 9, output_tokens_details: { thinking_tokens: 7 } };
    vendor.answers(200, { ...MESSAGE, usage });
    expect((await whole(respond(anthropic, "claude-x", { input: "hi" }))).usage).toMatchObject({
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 7 },
    });
  });
});

describe("a message of Anthropic that breaks off", () => {
  it("has the usage that it began with", async () => {
    const usage = { input_tokens: 10, output_tokens: 5, output_tokens_details: { thinking_tokens: 4 } };
    const start = { type: "message_start", message: { ...MESSAGE, content: [], usage } };
    vendor.streams(`event: message_start\ndata: ${JSON.stringify(start)}\n\n`);
    const answer = await messages(anthropic, "claude-x", {
      messages: [user("hi")],
      max_tokens: 9,
      stream: true,
    });
    if (answer.kind !== "stream") throw new Error("not a stream");
    await expect(streamText(Promise.resolve(answer))).rejects.toThrow();
    expect(answer.usage()).toBeNull();
    expect(answer.usageSoFar?.()).toStrictEqual({
      promptTokens: 10,
      completionTokens: 5,
      cachedTokens: 0,
      reasoningTokens: 4,
    });
  });
});

describe("the results of tools whose model has thought within a budget", () => {
  const weather = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };
  const history = [
    user("hi"),
    { role: "assistant", tool_calls: [weather] },
    { role: "tool", tool_call_id: "a", content: "sunny" },
  ];
  const asked = (more: object[] = []) => ({ messages: [...history, ...more], reasoning_effort: "low" });

  it("are sent without thinking if the client has no thoughts to send back, and it is told so", async () => {
    vendor.answers(200, MESSAGE);
    const answer = await chat(anthropic, "claude-sonnet-4-5", asked());
    expect(vendor.sent[0]?.body.thinking).toBeUndefined();
    expect(answer).toMatchObject({ ignored: ["reasoning_effort"] });
  });

  it("are sent with it when the user has said something since, or to a model that decides for itself", async () => {
    vendor.answers(200, MESSAGE);
    const said = [{ role: "assistant", content: "It is sunny." }, user("and now?")];
    await chat(anthropic, "claude-sonnet-4-5", asked(said));
    await chat(anthropic, "claude-sonnet-5", asked());
    expect(vendor.sent.map(({ body }) => body.thinking.type)).toEqual(["enabled", "adaptive"]);
  });

  it("are sent with it if the client sends the thoughts back", async () => {
    vendor.answersOnce(200, {
      ...MESSAGE,
      content: [
        { type: "thinking", thinking: "Hm.", signature: "proof" },
        { type: "tool_use", id: "a", name: "weather", input: {} },
      ],
      stop_reason: "tool_use",
    });
    const first = { input: "hi", include: ["reasoning.encrypted_content"], reasoning: { effort: "low" } };
    const { output } = await whole(respond(anthropic, "claude-sonnet-4-5", first));
    vendor.answers(200, MESSAGE);
    await whole(
      respond(anthropic, "claude-sonnet-4-5", { ...first, input: [user("hi"), ...output, result("a")] }),
    );
    expect(vendor.sent[1]?.body).toMatchObject({
      thinking: { type: "enabled" },
      messages: [{}, { content: [{ type: "thinking", signature: "proof" }, { type: "tool_use" }] }, {}],
    });
  });
});
