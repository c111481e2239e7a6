import { describe, expect, it } from "vitest";
import { chat, messages, replayVendor, respond, upstreamOf } from "./dialect.ts";

// What an upstream reports with an answer that can't be read is charged, as with every failed answer. Otherwise a client that makes a model write such
// answers would use it for nothing.
const vendor = replayVendor(/.*/);
const baseUrl = "https://models.example/v1";
const openai = upstreamOf("openai", { baseUrl });
const responses = upstreamOf("openai-responses", { baseUrl });
const anthropic = upstreamOf("anthropic", { baseUrl });
const google = upstreamOf("google", { baseUrl });
const HI = { max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const REPORTED = { usage: { promptTokens: 7, completionTokens: 3 } };
const completion = (message: object) => ({
  choices: [{ index: 0, message, finish_reason: "tool_calls" }],
  usage: { prompt_tokens: 7, completion_tokens: 3 },
});
const BROKEN = { id: "a", type: "function", function: { name: "f", arguments: "{oops" } };
const TOKENS = { input_tokens: 7, output_tokens: 3 };

describe("a whole answer that can't be translated", () => {
  it("has its usage if the input of a call is no JSON", async () => {
    vendor.answers(200, completion({ content: "", tool_calls: [BROKEN] }));
    await expect(messages(openai, "m", HI)).rejects.toMatchObject(REPORTED);
    const item = { type: "function_call", call_id: "a", name: "f", arguments: "{oops" };
    vendor.answers(200, { status: "completed", output: [item], usage: TOKENS });
    await expect(messages(responses, "m", HI)).rejects.toMatchObject(REPORTED);
  });

  it("has its usage if a part of it is malformed", async () => {
    vendor.answers(200, completion({ content: 5 }));
    await expect(respond(openai, "m", { input: "hi" })).rejects.toMatchObject(REPORTED);
    const unnamed = { type: "function_call", call_id: "a", arguments: "{}" };
    vendor.answers(200, { status: "completed", output: [unnamed], usage: TOKENS });
    await expect(chat(responses, "m", HI)).rejects.toMatchObject(REPORTED);
    vendor.answers(200, { type: "message", content: [null], stop_reason: "end_turn", usage: TOKENS });
    await expect(chat(anthropic, "m", HI)).rejects.toMatchObject(REPORTED);
    const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };
    vendor.answers(200, { candidates: [{ content: { parts: [5] }, finishReason: "STOP" }], usageMetadata });
    await expect(chat(google, "m", HI)).rejects.toMatchObject(REPORTED);
  });
});

describe("a whole answer that lacks what its client reads", () => {
  it("has its usage, forwarded and translated", async () => {
    vendor.answers(200, { type: "message", content: null, stop_reason: "end_turn", usage: TOKENS });
    await expect(messages(anthropic, "m", HI)).rejects.toMatchObject(REPORTED);
    await expect(chat(anthropic, "m", HI)).rejects.toMatchObject(REPORTED);
    vendor.answers(200, { status: "completed", output: null, usage: TOKENS });
    await expect(respond(responses, "m", { input: "hi" })).rejects.toMatchObject(REPORTED);
    await expect(chat(responses, "m", HI)).rejects.toMatchObject(REPORTED);
    vendor.answers(200, { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } });
    await expect(chat(openai, "m", HI)).rejects.toMatchObject(REPORTED);
    await expect(messages(openai, "m", HI)).rejects.toMatchObject(REPORTED);
  });
});
