import { describe, expect, it } from "vitest";
import { chat, chunks, replayVendor, upstreamOf, whole } from "./dialect.ts";

const vendor = replayVendor(/^https:\/\/(?:api\.anthropic\.com|models\.example)\/v1\//);
const anthropic = upstreamOf("anthropic");
const GRAMMAR = { type: "grammar", grammar: { syntax: "lark", definition: "start: /.+/" } };
const RUN = { type: "custom", custom: { name: "run", description: "Runs a command.", format: GRAMMAR } };
const WEATHER = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const ASKED = { messages: [{ role: "user", content: "hi" }], tools: [RUN, WEATHER] };
const calling = (name: string, input: object) => ({
  content: [{ type: "tool_use", id: "a", name, input }],
  stop_reason: "tool_use",
  usage: { input_tokens: 1, output_tokens: 1 },
});
const ask = (fields: object = {}) => chat(anthropic, "claude-sonnet-4-5", { ...ASKED, ...fields });

describe("a custom tool of Chat Completions for a model of another provider", () => {
  it("is a function with a text, and its calls are the client's again", async () => {
    vendor.answers(200, calling("run", { input: 'say "hi"\n' }));
    const { choices } = await whole(ask());
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls" });
    expect(choices[0].message.tool_calls).toEqual([
      { id: "a", type: "custom", custom: { name: "run", input: 'say "hi"\n' } },
    ]);
    const [run, weather] = vendor.sent[0]?.body.tools ?? [];
    expect(run).toMatchObject({ name: "run", input_schema: { required: ["input"] } });
    expect(run.description).toContain("Runs a command.");
    expect(run.description).toContain("start: /.+/");
    expect(weather).toMatchObject({ name: "weather" });
  });

  it("streams its input as plain text", async () => {
    const pieces = ['{"inp', 'ut": "say \\"', 'hi\\"', '\\n"}'];
    const events = [
      { type: "message_start", message: calling("run", {}) },
      { type: "content_block_start", index: 0, content_block: calling("run", {}).content[0] },
      ...pieces.map((partial_json) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json },
      })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    vendor.streams(...events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
    const found = await chunks(ask({ stream: true }));
    const calls = found.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(calls[0]).toEqual({ index: 0, id: "a", type: "custom", custom: { name: "run", input: "" } });
    expect(calls.slice(1).map(({ custom }) => custom.input)).toEqual(['say "', 'hi"', "\n"]);
  });

  it("leaves functions as they are", async () => {
    vendor.answers(200, calling("weather", { input: "x" }));
    expect((await whole(ask())).choices[0].message.tool_calls).toEqual([
      { id: "a", type: "function", function: { name: "weather", arguments: '{"input":"x"}' } },
    ]);
  });

  it("can be chosen and allowed, and is known in the history", async () => {
    vendor.answers(200, calling("run", { input: "ls" }));
    const named = { type: "custom", custom: { name: "run" } };
    const allowed = { type: "allowed_tools", allowed_tools: { mode: "required", tools: [named] } };
    const call = { id: "a", type: "custom", custom: { name: "run", input: "ls" } };
    const messages = [
      ...ASKED.messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: "files" },
    ];
    await whole(ask({ tool_choice: named }));
    await whole(ask({ tool_choice: allowed, messages }));
    expect(vendor.sent[0]?.body.tool_choice).toMatchObject({ type: "tool", name: "run" });
    expect(vendor.sent[1]?.body).toMatchObject({ tool_choice: { type: "any" }, tools: [{ name: "run" }] });
    expect(vendor.sent[1]?.body.messages[1].content).toMatchObject([
      { type: "tool_use", id: "a", name: "run", input: { input: "ls" } },
    ]);
  });

  it.each([
    [{ tools: [{ type: "custom" }] }, "tools.0.custom.name"],
    [{ tool_choice: { type: "custom", custom: { name: "missing" } } }, "tool_choice"],
    [
      { messages: [{ role: "assistant", tool_calls: [{ id: "a", type: "custom" }] }] },
      "messages.0.tool_calls.0",
    ],
  ])("is refused if it is not complete: %j", async (fields, param) => {
    await expect(ask(fields)).rejects.toMatchObject({ code: "invalid_request", param });
  });
});

describe("the call of a custom tool whose upstream tells no usage", () => {
  it("is counted by its name and input", async () => {
    const upstream = upstreamOf("openai", { baseUrl: "https://models.example/v1" });
    const call = { id: "a", type: "custom", custom: { name: "run", input: "ls -l" } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    vendor.answers(200, { choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
    const answer = await chat(upstream, "m", ASKED);
    expect(answer.produced().beginning()).toContain("ls -l");
  });
});
