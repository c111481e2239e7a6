import { describe, expect, it } from "vitest";
import type { WireAnswer } from "../../server/src/upstream/dialect.ts";
import { chat, messages, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";
import { answer as googleAnswer, MALFORMED, streamOf } from "./google-answers.ts";

// Calls of tools that upstreams should not give. A tool must not run without its parameters.
const vendor = replayVendor(/.*/);
const baseUrl = "https://models.example/v1";
const openai = upstreamOf("openai", { baseUrl });
const anthropic = upstreamOf("anthropic");
const google = upstreamOf("google");
const responses = upstreamOf("openai-responses", { baseUrl });

type Ask = (stream: boolean) => Promise<WireAnswer>;
const ASKED = { messages: [{ role: "user", content: "hi" }], max_tokens: 100 };
const byChat = (upstream: typeof openai): Ask => {
  return (stream) => chat(upstream, "gemini-2.5-flash", { ...ASKED, stream });
};
const byMessages = (upstream: typeof openai): Ask => {
  return (stream) => messages(upstream, "gemini-2.5-flash", { ...ASKED, stream });
};
const byResponses = (upstream: typeof openai): Ask => {
  return (stream) => respond(upstream, "gemini-2.5-flash", { input: "hi", stream });
};

const completionOf = (called: object) => {
  const tool_calls = [{ id: "a", type: "function", index: 0, function: called }];
  const choice = { index: 0, finish_reason: "tool_calls" };
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  return { choices: [{ ...choice, message: { tool_calls }, delta: { tool_calls } }], usage };
};
const messageOf = (called: object) => ({
  content: [{ type: "tool_use", id: "a", ...called }],
  stop_reason: "tool_use",
  usage: { input_tokens: 1, output_tokens: 1 },
});
const blocksOf = (called: object) => [
  { type: "message_start", message: messageOf(called) },
  { type: "content_block_start", index: 0, content_block: messageOf(called).content[0] },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
];
const responseOf = (called: object) => ({
  status: "completed",
  output: [{ type: "function_call", id: "fc", call_id: "a", ...called }],
  usage: { input_tokens: 1, output_tokens: 1 },
});
const completed = (called: object) => [{ type: "response.completed", response: responseOf(called) }];

/** Each upstream with a client of another format, what it calls a call's input, and a call whole and streamed. */
const UPSTREAMS = [
  ["Chat Completions for the Responses API", byResponses(openai), "arguments", completionOf, undefined],
  ["Chat Completions for the Messages API", byMessages(openai), "arguments", completionOf, undefined],
  ["Anthropic", byChat(anthropic), "input", messageOf, blocksOf],
  ["Google", byChat(google), "args", (called: object) => googleAnswer([{ functionCall: called }]), undefined],
  ["the Responses API", byChat(responses), "arguments", responseOf, completed],
] as const;

describe.each(UPSTREAMS)("a call by %s", (_, ask, input, wholeOf, eventsOf) => {
  const streamed = (called: object) => streamOf(...(eventsOf?.(called) ?? [wholeOf(called)]));

  it.each([[{}], [{ name: null }], [{ name: "" }], [{ name: 5 }]])(
    "is a failure if it has no name: %j",
    async (named) => {
      const called = { ...named, [input]: input === "arguments" ? '{"a":1}' : { a: 1 } };
      vendor.answers(200, wholeOf(called));
      await expect(ask(false)).rejects.toMatchObject(MALFORMED);
      vendor.streams(streamed(called));
      await expect(streamText(ask(true))).rejects.toMatchObject(MALFORMED);
    },
  );

  it.each([[5], [true], [[]], [["a"]]])("is a failure if its input is %j", async (value) => {
    const called = { name: "w", [input]: value };
    vendor.answers(200, wholeOf(called));
    await expect(ask(false)).rejects.toMatchObject(MALFORMED);
    vendor.streams(streamed(called));
    await expect(streamText(ask(true))).rejects.toMatchObject(MALFORMED);
  });

  it.each([[{ a: 1 }], ['{"a":1}']])("has its input whether it is an object or a text: %j", async (value) => {
    const called = { name: "w", [input]: value };
    vendor.answers(200, wholeOf(called));
    // Texts are escaped where the input is one for the client.
    expect(JSON.stringify(await whole(ask(false))).replaceAll("\\", "")).toContain('{"a":1}');
    vendor.streams(streamed(called));
    expect((await streamText(ask(true))).replaceAll("\\", "")).toContain('{"a":1}');
  });

  it("may have no input", async () => {
    vendor.answers(200, wholeOf({ name: "w" }));
    expect(JSON.stringify(await whole(ask(false)))).toContain('"w"');
  });
});

describe("a piece of a call", () => {
  it("that names no call and has no input begins none", async () => {
    const empty = { tool_calls: [{ index: 0, function: { arguments: "" } }] };
    vendor.streams(
      streamOf(
        { choices: [{ index: 0, delta: empty }] },
        { choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] },
      ),
    );
    const text = await streamText(byMessages(openai)(true));
    expect(text).toContain("Hello");
    expect(text).not.toContain('"type":"tool_use"');
  });
});

describe("several calls that their server tells apart by nothing but their order", () => {
  const called = (name: string, input: string) => ({
    type: "function",
    function: { name, arguments: input },
  });
  const CALLS = [called("a", "{}"), called("b", '{"x":"}{"}'), called("b", "{}")];
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  const choice = (fields: object) => ({ choices: [{ index: 0, ...fields }], usage });

  it.each([{}, { index: 0 }, { id: null }, { id: "" }, { id: "same", index: 0 }])(
    "are several: %j",
    async (place) => {
      const calls = CALLS.map((call) => ({ ...call, ...place }));
      const end = { finish_reason: "tool_calls" };
      const pieces = calls.map((call) => choice({ delta: { tool_calls: [call] } }));
      const atOnce = choice({ message: { role: "assistant", tool_calls: calls }, ...end });
      for (const ask of [byMessages(openai), byResponses(openai)]) {
        vendor.answers(200, atOnce);
        const { content, output } = await whole(ask(false));
        const found = (content ?? output).map(({ name }: { name: string }) => name);
        expect(found).toEqual(["a", "b", "b"]);
        for (const stream of [streamOf(...pieces, choice({ delta: {}, ...end })), streamOf(atOnce)]) {
          vendor.streams(stream);
          const text = await streamText(ask(true));
          const begun = /"content_block":\{"type":"tool_use"|output_item\.added","sequence_number"/g;
          expect(text.match(begun)).toHaveLength(3);
        }
      }
    },
  );
});

describe("a choice without a message", () => {
  it.each([[{}], [{ message: null }], [{ message: "Hello", finish_reason: "stop" }]])(
    "is a failure: %j",
    async (choice) => {
      vendor.answers(200, { choices: [{ index: 0, ...choice }] });
      await expect(byMessages(openai)(false)).rejects.toMatchObject(MALFORMED);
    },
  );

  it("may have been filtered", async () => {
    vendor.answers(200, { choices: [{ index: 0, finish_reason: "content_filter" }] });
    expect(await whole(byMessages(openai)(false))).toMatchObject({ stop_reason: "refusal" });
  });
});
