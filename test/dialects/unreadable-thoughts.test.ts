import { beforeEach, describe, expect, it } from "vitest";
import { chat, messages, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";
import { answer as googleAnswer } from "./google-answers.ts";

// Conversations that are continued by another server than the one that has encrypted or signed the thoughts: the client has chosen another model, or
// the first upstream of a model has failed.
const vendor = replayVendor(/.*/);
const baseUrl = "https://models.example/v1";
const responses = upstreamOf("openai-responses", { baseUrl });
const anthropic = upstreamOf("anthropic");
const google = upstreamOf("google");
const CLAUDE = "claude-3-7-sonnet";
const INVALID = "messages.1.content.0: Invalid `signature` in `thinking` block";

const input = [
  { role: "user", content: "hi" },
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "of another server" },
  { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: "{}" },
  { type: "function_call_output", call_id: "call_1", output: "seen" },
];
const thinking = { type: "thinking", thinking: "hm", signature: "of another server" };
const used = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
const seen = (id: string) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: id, content: "seen" }],
});
const asked = { role: "user", content: "hi" };
const answered = { role: "assistant", content: [{ type: "text", text: "ok" }] };

const RESPONSE = {
  id: "resp_1",
  status: "completed",
  output: [input[1], input[2]],
  usage: { input_tokens: 1, output_tokens: 1 },
};
const MESSAGE = {
  content: [thinking, used],
  stop_reason: "tool_use",
  usage: { input_tokens: 1, output_tokens: 1 },
};
const CALLED = googleAnswer([{ functionCall: { name: "look", args: {} }, thoughtSignature: "c2ln" }]);

/** Whether a request has what its server can't read. */
const hasThoughts = (body: object) => /of another server|c2ln/.test(JSON.stringify(body));

/** Answers as the formats do, and refuses thoughts in the words of their providers. */
function answering(message: string): void {
  vendor.answersBy((body) => {
    const streams = body.stream === true;
    if (hasThoughts(body)) return Response.json({ error: { message } }, { status: 400 });
    const own = body.contents !== undefined ? CALLED : body.messages !== undefined ? MESSAGE : RESPONSE;
    if (!streams) return Response.json(own);
    const events = [
      { type: "response.created", response: { ...RESPONSE, status: "in_progress", output: [] } },
      { type: "response.completed", response: RESPONSE },
    ];
    return new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
}

/** The last request, when exactly two were sent by the action, the first of which has thoughts. */
async function retried(ask: () => Promise<unknown>) {
  const before = vendor.sent.length;
  await ask();
  const [first, second, ...others] = vendor.sent.slice(before).map(({ body }) => body);
  expect(others).toEqual([]);
  expect([hasThoughts(first), hasThoughts(second)]).toEqual([true, false]);
  return second;
}

describe("thoughts that the Responses API can't read", () => {
  beforeEach(() => answering("The encrypted content of ... could not be verified."));

  it("are left out, with the ids that say that calls need them", async () => {
    const { input: sent, include } = await retried(() => whole(respond(responses, "m", { input })));
    expect(include).toEqual(["reasoning.encrypted_content"]);
    const { id: _, ...call } = { id: "", ...input[2] };
    expect(sent).toEqual([input[0], call, input[3]]);
    const streamed = await retried(() => streamText(respond(responses, "m", { input, stream: true })));
    expect(streamed.input).toEqual(sent);
  });

  it("are left out of a request that is translated", async () => {
    const request = { max_tokens: 100, thinking: { type: "adaptive" } };
    const { content } = await whole(messages(responses, "m", { ...request, messages: [asked] }));
    const history = [asked, { role: "assistant", content }, seen("call_1")];
    const { input: sent } = await retried(() => messages(responses, "m", { ...request, messages: history }));
    expect(sent.map(({ type }: { type: string }) => type)).toEqual([
      "message",
      "function_call",
      "function_call_output",
    ]);
  });
});

describe("thoughts that Anthropic can't read", () => {
  const history = [asked, { role: "assistant", content: [thinking, used] }, seen("toolu_1")];

  it.each([
    INVALID,
    "messages.1.content.0.thinking.signature: Field required",
    "messages.3.content.1: Invalid `data` in `redacted_thinking` block",
    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
  ])("are left out after %s", async (message) => {
    answering(message);
    const request = { max_tokens: 2_000, messages: history };
    const sent = await retried(() => whole(messages(anthropic, CLAUDE, request)));
    expect(sent.messages).toEqual([asked, { role: "assistant", content: [used] }, seen("toolu_1")]);
  });

  it("are left out together with thinking within a budget, which needs them before the results of tools", async () => {
    answering(INVALID);
    const request = { max_tokens: 2_000, thinking: { type: "enabled", budget_tokens: 1_024 } };
    const ask = (turns: object[]) => whole(messages(anthropic, CLAUDE, { ...request, messages: turns }));
    expect(await retried(() => ask(history))).not.toHaveProperty("thinking");
    const { thinking: kept } = await retried(() => ask([...history, answered, asked]));
    expect(kept).toEqual(request.thinking);
  });

  it("are left out of a request that is translated", async () => {
    answering(INVALID);
    const request = { reasoning: { effort: "low" }, include: ["reasoning.encrypted_content"] };
    const first = await whole(respond(anthropic, CLAUDE, { ...request, input: "hi" }));
    const result = { type: "function_call_output", call_id: "toolu_1", output: "seen" };
    const continued = [asked, ...first.output, result];
    const sent = await retried(() => respond(anthropic, CLAUDE, { ...request, input: continued }));
    expect(sent.messages[1].content).toMatchObject([{ type: "tool_use" }]);
    expect(sent).not.toHaveProperty("thinking");
  });
});

describe("signatures of calls that Google refuses", () => {
  it("are replaced", async () => {
    answering("Corrupted thought signature.");
    const first = await whole(chat(google, "gemini-3-pro", { messages: [asked] }));
    const { message } = first.choices[0];
    const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "seen" };
    const history = [asked, message, result];
    const { contents } = await retried(() => chat(google, "gemini-3-pro", { messages: history }));
    expect(contents[1].parts).toMatchObject([{ thoughtSignature: "skip_thought_signature_validator" }]);
  });
});

describe("a request that is refused for another reason, or has no thoughts", () => {
  it("is not sent again without thoughts", async () => {
    vendor.answers(400, { error: { message: "Unknown tool." } });
    await expect(respond(responses, "m", { input })).rejects.toMatchObject({ status: 400 });
    vendor.answers(400, { error: { message: INVALID } });
    const request = { max_tokens: 9, messages: [asked] };
    await expect(messages(anthropic, CLAUDE, request)).rejects.toMatchObject({ status: 400 });
    expect(vendor.sent).toHaveLength(2);
  });
});
