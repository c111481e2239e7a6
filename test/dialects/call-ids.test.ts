import { describe, expect, it } from "vitest";
import { chat, chunks, messageOf, messages, replayVendor, respond, upstreamOf, whole } from "./dialect.ts";
import { answer as googleAnswer, streamOf } from "./google-answers.ts";

// The ids of calls in conversations that are continued by another model, whose server has other rules for them.
const vendor = replayVendor(/.*/);
const OPENAI = "https://api.openai.com/v1";
const OTHER = "https://models.example/v1";
/** As vLLM gives them: longer than OpenAI's Chat Completions take. */
const VLLM = `chatcmpl-tool-${"0123456789abcdef".repeat(2)}`;
const LONG = `call_${"a".repeat(200)}`;
/** As another gateway gives them, with the signature of a thought in the id: only the end differs. */
const LONG_TOO = `${LONG}b`;

/** An answer in every format. */
const ANSWER = {
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  status: "completed",
  output: [],
  candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 },
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
};

const called = (id: string, name = "look") => ({
  id,
  type: "function",
  function: { name, arguments: "{}" },
});
const result = (id: string, content = "seen") => ({ role: "tool", tool_call_id: id, content });
const historyOf = (...ids: string[]) => [
  { role: "user", content: "hi" },
  { role: "assistant", content: null, tool_calls: ids.map((id) => called(id)) },
  ...ids.map((id) => result(id)),
];
const itemsOf = (...ids: string[]) => [
  { role: "user", content: "hi" },
  ...ids.map((id) => ({ type: "function_call", id: `fc_${id}`, call_id: id, name: "look", arguments: "{}" })),
  ...ids.map((id) => ({ type: "function_call_output", call_id: id, output: "seen" })),
];

// biome-ignore lint/suspicious/noExplicitAny: messages or items as they were sent
const idsIn = (sent: any[]) => ({
  calls: sent.flatMap(({ tool_calls: made = [], type, call_id }) => [
    ...made.map(({ id }: { id: string }) => id),
    ...(type === "function_call" ? [call_id] : []),
  ]),
  results: sent.flatMap(({ tool_call_id: id, type, call_id }) => [
    ...(id === undefined ? [] : [id]),
    ...(type === "function_call_output" ? [call_id] : []),
  ]),
});

describe("ids of calls that other models have made", () => {
  const openai = (baseUrl: string) => upstreamOf("openai", { baseUrl });
  const responses = (baseUrl: string) => upstreamOf("openai-responses", { baseUrl });
  const history = { messages: historyOf(VLLM, LONG, LONG_TOO, "call_1") };
  const input = { input: itemsOf(VLLM, LONG, LONG_TOO, "call_1") };

  it.each([
    ["Chat Completions", 40, () => chat(openai(OPENAI), "gpt-5", history)],
    ["Chat Completions, in a stream", 40, () => chat(openai(OPENAI), "gpt-5", { ...history, stream: true })],
    ["Chat Completions, by the Responses API", 40, () => respond(openai(OPENAI), "gpt-5", input)],
    ["the Responses API", 64, () => respond(responses(OPENAI), "gpt-5", input)],
    ["the Responses API, by Chat Completions", 64, () => chat(responses(OPENAI), "gpt-5", history)],
  ])("are no longer than OpenAI takes: %s", async (_, maxLength, ask) => {
    vendor.answers(200, ANSWER);
    await ask();
    const { messages: turns, input: items } = vendor.sent[0]?.body ?? {};
    const { calls, results } = idsIn(turns ?? items);
    expect(calls).toHaveLength(4);
    expect(new Set(calls).size).toBe(4);
    expect(results).toEqual(calls);
    for (const id of calls) expect(id.length).toBeLessThanOrEqual(maxLength);
    expect(calls[3]).toBe("call_1");
    const lengths = (items ?? []).map(({ id = "" }: { id?: string }) => id.length);
    expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(64);
  });

  it("stay as they are for other servers, as all else of a request does", async () => {
    vendor.answers(200, ANSWER);
    await chat(openai(OTHER), "m", history);
    await respond(responses(OTHER), "m", input);
    await chat(openai(OPENAI), "gpt-5", { messages: historyOf("call_1") });
    await respond(responses(OPENAI), "gpt-5", { input: itemsOf("call_1") });
    const [forChat, forResponses, short, shortItems] = vendor.sent.map(({ body }) => body);
    expect(forChat.messages).toEqual(history.messages);
    expect(forResponses.input).toEqual(input.input);
    expect(short.messages).toEqual(historyOf("call_1"));
    expect(shortItems.input).toEqual(itemsOf("call_1"));
  });
});

describe("ids of calls that other vendors' servers of the Messages API have given", () => {
  const used = (id: string) => ({ type: "tool_use", id, name: "look", input: { n: 1 } });
  const seen = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "seen" });
  const ids = ["functions.look:0", "functions.look.0", "toolu_1"];
  const sent = {
    max_tokens: 9,
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: ids.map(used) },
      { role: "user", content: ids.map(seen) },
    ],
  };
  const message = { content: [], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } };

  it("are sent to Anthropic as it takes them, and to such a server as they are", async () => {
    vendor.answers(200, message);
    await messages(upstreamOf("anthropic"), "claude-x", sent);
    await messages(upstreamOf("anthropic", { baseUrl: OTHER }), "kimi", sent);
    const [own, other] = vendor.sent.map(({ body }) => body.messages);
    const calls = own[1].content.map(({ id }: { id: string }) => id);
    expect(own[2].content.map((block: { tool_use_id: string }) => block.tool_use_id)).toEqual(calls);
    expect(new Set(calls).size).toBe(3);
    for (const id of calls) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(own[1].content[2]).toEqual(used("toolu_1"));
    expect(other).toEqual(sent.messages);
  });
});

describe("calls of one answer that their server has given the same id", () => {
  const tools = ["look", "listen"].map((name) => ({ type: "function", function: { name } }));
  const asked = [{ role: "user", content: "hi" }];
  const turn = (id: string) => [
    { role: "assistant", content: null, tool_calls: [called(id, "look"), called(id, "listen")] },
    result(id, "seen"),
    result(id, "heard"),
  ];

  it.each(["call_0", ""])("have their results in their order: %j", async (id) => {
    vendor.answers(200, ANSWER);
    const sent = { messages: [...asked, ...turn(id), ...turn(id)] };
    await chat(upstreamOf("google", { baseUrl: OTHER }), "gemini-2.5-flash", sent);
    await chat(upstreamOf("openai-responses", { baseUrl: OTHER }), "m", sent);
    const [google, responses] = vendor.sent.map(({ body }) => body);
    const both = [
      { name: "look", response: { content: "seen" } },
      { name: "listen", response: { content: "heard" } },
    ].map((functionResponse) => ({ functionResponse }));
    expect([google.contents[2].parts, google.contents[4].parts]).toMatchObject([both, both]);
    const { calls, results } = idsIn(responses.input);
    expect(new Set(calls).size).toBe(4);
    expect(calls).not.toContain("");
    expect(results).toEqual(calls);
  });

  it("do not take a result that an earlier turn lacks", async () => {
    vendor.answers(200, ANSWER);
    const [calls, seen] = turn("call_0");
    const sent = { messages: [...asked, calls, ...asked, ...turn("call_0").slice(0, 2), seen] };
    await chat(upstreamOf("google", { baseUrl: OTHER }), "gemini-2.5-flash", sent);
    const parts = vendor.sent[0]?.body.contents.at(-1).parts;
    expect(parts).toMatchObject(["look", "listen"].map((name) => ({ functionResponse: { name } })));
  });

  it("have different ids for clients, whole and streamed", async () => {
    const parts = ["look", "listen"].map((name) => ({ functionCall: { id: "call_0", name, args: {} } }));
    const google = upstreamOf("google");
    const idsOf = (calls: readonly { readonly id: string }[]) => new Set(calls.map(({ id }) => id));
    vendor.answersOnce(200, googleAnswer(parts));
    const { message } = (await whole(chat(google, "gemini-3-pro", { messages: asked, tools }))).choices[0];
    expect(idsOf(message.tool_calls)).toEqual(new Set(["call_0", "call_0_1"]));
    vendor.streamsOnce(streamOf(googleAnswer(parts)));
    const streamed = await chunks(chat(google, "gemini-3-pro", { messages: asked, tools, stream: true }));
    expect(idsOf(messageOf(streamed).calls)).toEqual(new Set(["call_0", "call_0_1"]));
    vendor.answersOnce(200, googleAnswer(parts));
    const { content } = await whole(messages(google, "gemini-3-pro", { messages: asked, max_tokens: 9 }));
    expect(idsOf(content).size).toBe(2);
  });
});
