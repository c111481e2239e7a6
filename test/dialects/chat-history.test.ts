import { beforeEach, describe, expect, it } from "vitest";
import { chat, messages, replayVendor, respond, upstreamOf, whole } from "./dialect.ts";

// Histories that clients of chat completions send, as upstreams of other formats get them.
const vendor = replayVendor(/https:\/\/models\.example\/v1\/(?:responses|messages|models\/.*)/);
const baseUrl = "https://models.example/v1";
const responses = upstreamOf("openai-responses", { baseUrl });
const anthropic = upstreamOf("anthropic", { baseUrl });
const google = upstreamOf("google", { baseUrl });
/** An answer in all three formats. */
const ANSWER = {
  status: "completed",
  output: [],
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }],
  usage: { input_tokens: 1, output_tokens: 1 },
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
};
const DATA = "iVBORw0KGgo=";
const IMAGE = { type: "image_url", image_url: { url: `data:image/png;base64,${DATA}` } };
const text = (words: string) => ({ type: "text", text: words });
const user = (content: unknown) => ({ role: "user", content });
const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: "{}" } });
const calls = (...ids: string[]) => ({ role: "assistant", content: null, tool_calls: ids.map(call) });
const result = (id: string, content: unknown) => ({ role: "tool", tool_call_id: id, content });

beforeEach(() => vendor.answers(200, ANSWER));

describe("the image that a tool returns", () => {
  const messages = [user("hi"), calls("a"), result("a", [{ type: "text", text: "see" }, IMAGE])];

  it("is a part of its result for Anthropic, Google and the Responses API", async () => {
    await whole(chat(anthropic, "claude-x", { messages }));
    await whole(chat(google, "gemini-3-pro", { messages }));
    await whole(chat(responses, "gpt-5", { messages }));
    const [forAnthropic, forGoogle, forResponses] = vendor.sent.map(({ body }) => body);
    expect(forAnthropic.messages[2].content[0]).toMatchObject({
      type: "tool_result",
      content: [
        { type: "text", text: "see" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: DATA } },
      ],
    });
    expect(forGoogle.contents[2].parts[0].functionResponse).toMatchObject({
      response: { content: "see" },
      parts: [{ inlineData: { mimeType: "image/png", data: DATA } }],
    });
    expect(forResponses.input[2]).toMatchObject({
      type: "function_call_output",
      output: [
        { type: "input_text", text: "see" },
        { type: "input_image", image_url: IMAGE.image_url.url },
      ],
    });
  });

  it("may not be a sound", async () => {
    const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const asked = chat(anthropic, "claude-x", { messages: [user("hi"), calls("a"), result("a", [sound])] });
    await expect(asked).rejects.toMatchObject({ param: "messages.2.content.0.input_audio" });
  });
});

describe("the detail of an image, which aider sends with each", () => {
  it("is left out for providers whose models choose it, and named in the answer's headers", async () => {
    const detailed = [{ ...IMAGE, image_url: { ...IMAGE.image_url, detail: "high" } }];
    const messages = [user(detailed), calls("a"), result("a", detailed)];
    const ignored = [0, 2].map((index) => `messages.${index}.content.0.image_url.detail`);
    expect(await chat(anthropic, "claude-x", { messages })).toMatchObject({ ignored });
    expect(await chat(google, "gemini-3-pro", { messages })).toMatchObject({ ignored });
    await chat(responses, "gpt-5", { messages });
    expect(vendor.sent[2]?.body.input[0].content[0].detail).toBe("high");
  });
});

describe("the name of a file", () => {
  it("is named in the answer's headers where the provider has no place for it", async () => {
    const [type, data] = ["application/pdf", "JVBERi0="];
    const file = { filename: "report.pdf", file_data: `data:${type};base64,${data}` };
    const part = { type: "file", file };
    const inResult = [user([part]), calls("a"), result("a", [part])];
    const places = [0, 2].map((index) => `messages.${index}.content.0.file.filename`);
    expect(await chat(google, "gemini-3-pro", { messages: inResult })).toMatchObject({ ignored: places });
    expect(await chat(anthropic, "claude-x", { messages: inResult })).toMatchObject({ ignored: [] });
    const input = [{ role: "user", content: [{ type: "input_file", ...file }] }];
    expect(await respond(google, "gemini-3-pro", { input })).toMatchObject({
      ignored: ["input.0.content.0.filename"],
    });
    const document = {
      type: "document",
      title: "Report",
      source: { type: "base64", media_type: type, data },
    };
    const titled = { max_tokens: 9, messages: [user([document])] };
    expect(await messages(google, "gemini-3-pro", titled)).toMatchObject({
      ignored: ["messages.0.content.0.title"],
    });
  });

  it("is named for an image that is sent as a file, which Anthropic takes without a name", async () => {
    const file = { filename: "a.png", file_data: "data:image/png;base64,iVBORw0KGgo=" };
    expect(await chat(anthropic, "claude-x", { messages: [user([{ type: "file", file }])] })).toMatchObject({
      ignored: ["messages.0.content.0.file.filename"],
    });
  });
});

describe("what is to be cached, which aider and LiteLLM say in Anthropic's words", () => {
  it("is told to Anthropic with instructions, parts, results and tools", async () => {
    const cache_control = { type: "ephemeral" };
    const cached = { type: "text", text: "long", cache_control };
    const look = { type: "function", function: { name: "look", parameters: { type: "object" } } };
    await whole(
      chat(anthropic, "claude-x", {
        tools: [{ ...look, cache_control: { ...cache_control, ttl: "1h" } }],
        messages: [
          { role: "system", content: [cached] },
          user([cached, { type: "text", text: "short" }]),
          calls("a"),
          result("a", [cached]),
        ],
      }),
    );
    const told = { cache_control: { type: "ephemeral", ttl: "5m" } };
    const { system, tools, messages } = vendor.sent[0]?.body ?? {};
    expect(system).toEqual([{ type: "text", text: "long", ...told }]);
    expect(tools).toMatchObject([{ name: "look", cache_control: { ttl: "1h" } }]);
    expect(messages[0].content).toEqual([
      { type: "text", text: "long", ...told },
      { type: "text", text: "short" },
    ]);
    expect(messages[2].content).toMatchObject([{ type: "tool_result", content: "long", ...told }]);
  });
});

describe("a message that says of itself that it ends what is to be cached, as clients of LiteLLM and OpenRouter send it", () => {
  const cache_control = { type: "ephemeral" };
  const told = { cache_control: { type: "ephemeral", ttl: "5m" } };

  it("has Anthropic cache up to its last part", async () => {
    const asked = [
      { role: "system", content: "Be brief.", cache_control },
      { ...user([text("one"), text("two")]), cache_control },
      { ...calls("a"), content: "Let me look.", cache_control },
      { ...result("a", "sunny"), cache_control },
    ];
    await whole(chat(anthropic, "claude-x", { messages: asked }));
    const { system, messages } = vendor.sent[0]?.body ?? {};
    expect(system).toEqual([{ type: "text", text: "Be brief.", ...told }]);
    expect(messages[0].content).toEqual([text("one"), { ...text("two"), ...told }]);
    expect(messages[1].content).toEqual([
      text("Let me look."),
      { type: "tool_use", id: "a", name: "look", input: {}, ...told },
    ]);
    expect(messages[2].content).toMatchObject([{ type: "tool_result", content: "sunny", ...told }]);
  });

  it("may be the whole request, which then says so of its last message", async () => {
    await whole(chat(anthropic, "claude-x", { messages: [user("one"), user("two")], cache_control }));
    expect(vendor.sent[0]?.body.messages[0].content).toEqual([text("one"), { ...text("two"), ...told }]);
    const hour = { ...user("hi"), cache_control: { ...cache_control, ttl: "1h" } };
    await whole(chat(anthropic, "claude-x", { messages: [hour], cache_control }));
    expect(vendor.sent[1]?.body.messages[0].content).toMatchObject([{ cache_control: { ttl: "1h" } }]);
  });

  it("may leave the field unset where the request has it, and end with a blank text", async () => {
    const last = { ...user([text("one"), text("\n")]), cache_control: null };
    await whole(chat(anthropic, "claude-x", { messages: [last], cache_control }));
    expect(vendor.sent[0]?.body.messages[0].content).toEqual([{ ...text("one"), ...told }]);
  });

  it("does not change what its last part says itself", async () => {
    const part = { ...text("one"), cache_control: { ...cache_control, ttl: "1h" } };
    await whole(chat(anthropic, "claude-x", { messages: [{ ...user([part]), cache_control }] }));
    expect(vendor.sent[0]?.body.messages[0].content).toEqual([part]);
  });

  it("may say so of a call, and may say nothing", async () => {
    const asked = [
      { ...user("hi"), cache_control: null },
      { ...calls("a"), tool_calls: [{ ...call("a"), cache_control }] },
      result("a", "sunny"),
    ];
    await whole(chat(anthropic, "claude-x", { messages: asked }));
    const [said, called] = vendor.sent[0]?.body.messages ?? [];
    expect(said.content).toEqual([text("hi")]);
    expect(called.content).toMatchObject([{ type: "tool_use", ...told }]);
  });

  it("is answered by models that do not take it", async () => {
    const messages = [{ ...user("hi"), cache_control }];
    await chat(google, "gemini-3-pro", { messages, cache_control });
    await chat(responses, "gpt-5", { messages, cache_control });
    expect(JSON.stringify(vendor.sent.map(({ body }) => body))).not.toContain("cache_control");
  });
});

describe("a text of nothing but white space", () => {
  it("is not sent to Anthropic, which refuses it", async () => {
    const messages = [
      { role: "system", content: "\n" },
      user([
        { type: "text", text: "hi" },
        { type: "text", text: " " },
      ]),
      { ...calls("a", "b"), content: "\n\n" },
      result("a", " "),
      result("b", [{ type: "text", text: "\n" }, IMAGE]),
      { role: "assistant", content: " " },
    ];
    await whole(chat(anthropic, "claude-x", { messages }));
    const { system, messages: sent } = vendor.sent[0]?.body ?? {};
    expect(system).toBeUndefined();
    expect(sent).toMatchObject([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "tool_use" }, { type: "tool_use" }] },
      { role: "user", content: [{ content: "" }, { content: [{ type: "image" }] }] },
    ]);
  });
});

describe("a message that OpenAI's libraries have parsed", () => {
  it("may be sent back with the object that they have made of its content", async () => {
    const said = { role: "assistant", content: '{"city":"Rome"}', parsed: { city: "Rome" } };
    await whole(chat(anthropic, "claude-x", { messages: [user("hi"), said, user("and now?")] }));
    expect(vendor.sent[0]?.body.messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "text", text: '{"city":"Rome"}' }],
    });
  });
});

describe("the ids of calls that models of other providers have made", () => {
  it("are sent to Anthropic as it takes them, and once each", async () => {
    const turn = [
      user("hi"),
      calls("look:0", "look.0"),
      result("look.0", "second"),
      result("look:0", "first"),
    ];
    await whole(chat(anthropic, "claude-x", { messages: [...turn, ...turn] }));
    const used = (...ids: string[]) => ({ content: ids.map((id) => ({ type: "tool_use", id })) });
    const told = (second: string, first: string) => [
      { tool_use_id: second, content: "second" },
      { tool_use_id: first, content: "first" },
    ];
    expect(vendor.sent[0]?.body.messages).toMatchObject([
      { role: "user" },
      used("look_0", "look_0_1"),
      { content: [...told("look_0_1", "look_0"), { type: "text", text: "hi" }] },
      used("look_0_2", "look_0_3"),
      { content: told("look_0_3", "look_0_2") },
    ]);
  });

  it("may be the same in one message: results are in the order of the calls", async () => {
    const messages = [user("hi"), calls("", ""), result("", "first"), result("", "second")];
    await whole(chat(anthropic, "claude-x", { messages }));
    expect(vendor.sent[0]?.body.messages.slice(1)).toMatchObject([
      { content: [{ id: "_1" }, { id: "_2" }] },
      {
        content: [
          { tool_use_id: "_1", content: "first" },
          { tool_use_id: "_2", content: "second" },
        ],
      },
    ]);
  });
});

describe("top_k, which OpenAI's models do not have", () => {
  const messages = [user("hi")];

  it("is told to providers that have it, and left out for others", async () => {
    await chat(anthropic, "claude-3-haiku", { messages, top_k: 5 });
    await chat(google, "gemini-3-pro", { messages, top_k: 5 });
    expect(await chat(responses, "gpt-5", { messages, top_k: 5 })).toMatchObject({ ignored: ["top_k"] });
    const [forAnthropic, forGoogle] = vendor.sent.map(({ body }) => body);
    expect([forAnthropic.top_k, forGoogle.generationConfig.topK]).toEqual([5, 5]);
  });

  it.each([0, -1, null])("is not asked for with %s", async (off) => {
    const answer = await chat(google, "gemini-3-pro", { messages, top_k: off });
    expect(answer.ignored).toEqual([]);
    expect(vendor.sent[0]?.body.generationConfig.topK).toBeUndefined();
  });

  it.each(["5", 1.5, {}])("is refused as %j", async (wrong) => {
    const asked = chat(google, "gemini-3-pro", { messages, top_k: wrong });
    await expect(asked).rejects.toMatchObject({ code: "invalid_request", param: "top_k" });
  });
});

describe("what a model has said and then refused", () => {
  it.each([
    [{ content: "Well.", refusal: "No." }, ["Well.", "No."]],
    [{ content: null, refusal: "No." }, ["No."]],
    [{ content: "No.", refusal: "No." }, ["No."]],
    [{ content: "Well.", refusal: "" }, ["Well."]],
  ])("is both told to models of other formats: %j", async (said, told) => {
    const messages = [user("hi"), { role: "assistant", ...said }, user("why?")];
    await whole(chat(anthropic, "claude-x", { messages }));
    await whole(chat(google, "gemini-3-pro", { messages }));
    await whole(chat(responses, "gpt-5", { messages }));
    const [forAnthropic, forGoogle, forResponses] = vendor.sent.map(({ body }) => body);
    const texts = (parts: { text?: string; refusal?: string }[]) =>
      parts.map((part) => part.text ?? part.refusal);
    expect(texts(forAnthropic.messages[1].content)).toEqual(told);
    expect(texts(forGoogle.contents[1].parts)).toEqual(told);
    expect(texts(forResponses.input[1].content)).toEqual(told);
  });
});

describe("the thoughts that a model of Mistral's has among its texts", () => {
  it("are left out for providers that can't read them", async () => {
    const content = [{ type: "thinking", thinking: [text("Hm.")] }, text("Well.")];
    const messages = [user("hi"), { role: "assistant", content }, user("why?")];
    await whole(chat(anthropic, "claude-x", { messages }));
    await whole(chat(google, "gemini-3-pro", { messages }));
    const [forAnthropic, forGoogle] = vendor.sent.map(({ body }) => body);
    expect(forAnthropic.messages[1].content).toEqual([text("Well.")]);
    expect(forGoogle.contents[1].parts).toEqual([{ text: "Well." }]);
  });
});

describe("a file", () => {
  const file = (file_data: string, filename = "a.md") =>
    user([{ type: "file", file: { filename, file_data } }]);

  it("may be named by its URL, as clients of OpenRouter do", async () => {
    const url = "https://example.com/report.pdf";
    const messages = [file(url)];
    await whole(chat(anthropic, "claude-x", { messages }));
    await whole(chat(google, "gemini-3-pro", { messages }));
    await whole(chat(responses, "gpt-5", { messages }));
    const [forAnthropic, forGoogle, forResponses] = vendor.sent.map(({ body }) => body);
    expect(forAnthropic.messages[0].content).toMatchObject([{ source: { type: "url", url } }]);
    expect(forGoogle.contents[0].parts).toMatchObject([{ fileData: { fileUri: url } }]);
    expect(forResponses.input[0].content).toEqual([{ type: "input_file", file_url: url }]);
    for (const wrong of ["JVBERi0=", 5]) {
      const asked = chat(anthropic, "claude-x", { messages: [file(wrong as string)] });
      await expect(asked).rejects.toMatchObject({ param: "messages.0.content.0.file.file_data" });
    }
  });

  it.each(["text/markdown", "text/csv", "application/json"])(
    "of the type %s is a text for Anthropic, which takes no files of other types",
    async (type) => {
      const data = Buffer.from("# Grüße").toString("base64");
      await whole(chat(anthropic, "claude-x", { messages: [file(`data:${type};base64,${data}`)] }));
      const source = { type: "text", media_type: "text/plain", data: "# Grüße" };
      expect(vendor.sent[0]?.body.messages[0].content).toEqual([{ type: "document", source, title: "a.md" }]);
    },
  );
});
