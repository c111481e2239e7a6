import { describe, expect, it } from "vitest";
import { chat, replayVendor, respond, upstreamOf } from "./dialect.ts";

// A history has what an answer had that was cut off within the arguments of a call. OpenAI's models take any text there.
const vendor = replayVendor(/https:\/\/models\.example\/v1\/.*/);
const baseUrl = "https://models.example/v1";
/** An answer in all formats. */
const ANSWER = {
  status: "completed",
  output: [],
  choices: [{ message: { content: "Fine." }, finish_reason: "stop" }],
  content: [{ type: "text", text: "Fine." }],
  stop_reason: "end_turn",
  candidates: [{ content: { parts: [{ text: "Fine." }] }, finishReason: "STOP" }],
  usage: { input_tokens: 1, output_tokens: 1, prompt_tokens: 1, completion_tokens: 1 },
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
};
const BROKEN = ['{"city":"Ro', "{", "[1]", '"Rome"', "city=Rome"];

const chatWith = (input: string) => ({
  messages: [
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: input } }],
    },
    { role: "tool", tool_call_id: "a", content: "no JSON" },
  ],
});
const responseWith = (input: string) => ({
  input: [
    { role: "user", content: "Hi" },
    { type: "function_call", call_id: "a", name: "weather", arguments: input },
    { type: "function_call_output", call_id: "a", output: "no JSON" },
  ],
});

/** What both wires send to an upstream. */
async function sentTo(dialect: string, model: string, input: string) {
  vendor.answers(200, ANSWER);
  const upstream = upstreamOf(dialect, { baseUrl });
  await chat(upstream, model, chatWith(input));
  await respond(upstream, model, responseWith(input));
  return vendor.sent.map(({ body }) => body);
}

describe("a call whose arguments are no JSON object", () => {
  it.each(BROKEN)("has them in an object for Anthropic: %s", async (input) => {
    const [ofChat, ofResponse] = await sentTo("anthropic", "claude-sonnet-4-5", input);
    const call = { type: "tool_use", id: "a", name: "weather", input: { INVALID_JSON: input } };
    expect(ofChat.messages[1].content).toEqual([call]);
    expect(ofResponse.messages[1].content).toEqual([call]);
  });

  it.each(BROKEN)("has them in an object for Google: %s", async (input) => {
    const [ofChat, ofResponse] = await sentTo("google", "gemini-2.5-flash", input);
    const call = { functionCall: { id: "a", name: "weather", args: { INVALID_JSON: input } } };
    expect(ofChat.contents[1].parts).toEqual([call]);
    expect(ofResponse.contents[1].parts).toEqual([call]);
  });

  it("keeps its text for models of OpenAI", async () => {
    const [input = ""] = BROKEN;
    const [, ofResponse] = await sentTo("openai", "gpt-5", input);
    expect(ofResponse.messages[1].tool_calls[0].function.arguments).toBe(input);
    const [, , ofChat] = await sentTo("openai-responses", "gpt-5", input);
    expect(ofChat.input[1].arguments).toBe(input);
  });
});
