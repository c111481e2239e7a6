import { HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { messageIn } from "../wires/messages-events.ts";
import { eventsOf, expectResponseStream } from "../wires/response-stream.ts";
import * as client from "./dialect.ts";

// Some servers answer a request for a stream with JSON: an error, or the whole answer.
const baseUrl = "https://models.example/v1";
const vendor = client.replayVendor(/https:\/\/models\.example\/v1\//);
const HI = { messages: [{ role: "user", content: "hi" }], stream: true };
const upstreamOf = (dialect: string) => client.upstreamOf(dialect, { baseUrl });
const chat = (dialect: string, more: object = {}) =>
  client.chat(upstreamOf(dialect), "model", { ...HI, ...more });
const respond = (dialect: string) =>
  client.respond(upstreamOf(dialect), "model", { input: "hi", stream: true });
const messages = (dialect: string) => client.messages(upstreamOf(dialect), "model", { ...HI, max_tokens: 9 });

const COMPLETION = {
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};
const MESSAGE = {
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Hello." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 2 },
};
const RESPONSE = {
  object: "response",
  status: "completed",
  output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello." }] }],
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
};

describe("a whole answer in the place of a stream", () => {
  it("is the client's stream, also where the upstream speaks the client's own format", async () => {
    vendor.answers(200, COMPLETION);
    const found = client.messageOf(await client.chunks(chat("openai")));
    expect(found).toMatchObject({ content: "Hello.", finish: "stop", usage: { completion_tokens: 2 } });
    vendor.answers(200, MESSAGE);
    const message = messageIn(await client.streamText(messages("anthropic")));
    expect(message).toMatchObject({ content: MESSAGE.content, stop_reason: "end_turn" });
    vendor.answers(200, RESPONSE);
    const response = expectResponseStream(eventsOf(await client.streamText(respond("openai-responses"))));
    expect(response).toMatchObject({ status: "completed", output: [{ content: [{ text: "Hello." }] }] });
  });

  it("of several choices is refused, with its usage", async () => {
    vendor.answers(200, COMPLETION);
    await expect(chat("openai", { n: 2 })).rejects.toMatchObject({
      failure: { code: "upstream_error" },
      usage: { completionTokens: 2 },
    });
  });

  it("may be events whose type is wrong, which are a stream", async () => {
    const choice = { index: 0, delta: { content: "Hello." }, finish_reason: "stop" };
    const chunk = JSON.stringify({ choices: [choice], usage: COMPLETION.usage });
    const text = `\n: waiting\n\ndata: ${chunk}\n\ndata: [DONE]\n\n`;
    vendor.answersBy(() => new HttpResponse(text, { headers: { "content-type": "application/json" } }));
    expect(client.messageOf(await client.chunks(chat("openai")))).toMatchObject({ content: "Hello." });
    const events = eventsOf(await client.streamText(respond("openai")));
    expect(expectResponseStream(events)).toMatchObject({ output: [{ content: [{ text: "Hello." }] }] });
  });
});

const TOO_LONG = "prompt is too long: 9 tokens > 8 maximum";
const OF_OPENAI = { error: { message: TOO_LONG, code: "context_length_exceeded" } };
const OF_ANTHROPIC = { type: "error", error: { type: "invalid_request_error", message: TOO_LONG } };
const OF_GOOGLE = { error: { code: 400, status: "INVALID_ARGUMENT", message: TOO_LONG } };

describe("an error in the place of a stream", () => {
  it.each([
    ["openai", OF_OPENAI, [chat, respond, messages]],
    ["openai-responses", OF_OPENAI, [chat, respond, messages]],
    ["anthropic", OF_ANTHROPIC, [chat, respond, messages]],
    ["google", OF_GOOGLE, [chat, respond, messages]],
  ] as const)("of an upstream of %s is that error for every client", async (dialect, error, clients) => {
    for (const ask of clients) {
      vendor.answersBy(() => HttpResponse.json(error));
      await expect(ask(dialect)).rejects.toMatchObject({ failure: { code: "context_length_exceeded" } });
    }
  });

  it("is that error for a request of the Messages API that asks for no stream, too", async () => {
    vendor.answers(200, OF_ANTHROPIC);
    const asked = { ...HI, max_tokens: 9, stream: false };
    const answer = client.messages(upstreamOf("anthropic"), "model", asked);
    await expect(answer).rejects.toMatchObject({ failure: { code: "context_length_exceeded" } });
  });
});
