import { describe, expect, it } from "vitest";
import { messages, replayVendor, upstreamOf, whole } from "./dialect.ts";

const vendor = replayVendor(/\/messages$/);
const at = (baseUrl: string) => upstreamOf("anthropic", { baseUrl });
const other = () => at("https://deepseek.example/anthropic/v1");
const cache_control = { type: "ephemeral" };
const reference = { type: "tool_reference", tool_name: "weather", cache_control };
const asked = (...found: object[]) => ({
  max_tokens: 9,
  messages: [
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "a", name: "ToolSearch", input: {} }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: found }] },
  ],
});
const refused = (message: string) =>
  Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });
const fine = () =>
  Response.json({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Fine." }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  });
const UNKNOWN = "messages[2].content[0]: unknown variant `tool_reference`, expected one of `text`, `image`";
const answersTexts = () =>
  vendor.answersBy((body) => (JSON.stringify(body).includes("tool_reference") ? refused(UNKNOWN) : fine()));
const results = () => vendor.sent.map(({ body }) => body.messages[2].content[0].content);

describe("the tools that a client's search has found", () => {
  it("are texts for another provider's server that refuses references to them", async () => {
    answersTexts();
    const upstream = other();
    const text = { type: "text", text: "Found tool: weather", cache_control };
    for (const _ of [1, 2]) {
      const { content } = await whole(messages(upstream, "deepseek-chat", asked(reference)));
      expect(content).toEqual([{ type: "text", text: "Fine." }]);
    }
    expect(results()).toEqual([[reference], [text], [text]]);
  });

  it("stay references where they are taken, and for Anthropic, whose refusal the client gets", async () => {
    vendor.answersBy(fine);
    await messages(other(), "deepseek-chat", asked(reference));
    expect(results()).toEqual([[reference]]);
    answersTexts();
    await expect(messages(at(""), "claude-opus-5", asked(reference))).rejects.toMatchObject({ status: 400 });
    expect(results()).toHaveLength(2);
  });

  it("are sent once where a refusal repeats the client's words, and do not concern others", async () => {
    const upstream = other();
    vendor.answersBy(() => refused("tool_reference is no city"));
    const words = asked({ type: "text", text: "tool_reference is no city" });
    await expect(messages(upstream, "deepseek-chat", words)).rejects.toMatchObject({ status: 400 });
    expect(results()).toHaveLength(1);
    const both = asked({ type: "text", text: "tool_reference is no city" }, reference);
    await expect(messages(upstream, "deepseek-chat", both)).rejects.toMatchObject({ status: 400 });
    vendor.answersBy(fine);
    await messages(upstream, "deepseek-chat", asked(reference));
    expect(results().at(-1)).toEqual([reference]);
  });
});
