import { describe, expect, it } from "vitest";
import type { Upstream } from "../../server/src/catalog/catalog.ts";
import { messageIn } from "../wires/messages-events.ts";
import { messages, replayVendor, streamText, upstreamOf, whole } from "./dialect.ts";

const BASE = "https://models.example/v1";
const MODEL = "some/model";
const vendor = replayVendor(new RegExp(`^${BASE}/`));
const TOOL = { name: "weather", description: "", input_schema: { type: "object", properties: {} } };
const HI = { max_tokens: 100, messages: [{ role: "user", content: "hi" }], tools: [TOOL] };
const CALL = { id: "a", type: "function", function: { name: "weather", arguments: "{}" } };

/** A new upstream, of which the service has learned nothing. */
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
