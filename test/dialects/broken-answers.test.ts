import { describe, expect, it } from "vitest";
import { chat, chunks, messageOf, messages, replayVendor, streamText, upstreamOf, whole } from "./dialect.ts";

// Answers that upstreams should not give, and what a client is told then: never a success that hides something.
const vendor = replayVendor("https://api.anthropic.com/v1/messages");
const anthropic = upstreamOf("anthropic");
const HI = { messages: [{ role: "user", content: "hi" }] };
const MESSAGE = { ...HI, max_tokens: 100 };
const TOOL = { type: "function", function: { name: "w", parameters: { type: "object", properties: {} } } };
const MALFORMED = { failure: { code: "upstream_error" } };

function message(
  content: unknown[],
  usage: object = { input_tokens: 10, output_tokens: 5 },
  stop = "end_turn",
) {
  return { id: "m", type: "message", role: "assistant", model: "x", content, stop_reason: stop, usage };
}

const events = (...list: { type: string }[]) =>
  list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const START = { type: "message_start", message: message([], { input_tokens: 10, output_tokens: 1 }, "") };
const TEXT = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a long answer" } },
  { type: "content_block_stop", index: 0 },
];
const STOP = { type: "message_stop" };

describe("an answer of Anthropic", () => {
  it.each([[{}], [{ usage: { input_tokens: 10 } }]])(
    "has no usage if its end does not report the output's tokens: %j",
    async (usage) => {
      const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, ...usage };
      vendor.streams(events(START, ...TEXT, end, STOP));
      const forwarded = await messages(anthropic, "m", { ...MESSAGE, stream: true });
      if (forwarded.kind !== "stream") throw new Error("not a stream");
      for await (const _ of forwarded.events);
      expect(forwarded.usage()).toBeNull();
      const translated = await chat(anthropic, "m", { ...HI, stream: true });
      if (translated.kind !== "stream") throw new Error("not a stream");
      for await (const _ of translated.events);
      expect(translated.usage()).toBeNull();
    },
  );

  it("without the output's tokens has no usage", async () => {
    vendor.answers(200, message([{ type: "text", text: "a long answer" }], { input_tokens: 10 }));
    expect(await messages(anthropic, "m", MESSAGE)).toMatchObject({ usage: null });
    expect(await chat(anthropic, "m", HI)).toMatchObject({ usage: null });
  });

  it("is a failure if a message never began", async () => {
    vendor.streams(events(STOP));
    await expect(streamText(messages(anthropic, "m", { ...MESSAGE, stream: true }))).rejects.toMatchObject(
      MALFORMED,
    );
  });

  it("is a failure if a piece belongs to no block", async () => {
    const [, delta] = TEXT;
    const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } };
    vendor.streams(events(START, { ...delta, type: "content_block_delta" }, end, STOP));
    await expect(chunks(chat(anthropic, "m", { ...HI, stream: true }))).rejects.toMatchObject(MALFORMED);
  });

  it("has the input of a call whose block does not end", async () => {
    const call = { type: "tool_use", id: "toolu_1", name: "w", input: {} };
    const end = { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } };
    vendor.streams(
      events(START, { type: "content_block_start", index: 0, content_block: call } as never, end, STOP),
    );
    const found = messageOf(await chunks(chat(anthropic, "m", { ...HI, tools: [TOOL], stream: true })));
    expect(found.calls).toEqual([{ id: "toolu_1", name: "w", arguments: "{}" }]);
  });

  it("is a failure if it is nested too deeply", async () => {
    const deep = `{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    const call = { type: "tool_use", id: "a", name: "b", input: "INPUT" };
    vendor.streams(JSON.stringify(message([call])).replace('"INPUT"', deep));
    await expect(chat(anthropic, "m", HI)).rejects.toMatchObject(MALFORMED);
  });

  it("is the JSON alone, without the texts that a model adds to it", async () => {
    const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
    const format = { type: "json_schema", json_schema: { name: "s", schema } };
    const said = { type: "text", text: "Sure, here is the JSON." };
    const call = { type: "tool_use", id: "toolu_1", name: "json", input: { a: 1 } };
    vendor.answers(200, message([said, call, { type: "text", text: "Done." }], undefined, "tool_use"));
    const asked = () => chat(anthropic, "claude-3-5-haiku-latest", { ...HI, response_format: format });
    expect((await whole(asked())).choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: '{"a":1}' },
    });
    expect(vendor.sent[0]?.body.tools[0].name).toBe("json");
    vendor.answers(200, message([said]));
    expect((await whole(asked())).choices[0].message.content).toBe(said.text);
  });

  it("streams the input of calls as it is written", async () => {
    const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } };
    vendor.streams(events(START, ...TEXT, end, STOP));
    await chunks(chat(anthropic, "m", { ...HI, tools: [TOOL], stream: true }));
    expect(vendor.sent[0]?.body).toMatchObject({
      stream: true,
      tools: [{ name: "w", eager_input_streaming: true }],
    });
  });

  it("of 403 to a client's own beta features is that client's fault, and not the credential's", async () => {
    vendor.answers(403, { type: "error", error: { type: "permission_error", message: "no" } });
    await expect(messages(anthropic, "m", MESSAGE)).rejects.toMatchObject({ status: 403 });
    const asked = messages(anthropic, "m", MESSAGE, { "anthropic-beta": "not-ours" });
    await expect(asked).rejects.toMatchObject({
      status: 404,
      failure: { status: 400, param: "anthropic-beta" },
    });
  });
});
