import { describe, expect, it } from "vitest";
import {
  chat,
  chunks,
  messageOf,
  messages,
  replayVendor,
  respond,
  streamText,
  upstreamOf,
  WEATHER_TOOL,
  whole,
} from "./dialect.ts";

// What the AI SDK's package can't be compared with, because it loses or refuses it.
const vendor = replayVendor(/\/messages$/);
const upstream = upstreamOf("anthropic");
const HI = { messages: [{ role: "user", content: "hi" }] };
const SCHEMA = { type: "object", properties: { a: { type: "object" } } };
const answer = (...content: object[]) => ({
  id: "msg_01",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});

describe("a thought without a signature, which Anthropic refuses", () => {
  const unsigned = { type: "thinking", thinking: "hm", signature: "" };
  const said = { type: "text", text: "Well." };
  const asked = {
    max_tokens: 9,
    messages: [...HI.messages, { role: "assistant", content: [unsigned, said] }, ...HI.messages],
  };
  const arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc";

  it.each([
    ["", "sonnet", [said]],
    ["https://api.anthropic.com/v1", "sonnet", [said]],
    ["https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic/v1", arn, [said]],
    ["https://aiplatform.googleapis.com/v1", "sonnet", [said]],
    ["https://some.services.ai.azure.com/anthropic/v1", "sonnet", [said]],
    ["https://proxy.example/v1", "Claude-Sonnet-4-5", [said]],
    ["https://proxy.example/v1", "mimo", [unsigned, said]],
    ["https://amazonaws.com.example/v1", "mimo", [unsigned, said]],
  ])("does not go to its models, whatever their name: %s, %s", async (baseUrl, model, content) => {
    vendor.answers(200, answer(said));
    await messages(upstreamOf("anthropic", { baseUrl }), model, asked);
    expect(vendor.sent[0]?.body.messages[1].content).toEqual(content);
  });
});

describe("what Claude Code says for Anthropic's bills at the beginning of its instructions", () => {
  const line = { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.177.01c; cch=36ee5;" };
  const rules = { type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } };

  it("goes to Anthropic's models only: in each request it differs, and the caches of others compare the beginning", async () => {
    vendor.answers(200, answer({ type: "text", text: "Fine." }));
    const send = async (model: string, system: unknown) => {
      await messages(upstreamOf("anthropic", { baseUrl: "https://proxy.example/v1" }), model, {
        ...HI,
        max_tokens: 9,
        system,
      });
      return vendor.sent.at(-1)?.body.system;
    };
    expect(await send("claude-sonnet-4-5", [line, rules])).toEqual([line, rules]);
    expect(await send("mimo", [line, rules])).toEqual([rules]);
    expect(await send("mimo", `${line.text}\n${rules.text}`)).toBe(rules.text);
    expect(await send("mimo", line.text)).toBeUndefined();
    expect(await send("mimo", [rules, { type: "text", text: "More." }])).toHaveLength(2);
  });
});

describe("a tool without parameters", () => {
  it("has a schema of the type that Anthropic demands", async () => {
    vendor.answers(200, answer({ type: "text", text: "Fine." }));
    const parameters = [undefined, null, {}, { properties: { a: {} } }, SCHEMA];
    const tools = parameters.map((one, index) => ({
      type: "function",
      function: { name: `f${index}`, parameters: one },
    }));
    await chat(upstream, "claude-sonnet-4-5", { ...HI, tools });
    const schemas = vendor.sent[0]?.body.tools.map((tool: { input_schema: object }) => tool.input_schema);
    const none = { type: "object", properties: {} };
    expect(schemas).toEqual([
      none,
      none,
      { type: "object" },
      { type: "object", properties: { a: {} } },
      SCHEMA,
    ]);
  });
});

describe("a text to stop at", () => {
  it.each([[["END", "\n\n"]], [" "]])(
    "is refused if it is only white space, as Anthropic does: %j",
    async (stop) => {
      const refused = { code: "invalid_request", param: "stop" };
      await expect(chat(upstream, "claude-sonnet-4-5", { ...HI, stop })).rejects.toMatchObject(refused);
      expect(vendor.sent).toEqual([]);
    },
  );
});

describe("the id of a user, of which other vendors' servers take letters and digits only", () => {
  const id = JSON.stringify({
    device_id: "0".repeat(64),
    session_id: "6e5cbd59-6a3e-4b4c-9a70-d4e40c9f12ba",
  });
  const asked = (user: string) => ({ ...HI, max_tokens: 9, metadata: { user_id: user, other: 1 } });
  const refusal = {
    message: "Invalid 'user_id': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'.",
    type: "invalid_request_error",
    param: null,
  };
  const fine = answer({ type: "text", text: "Fine." });
  /** Answers as DeepSeek does. */
  const answersPlain = () =>
    vendor.answersBy(({ metadata }) =>
      /^[a-zA-Z0-9_-]+$/.test(metadata?.user_id ?? "u")
        ? Response.json(fine)
        : Response.json({ error: refusal }, { status: 400 }),
    );
  const deepSeek = () => upstreamOf("anthropic", { baseUrl: "https://deepseek.example/anthropic/v1" });
  const sentIds = () => vendor.sent.map(({ body }) => body.metadata.user_id);

  it("is a hash where it has been refused, and stays for others", async () => {
    answersPlain();
    const upstream = deepSeek();
    for (const user of [id, id, `${id} `, "u-1"]) await messages(upstream, "deepseek-chat", asked(user));
    const [first, second, again, other, plain] = sentIds();
    expect(first).toBe(id);
    expect(second).toMatch(/^\w{32}$/);
    expect(again).toBe(second);
    expect(other).toMatch(/^\w{32}$/);
    expect(other).not.toBe(second);
    expect(plain).toBe("u-1");
    expect(vendor.sent[1]?.body).toEqual({
      ...asked(second),
      model: "deepseek-chat",
    });
  });

  it("is a hash for chat completions, too", async () => {
    answersPlain();
    const upstream = deepSeek();
    for (const user of ["jane@example.com", "jane@example.com", "u-1"]) {
      await chat(upstream, "deepseek-chat", { ...HI, user });
    }
    expect(sentIds()).toEqual(["jane@example.com", expect.stringMatching(/^\w{32}$/), sentIds()[1], "u-1"]);
  });

  it("is sent once to Anthropic, whose refusal the client gets, and once where a hash is not another", async () => {
    vendor.answers(400, { error: refusal });
    const refused = { code: "invalid_request", message: refusal.message };
    await expect(messages(upstream, "claude-opus-5", asked(id))).rejects.toMatchObject({ failure: refused });
    await expect(messages(deepSeek(), "deepseek-chat", asked("u-1"))).rejects.toMatchObject({
      failure: refused,
    });
    await expect(messages(deepSeek(), "deepseek-chat", { ...HI, max_tokens: 9 })).rejects.toMatchObject({
      failure: refused,
    });
    expect(vendor.sent).toHaveLength(3);
  });
});

describe("a request to Anthropic", () => {
  it("names the client's user only with an id that Anthropic takes", async () => {
    vendor.answers(200, answer({ type: "text", text: "Fine." }));
    await chat(upstream, "claude-opus-5", { ...HI, user: "u-1" });
    await chat(upstream, "claude-opus-5", { ...HI, user: "u".repeat(257) });
    expect(vendor.sent.map(({ body }) => body.metadata)).toEqual([{ user_id: "u-1" }, undefined]);
  });

  it("has no empty texts, which Anthropic refuses", async () => {
    vendor.answers(200, answer({ type: "text", text: "Fine." }));
    await chat(upstream, "claude-opus-5", {
      messages: [
        { role: "system", content: "" },
        ...HI.messages,
        { role: "assistant", content: "" },
        ...HI.messages,
        { role: "assistant", content: " " },
      ],
    });
    const text = { type: "text", text: "hi" };
    expect(vendor.sent[0]?.body).toMatchObject({ messages: [{ role: "user", content: [text, text] }] });
    expect(vendor.sent[0]?.body).not.toHaveProperty("system");
  });

  it("asks for JSON by a tool whose name none of the client's tools has", async () => {
    vendor.answers(200, answer({ type: "tool_use", id: "t", name: "json_", input: { a: {} } }));
    const json = { ...WEATHER_TOOL, function: { ...WEATHER_TOOL.function, name: "json" } };
    const found = await whole(
      chat(upstream, "claude-opus-5", {
        ...HI,
        tools: [json],
        response_format: { type: "json_schema", json_schema: { name: "s", schema: SCHEMA } },
      }),
    );
    expect(vendor.sent[0]?.body.tools.map(({ name }: { name: string }) => name)).toEqual(["json", "json_"]);
    expect(found.choices[0].message.content).toBe('{"a":{}}');
  });

  it("describes the answer as the client does, by the schema or by the tool", async () => {
    const description = "Where the client is.";
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const json_schema = { name: "s", description, schema };
    const asked = { ...HI, response_format: { type: "json_schema", json_schema } };
    vendor.answersOnce(200, answer({ type: "text", text: "{}" }));
    await chat(upstream, "claude-opus-5", asked);
    expect(vendor.sent[0]?.body.output_config.format.schema).toMatchObject({ description });
    vendor.answersOnce(200, answer({ type: "tool_use", id: "t", name: "json", input: {} }));
    await chat(upstream, "claude-3-5-haiku-20241022", asked);
    expect(vendor.sent[1]?.body.tools).toMatchObject([{ name: "json", input_schema: { description } }]);
  });

  it.each(["reasoning_details", "thinking_blocks", "provider_specific_fields"])(
    "may have the %s of a model that answered behind OpenRouter or LiteLLM",
    async (name) => {
      vendor.answers(200, answer({ type: "text", text: "Fine." }));
      const said = { role: "assistant", content: "Hello.", [name]: [{ text: "hm", signature: "s" }] };
      await chat(upstream, "claude-opus-5", { messages: [...HI.messages, said, ...HI.messages] });
      expect(JSON.stringify(vendor.sent[0]?.body.messages[1])).not.toContain("hm");
    },
  );

  it("asks for JSON without a schema by a tool that takes any object", async () => {
    vendor.answers(200, answer({ type: "tool_use", id: "t", name: "json", input: { city: "Rome" } }));
    const asked = { ...HI, response_format: { type: "json_object" } };
    const found = await whole(chat(upstream, "claude-opus-5", asked));
    expect(vendor.sent[0]?.body.tools).toMatchObject([
      { name: "json", input_schema: { type: "object", additionalProperties: true } },
    ]);
    expect(found.choices[0]).toMatchObject({
      message: { content: '{"city":"Rome"}' },
      finish_reason: "stop",
    });
  });

  it("may be answered with an object without members, streamed and not", async () => {
    const asked = { ...HI, response_format: { type: "json_object" } };
    const content_block = { type: "tool_use", id: "t", name: "json", input: {} };
    vendor.answersOnce(200, answer(content_block));
    const found = await whole(chat(upstream, "claude-opus-5", asked));
    expect(found.choices[0].message.content).toBe("{}");
    const events = [
      { type: "message_start", message: answer() },
      { type: "content_block_start", index: 0, content_block },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    vendor.streamsOnce(
      events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
    );
    const streamed = await chunks(chat(upstream, "claude-opus-5", { ...asked, stream: true }));
    expect(messageOf(streamed)).toMatchObject({ content: "{}", finish: "stop" });
  });

  it("is refused naming the client's field when it has audio", async () => {
    const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const spoken = chat(upstream, "claude-opus-5", { messages: [{ role: "user", content: [audio] }] });
    await expect(spoken).rejects.toMatchObject({
      code: "invalid_request",
      param: "messages.0.content.0.input_audio",
    });
    expect(vendor.sent).toEqual([]);
  });

  it("names the client's field when thinking is not paid for", async () => {
    const asked = chat(upstream, "claude-sonnet-4-5", { ...HI, reasoning_effort: "high" }, { maxTokens: 10 });
    await expect(asked).rejects.toMatchObject({
      param: "reasoning_effort",
      message: expect.stringContaining("needs max_tokens"),
    });
    expect(vendor.sent).toEqual([]);
  });
});

describe("a message of Anthropic's that is cut off within a call", () => {
  it("is incomplete, and so is the call", async () => {
    const events = [
      { type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "a", name: "w", input: {} },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: '{"path":"/tm' },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    ];
    vendor.streams(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
    const text = await streamText(respond(upstream, "m", { input: "hi", stream: true }));
    const done = text.split("\n").filter((line) => line.includes('"type":"response.output_item.done"'));
    expect(done.map((line) => JSON.parse(line.slice("data: ".length)).item)).toMatchObject([
      { type: "function_call", status: "incomplete", arguments: '{"path":"/tm' },
    ]);
  });
});
