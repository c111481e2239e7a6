import { describe, expect, it } from "vitest";
import type { Upstream } from "../../server/src/catalog/catalog.ts";
import { messageIn } from "../wires/messages-events.ts";
import { chat, clock, messages, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";

const BASE = "https://models.example/v1";
const MODEL = "some/model";
const vendor = replayVendor(new RegExp(`^${BASE}/`));
const TOOL = { name: "weather", description: "", input_schema: { type: "object", properties: {} } };
const HI = { max_tokens: 100, messages: [{ role: "user", content: "hi" }], tools: [TOOL] };
const CALL = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };

/** A new upstream: the service has learned nothing about it yet. */
const upstreamAt = () => upstreamOf("openai", { baseUrl: BASE });
const completion = (message: object, finish = "stop") => ({
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
});
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** What the client sends after a call. */
const afterCall = (content: readonly object[]) => [
  ...HI.messages,
  { role: "assistant", content },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sunny" }] },
];

/** Sends what an upstream has said back to it. @returns the message of the model that the upstream gets. */
async function sentBack(upstream: Upstream, content: readonly object[], model = MODEL) {
  vendor.answers(200, completion({ content: "Fine." }));
  await whole(messages(upstream, model, { ...HI, messages: afterCall(content) }));
  return vendor.sent.at(-1)?.body.messages[1];
}

describe("a server", () => {
  it("may say that it has created an answer, as some frameworks do for each POST", async () => {
    for (const status of [201, 203]) {
      vendor.answers(status, completion({ content: "Hello" }));
      const answer = await chat(upstreamAt(), MODEL, { messages: HI.messages });
      expect(answer).toMatchObject({ kind: "whole", body: expect.stringContaining("Hello") });
    }
  });

  it("may not answer later, or with nothing", async () => {
    for (const status of [202, 206]) {
      vendor.answers(status, completion({ content: "Hello" }));
      await expect(chat(upstreamAt(), MODEL, { messages: HI.messages })).rejects.toMatchObject({ status });
    }
  });
});

describe("what OpenRouter tells of thoughts", () => {
  const detail = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 };

  it("has the signature that comes by itself, as the last piece, with its thought", async () => {
    vendor.streams(
      chunk({ reasoning: "It depends ", reasoning_details: [{ ...detail, text: "It depends " }] }),
      chunk({ reasoning: "on Rome.", reasoning_details: [{ ...detail, text: "on Rome." }] }),
      chunk({ reasoning: null, reasoning_details: [{ ...detail, signature: "c2ln" }] }),
      chunk({ tool_calls: [{ index: 0, ...CALL }] }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    );
    const upstream = upstreamAt();
    const { content } = messageIn(await streamText(messages(upstream, MODEL, { ...HI, stream: true })));
    const sent = await sentBack(upstream, content);
    expect(sent.reasoning_details).toEqual([{ ...detail, text: "It depends on Rome.", signature: "c2ln" }]);
  });

  it.each([
    ["the same place", {}],
    ["another id", { id: "b" }],
  ])("keeps thoughts that are whole apart from each other, also with %s", async (_, other) => {
    const details = [
      { type: "reasoning.text", id: "a", text: "One", signature: "MQ==" },
      { type: "reasoning.text", id: "a", text: "Two", signature: "Mg==", ...other },
      { type: "reasoning.summary", id: "c", summary: "Three" },
      { type: "reasoning.summary", id: "c", summary: "Four" },
    ];
    vendor.answers(200, completion({ reasoning_details: details, tool_calls: [CALL] }, "tool_calls"));
    const upstream = upstreamAt();
    const { content } = await whole(messages(upstream, MODEL, HI));
    expect((await sentBack(upstream, content)).reasoning_details).toEqual(details);
  });

  it("is for the model that has thought, and for no other of the same upstream", async () => {
    const details = [{ ...detail, text: "Rome?", signature: "c2ln" }];
    const thought = { reasoning: "Rome?", reasoning_details: details };
    vendor.answers(200, completion({ ...thought, tool_calls: [CALL] }, "tool_calls"));
    const upstream = upstreamAt();
    const { content } = await whole(messages(upstream, MODEL, HI));
    const other = await sentBack(upstream, content, "other/model");
    expect(other.tool_calls).toHaveLength(1);
    expect(other).not.toHaveProperty("reasoning");
    expect(other).not.toHaveProperty("reasoning_details");
    expect(await sentBack(upstream, content)).toMatchObject(thought);
    // A model that takes no message without a thought gets the text.
    vendor.answers(200, completion({ content: "Fine." }));
    vendor.answersOnce(400, { error: { message: "reasoning_content is missing at index 1" } });
    await messages(upstream, "other/model", { ...HI, messages: afterCall(content) });
    expect(vendor.sent.at(-1)?.body.messages[1]).toMatchObject({ reasoning_content: "Rome?" });
    expect(vendor.sent.at(-1)?.body.messages[1]).not.toHaveProperty("reasoning_details");
  });

  it("keeps the thoughts of a stream apart by their ids, and after a signature", async () => {
    const details = [
      { type: "reasoning.text", id: "a", text: "One", signature: "MQ==" },
      { type: "reasoning.text", id: "a", text: "Two" },
      { type: "reasoning.text", id: "b", text: "Three" },
    ];
    vendor.streams(
      ...details.map((one) => chunk({ reasoning_details: [one] })),
      chunk({ tool_calls: [{ index: 0, ...CALL }] }, "tool_calls"),
      "data: [DONE]\n\n",
    );
    const upstream = upstreamAt();
    const { content } = messageIn(await streamText(messages(upstream, MODEL, { ...HI, stream: true })));
    expect((await sentBack(upstream, content)).reasoning_details).toEqual(details);
  });
});

describe("an upstream that refuses a form of requests", () => {
  const fine = () => Response.json(completion({ content: "Fine." }));
  const refused = (message: string) =>
    Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
  const streamed = () =>
    new Response(`${chunk({ content: "Fine." }, "stop")}data: [DONE]\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  const words = (text: string) => [{ role: "user", content: text }];
  /** How many requests the upstream gets. */
  async function requestsOf(asked: () => Promise<unknown>): Promise<number> {
    const before = vendor.sent.length;
    await asked();
    return vendor.sent.length - before;
  }

  it.each([
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning' is unsupported, did you mean 'role'?)]",
    "messages[1].reasoning: reasoning is not supported with this model",
    "Unrecognized field reasoning_details",
  ])("gets the request again without thoughts if it refuses them with: %s", async (message) => {
    const upstream = upstreamAt();
    const details = [{ type: "reasoning.text", text: "Rome?" }];
    const thought = { reasoning: "Rome?", reasoning_details: details };
    vendor.answersOnce(200, completion({ ...thought, tool_calls: [CALL] }, "tool_calls"));
    const { content } = await whole(messages(upstream, MODEL, HI));
    vendor.answersBy(({ messages: sent }) =>
      sent.some((one: object) => "reasoning" in one || "reasoning_details" in one)
        ? refused(message)
        : fine(),
    );
    const answer = await whole(messages(upstream, MODEL, { ...HI, messages: afterCall(content) }));
    expect(answer.content).toEqual([{ type: "text", text: "Fine." }]);
  });

  it("does not get the same request twice if its refusal repeats words of the client", async () => {
    const said = "stream_options, reasoning_content is missing, unexpected role 'system', reasoning";
    vendor.answersBy(() => refused(`Invalid text: ${said}`));
    const upstream = upstreamAt();
    expect(await requestsOf(() => messages(upstream, MODEL, HI).catch(() => {}))).toBe(1);
    const history = [...words("hi"), { role: "assistant", content: "Yes?" }, ...words(said)];
    const asked = { ...HI, stream: true, system: "Be brief.", messages: history };
    expect(await requestsOf(() => messages(upstream, MODEL, asked).catch(() => {}))).toBeLessThanOrEqual(4);
    const bodies = vendor.sent.map(({ body }) => JSON.stringify(body));
    expect(new Set(bodies).size).toBe(bodies.length);
  });

  it("still gets the instructions of other clients in their place after it has refused the place of one client's", async () => {
    const later = { ...HI, messages: [...words("hi"), { role: "assistant", content: "Yes?" }] };
    vendor.answersBy(({ messages: sent }) =>
      sent.some(
        ({ role }: { role: string }, at: number) => role === "system" && sent[at - 1]?.role === "assistant",
      )
        ? refused("Unexpected role 'system' after role 'assistant'")
        : fine(),
    );
    const upstream = upstreamAt();
    const system = { role: "system", content: "Be brief." };
    const one = [...later.messages, system, ...words("go")];
    expect(await requestsOf(() => messages(upstream, MODEL, { ...HI, messages: one }))).toBe(2);
    await messages(upstream, MODEL, { ...HI, messages: [...words("hi"), system, ...words("go")] });
    expect(vendor.sent.at(-1)?.body.messages[1]).toEqual(system);
  });

  it("is asked for the usage of a stream again after some minutes, because one account may have caused the refusal", async () => {
    vendor.answersBy((body) =>
      body.made_up === undefined || body.stream_options === undefined
        ? streamed()
        : refused("made_up and stream_options"),
    );
    const upstream = upstreamAt();
    const asked = { stream: true, messages: words("hi") };
    expect(await requestsOf(() => chat(upstream, MODEL, { ...asked, made_up: 1 }))).toBe(2);
    await chat(upstream, MODEL, asked);
    expect(vendor.sent.at(-1)?.body).not.toHaveProperty("stream_options");
    clock.ms += 5 * 60_000;
    await chat(upstream, MODEL, asked);
    expect(vendor.sent.at(-1)?.body.stream_options).toEqual({ include_usage: true });
  });

  it("gets a client's other stream options after it has refused to report the usage", async () => {
    vendor.answersBy((body) =>
      body.stream_options?.include_usage === undefined ? streamed() : refused("unknown field include_usage"),
    );
    const upstream = upstreamAt();
    const asked = { stream: true, messages: words("hi") };
    const others = { ...asked, stream_options: { include_usage: true, include_obfuscation: false } };
    // What is refused together with options of the client says nothing about others' requests.
    expect(await requestsOf(() => chat(upstream, MODEL, others))).toBe(2);
    expect(vendor.sent.at(-1)?.body.stream_options).toEqual({ include_obfuscation: false });
    expect(await requestsOf(() => chat(upstream, MODEL, asked))).toBe(2);
    expect(await requestsOf(() => chat(upstream, MODEL, others))).toBe(1);
    expect(vendor.sent.at(-1)?.body.stream_options).toEqual({ include_obfuscation: false });
  });

  /** A model that has thought before a call, and what its client sends back. */
  async function thoughtBy(upstream: Upstream, thought: object = { reasoning_content: "Rome?" }) {
    vendor.answersOnce(200, completion({ ...thought, tool_calls: [CALL] }, "tool_calls"));
    const { content } = await whole(messages(upstream, MODEL, HI));
    return { ...HI, messages: afterCall(content) };
  }
  const unsupported = "property 'messages.1.assistant.reasoning_content' is unsupported";
  const refusesThoughts = ({ messages: sent }: { messages: object[] }) =>
    sent.some((one) => "reasoning_content" in one) ? refused(unsupported) : fine();

  it("gets no thoughts for some minutes after it has refused them as unknown", async () => {
    const upstream = upstreamAt();
    const asked = await thoughtBy(upstream);
    vendor.answersBy(refusesThoughts);
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(2);
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(1);
    // Another model of the upstream may take them.
    expect(await requestsOf(() => messages(upstream, "other/model", HI))).toBe(1);
    clock.ms += 5 * 60_000;
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(2);
  });

  it("gets thoughts again as soon as it refuses messages without them", async () => {
    const upstream = upstreamAt();
    const asked = await thoughtBy(upstream);
    vendor.answersBy(refusesThoughts);
    await messages(upstream, MODEL, asked);
    vendor.answersBy(({ messages: sent }) =>
      sent.every((one: { role: string }) => one.role !== "assistant" || "reasoning_content" in one)
        ? fine()
        : refused("reasoning_content is missing in message 1"),
    );
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(2);
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(1);
    vendor.answersBy(refusesThoughts);
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(2);
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(1);
  });

  it("still gets the thoughts of other clients after it has refused those of one, or quoted the names of its tools", async () => {
    const reasons = {
      type: "object",
      properties: { reasoning: { type: "string" } },
      required: ["reasoning"],
    };
    const tools = [{ name: "weather", description: "", input_schema: reasons }];
    for (const message of [
      "reasoning_content: the signature at index 0 is invalid",
      "tool call validation failed: parameters for tool weather did not match schema: [additionalProperties 'reasoning' not allowed]",
    ]) {
      const upstream = upstreamAt();
      const asked = await thoughtBy(upstream);
      vendor.answers(200, completion({ content: "Fine." }));
      vendor.answersOnce(400, { error: { message } });
      expect(await requestsOf(() => messages(upstream, MODEL, { ...asked, tools }))).toBe(2);
      expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(1);
      expect(vendor.sent.at(-1)?.body.messages[1]).toHaveProperty("reasoning_content");
    }
  });

  it.each([
    "stream_options is no city",
    'the tool "include_usage" was not called: stream_options',
    'Unknown words: a "stream_options"\\n',
  ])(
    "is still asked for the usage of other requests if its refusal may quote the client: %s",
    async (said) => {
      const upstream = upstreamAt();
      vendor.answersBy(streamed);
      const asked = { stream: true, messages: words(`${said}, and not include_usage`) };
      for (const ask of [chat, messages]) {
        vendor.answersOnce(400, { error: { message: `Invalid text: ${said}` } });
        expect(await requestsOf(() => ask(upstream, MODEL, { max_tokens: 9, ...asked }))).toBe(2);
        expect(vendor.sent.at(-1)?.body).not.toHaveProperty("stream_options");
        await ask(upstream, MODEL, { max_tokens: 9, ...asked, messages: words("hi") });
        expect(vendor.sent.at(-1)?.body).toHaveProperty("stream_options");
      }
    },
  );

  it("is not asked for the usage after it has refused the field itself, even if a client's text names the field", async () => {
    const upstream = upstreamAt();
    vendor.answersBy((body) => (body.stream_options === undefined ? streamed() : refusedField()));
    const refusedField = () =>
      Response.json({ detail: [{ loc: ["body", "stream_options"], msg: "Extra inputs" }] }, { status: 422 });
    const asked = { stream: true, messages: words("What are stream_options?") };
    expect(await requestsOf(() => chat(upstream, MODEL, asked))).toBe(2);
    expect(await requestsOf(() => chat(upstream, MODEL, asked))).toBe(1);
  });

  const EFFORT = "Unrecognized request argument supplied: reasoning_effort";
  const thinking = (budget: number) => ({ thinking: { type: "enabled", budget_tokens: budget } });

  it("is not asked to think for some minutes after it has refused to, because some clients ask every model", async () => {
    const upstream = upstreamAt();
    vendor.answersBy((body) => (body.reasoning_effort === undefined ? fine() : refused(EFFORT)));
    const asked = { ...HI, ...thinking(2_000) };
    const ask = async () => (await messages(upstream, MODEL, asked)).ignored;
    expect(await requestsOf(ask)).toBe(2);
    expect(await requestsOf(ask)).toBe(1);
    expect(await ask()).toEqual(["thinking"]);
    // It may take another effort, and this one without tools.
    expect(await requestsOf(() => messages(upstream, MODEL, { ...asked, ...thinking(9_000) }))).toBe(2);
    expect(await requestsOf(() => messages(upstream, MODEL, { ...asked, tools: [] }))).toBe(2);
    expect(await requestsOf(() => messages(upstream, "other/model", asked))).toBe(2);
    clock.ms += 5 * 60_000;
    expect(await requestsOf(ask)).toBe(2);
  });

  it.each([
    ["the history of one client", "Expected `thinking` as the first block of message 1", "hi"],
    ["what one client has written", `Invalid text: ${EFFORT}`, EFFORT],
  ])("is still asked to think for other clients after it has refused %s", async (_, message, said) => {
    const upstream = upstreamAt();
    vendor.answers(200, completion({ content: "Fine." }));
    vendor.answersOnce(400, { error: { message } });
    const asked = { ...HI, ...thinking(2_000), messages: words(said) };
    expect(await requestsOf(() => messages(upstream, MODEL, asked))).toBe(2);
    expect(await requestsOf(() => messages(upstream, MODEL, { ...asked, messages: words("hi") }))).toBe(1);
    expect(vendor.sent.at(-1)?.body.reasoning_effort).toBe("low");
  });

  it("does not get a request twice in which the client itself asks for encrypted reasoning", async () => {
    vendor.answersBy(() => refused("Encrypted content is not supported with this model."));
    const upstream = upstreamOf("openai-responses", { baseUrl: BASE });
    const asked = { input: "hi", include: ["reasoning.encrypted_content"] };
    expect(await requestsOf(() => respond(upstream, MODEL, asked).catch(() => {}))).toBe(1);
  });

  it("is still asked for the encrypted reasoning of other requests if its refusal may quote the client", async () => {
    const upstream = upstreamOf("openai-responses", { baseUrl: BASE });
    const ask = (input: string) => respond(upstream, MODEL, { input });
    const include = ["reasoning.encrypted_content"];
    vendor.answers(200, { status: "completed", output: [] });
    vendor.answersOnce(400, { error: { message: "Invalid text: include" } });
    expect(await requestsOf(() => ask("include"))).toBe(2);
    await ask("hi");
    expect(vendor.sent.at(-1)?.body.include).toEqual(include);
    const message = "Encrypted content is not supported with this model.";
    vendor.answersOnce(400, { error: { message, param: "include" } });
    expect(await requestsOf(() => ask("include"))).toBe(2);
    await ask("hi");
    expect(vendor.sent.at(-1)?.body).not.toHaveProperty("include");
  });

  const toolCalls = (...ids: string[]) => ids.map((id) => ({ ...CALL, id }));
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "sunny" });
  /** A history of calls with ids of other models, and with one of Mistral's. */
  const history = [
    ...words("hi"),
    {
      role: "assistant",
      content: null,
      tool_calls: toolCalls("call_0123456789abcdef", "toolu_1", "D681PevKs"),
    },
    ...["call_0123456789abcdef", "toolu_1", "D681PevKs"].map(result),
  ];
  // biome-ignore lint/suspicious/noExplicitAny: messages as they were sent
  const idsIn = (sent: any[]) => ({
    calls: sent.flatMap(({ tool_calls: made = [] }) => made.map(({ id }: { id: string }) => id)),
    results: sent.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id])),
  });
  it.each([
    (id: string) => `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
    () => "Tool call IDs should be alphanumeric strings with length 9!",
  ])("gets ids of calls with nine letters and digits after it has refused other ids", async (message) => {
    vendor.answersBy(({ messages: sent, stream }) => {
      const { calls, results } = idsIn(sent);
      const wrong = [...calls, ...results].find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
      return wrong !== undefined ? refused(message(wrong)) : stream ? streamed() : fine();
    });
    const upstream = upstreamAt();
    const model = "mistral-large";
    const content = toolCalls("toolu_1").map(({ id }) => ({
      type: "tool_use",
      id,
      name: "weather",
      input: {},
    }));
    const translated = {
      ...HI,
      messages: [
        ...words("hi"),
        { role: "assistant", content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "sunny" }] },
      ],
    };
    for (const stream of [false, true]) {
      for (const ask of [
        (to: Upstream) => chat(to, model, { stream, messages: history }),
        (to: Upstream) => messages(to, model, { ...translated, stream }),
      ]) {
        expect(await requestsOf(() => ask(upstreamAt()))).toBe(2);
        await ask(upstream);
        expect(await requestsOf(() => ask(upstream))).toBe(1);
        const { calls, results } = idsIn(vendor.sent.at(-1)?.body.messages);
        expect(results).toEqual(calls);
        expect(new Set(calls).size).toBe(calls.length);
      }
    }
    await chat(upstream, model, { messages: history });
    const { calls } = idsIn(vendor.sent.at(-1)?.body.messages);
    expect(calls[2]).toBe("D681PevKs");
    // Another model has the ids as they are.
    expect(await requestsOf(() => chat(upstream, "other/model", { messages: words("hi") }))).toBe(1);
  });

  it("does not get a chat completion twice if its refusal can't be about the ids of calls", async () => {
    vendor.answersBy(() => refused("Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9."));
    const asked = { messages: [...words("hi"), { role: "assistant", tool_calls: toolCalls("D681PevKs") }] };
    for (const stream of [false, true]) {
      expect(await requestsOf(() => chat(upstreamAt(), MODEL, { ...asked, stream }).catch(() => {}))).toBe(1);
    }
  });
});
