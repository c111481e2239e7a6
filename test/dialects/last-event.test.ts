import { describe, expect, it } from "vitest";
import { messageIn } from "../wires/messages-events.ts";
import { chat, chunks, messageOf, messages, replayVendor, streamText, upstreamOf } from "./dialect.ts";

const vendor = replayVendor("https://models.example/v1/responses");
const upstream = upstreamOf("openai-responses", { baseUrl: "https://models.example/v1" });
const HI = { max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const call = (id: string, input: string) => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name: "weather",
  arguments: input,
});
const said = { type: "message", id: "msg_1", content: [{ type: "output_text", text: "Let me see." }] };
const added = (item: object, index: number) => ({
  type: "response.output_item.added",
  output_index: index,
  item,
});
const text = { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: "Let me see." };
const last = (...output: object[]) => ({
  type: "response.completed",
  response: { status: "completed", output, usage: { input_tokens: 1, output_tokens: 1 } },
});

describe("the last event of a streamed response", () => {
  it.each([
    ["a call of which the stream has had the beginning only", [added(call("a", ""), 1)]],
    ["a call of which the stream has had nothing", []],
    [
      "a call that the stream has had in full",
      [{ type: "response.output_item.done", output_index: 1, item: call("a", '{"city":"Rome"}') }],
    ],
    [
      "a call that the stream has had in pieces without an end",
      [
        added(call("a", ""), 1),
        {
          type: "response.function_call_arguments.delta",
          output_index: 1,
          item_id: "fc_a",
          delta: '{"city":"Rome"}',
        },
      ],
    ],
  ])("has %s, which clients of other formats get once", async (_, pieces) => {
    const events = [text, ...pieces, last(said, call("a", '{"city":"Rome"}'))];
    vendor.streams(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
    const asked = { ...HI, stream: true };
    const { content, stop_reason: reason } = messageIn(await streamText(messages(upstream, "m", asked)));
    expect(content).toEqual([
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "a", name: "weather", input: { city: "Rome" } },
    ]);
    expect(reason).toBe("tool_use");
    const message = messageOf(await chunks(chat(upstream, "m", asked)));
    expect(message).toMatchObject({
      content: "Let me see.",
      calls: [{ id: "a", arguments: '{"city":"Rome"}' }],
      finish: "tool_calls",
    });
  });

  it("has calls beside those of the stream", async () => {
    const events = [
      added(call("a", ""), 0),
      added(call("b", ""), 1),
      last(call("b", '{"b":2}'), call("c", ""), call("a", '{"a":1}')),
    ];
    vendor.streams(...events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
    const { content } = messageIn(await streamText(messages(upstream, "m", { ...HI, stream: true })));
    expect(content).toMatchObject([
      { id: "a", input: { a: 1 } },
      { id: "b", input: { b: 2 } },
      { id: "c", input: {} },
    ]);
  });
});
