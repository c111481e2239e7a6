import { describe, expect, it } from "vitest";
import { chat, chunks, messageOf, messages, replayVendor, streamText, upstreamOf } from "./dialect.ts";
import { MALFORMED, streamOf } from "./google-answers.ts";

// Items and blocks that have one position, although each should have its own. Proxies that translate chat completions number messages and calls apart,
// or give each item the position 0.
const vendor = replayVendor(/.*/);
const responses = upstreamOf("openai-responses", { baseUrl: "https://models.example/v1" });
const anthropic = upstreamOf("anthropic");
const ASKED = { messages: [{ role: "user", content: "hi" }], max_tokens: 100, stream: true };
const USAGE = { input_tokens: 1, output_tokens: 1 };

/** What a client of chat completions has of a stream. */
async function foundIn(events: readonly object[]) {
  vendor.streams(streamOf(...events));
  return messageOf(await chunks(chat(responses, "gpt-5", ASKED)));
}

describe("items of a streamed response at one position", () => {
  const CALLS = [
    { id: "call_1", name: "a", arguments: '{"x":1}' },
    { id: "call_2", name: "b", arguments: '{"x":2}' },
    { id: "call_3", name: "c", arguments: '{"x":3}' },
  ];
  const itemOf = ({ id, name, arguments: input }: (typeof CALLS)[number], more: object = {}) => ({
    type: "function_call",
    call_id: id,
    name,
    arguments: input,
    ...more,
  });
  const message = (text: string) => ({ type: "message", content: [{ type: "output_text", text }] });
  const added = (item: object) => ({ type: "response.output_item.added", output_index: 0, item });
  const done = (item: object) => ({ type: "response.output_item.done", output_index: 0, item });
  const completed = (output: object[]) => ({
    type: "response.completed",
    response: { status: "completed", output, usage: USAGE },
  });

  it.each([
    ["with ids", (call: (typeof CALLS)[number]) => ({ id: `fc_${call.id}` })],
    ["without ids", () => ({})],
  ])("are calls with their own arguments, in pieces and whole: %s", async (_, idOf) => {
    const all = completed(CALLS.map((call) => itemOf(call, idOf(call))));
    const pieces = CALLS.flatMap((call) => [
      added(itemOf({ ...call, arguments: "" }, idOf(call))),
      { type: "response.function_call_arguments.delta", output_index: 0, delta: call.arguments.slice(0, 3) },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: call.arguments.slice(3) },
      done(itemOf(call, idOf(call))),
    ]);
    expect((await foundIn([...pieces, all])).calls).toEqual(CALLS);
    const whole = CALLS.flatMap((call) => [
      added(itemOf({ ...call, arguments: "" }, idOf(call))),
      done(itemOf(call, idOf(call))),
    ]);
    expect((await foundIn([...whole, all])).calls).toEqual(CALLS);
    const ends = CALLS.map((call) => done(itemOf(call, idOf(call))));
    expect((await foundIn([...ends, all])).calls).toEqual(CALLS);
  });

  it("are a call with its arguments, and a text beside it", async () => {
    const [call] = CALLS as [(typeof CALLS)[number]];
    const text = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hello" };
    const ends = [done(message("Hello")), done(itemOf(call)), completed([itemOf(call), message("Hello")])];
    const begun = [added(itemOf({ ...call, arguments: "" })), text, ...ends];
    expect(await foundIn(begun)).toMatchObject({ content: "Hello", calls: [call] });
    expect(await foundIn([text, ...ends])).toMatchObject({ content: "Hello", calls: [call] });
  });

  it("are texts, each of which comes whole", async () => {
    const texts = ["one ", "two ", "three"].map(message);
    const pieces = texts.flatMap((item) => [added({ ...item, content: [] }), done(item)]);
    expect((await foundIn([...pieces, completed(texts)])).content).toBe("one two three");
  });

  it("are one call if its server repeats an event of it", async () => {
    const [call] = CALLS as [(typeof CALLS)[number]];
    const beginning = added(itemOf({ ...call, arguments: "" }));
    const piece = { type: "response.function_call_arguments.delta", output_index: 0, delta: call.arguments };
    const end = done(itemOf(call));
    const all = completed([itemOf(call)]);
    expect((await foundIn([beginning, beginning, piece, end, end, all])).calls).toEqual([call]);
  });
});

describe("blocks of a streamed message at one position", () => {
  const start = {
    type: "message_start",
    message: { type: "message", role: "assistant", content: [], usage: USAGE },
  };
  const begun = (content_block: object) => ({ type: "content_block_start", index: 0, content_block });
  const call = (id: string) => begun({ type: "tool_use", id, name: "w", input: {} });
  const input = (partial_json: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json },
  });
  const end = [
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];

  it("are calls with their own input, even if their blocks do not end", async () => {
    vendor.streams(streamOf(start, call("a"), input('{"x":1}'), call("b"), input('{"x":2}'), ...end));
    const { calls } = messageOf(await chunks(chat(anthropic, "claude-sonnet-4-5", ASKED)));
    expect(calls).toEqual([
      { id: "a", name: "w", arguments: '{"x":1}' },
      { id: "b", name: "w", arguments: '{"x":2}' },
    ]);
  });

  it("are a failure if a call would get the input of another one", async () => {
    const events = streamOf(start, call("a"), call("b"), input('{"x":1}'), ...end);
    vendor.streams(events);
    await expect(chunks(chat(anthropic, "claude-sonnet-4-5", ASKED))).rejects.toMatchObject(MALFORMED);
    // A client of the upstream's own format has the events as they are.
    vendor.streams(events);
    expect(await streamText(messages(anthropic, "claude-sonnet-4-5", ASKED))).toContain('"id":"b"');
  });
});
