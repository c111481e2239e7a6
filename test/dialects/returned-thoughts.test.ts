import { describe, expect, it } from "vitest";
import { chat, chunks, replayVendor, upstreamOf, WEATHER_TOOL, whole } from "./dialect.ts";
import { answer as googleAnswer } from "./google-answers.ts";

// Clients of OpenRouter and LiteLLM send the thoughts of a model back with its calls, in lists that the message has for them.
const vendor = replayVendor(/.*/);
const anthropic = upstreamOf("anthropic");
const google = upstreamOf("google");
const responses = upstreamOf("openai-responses", { baseUrl: "https://models.example/v1" });
const completions = upstreamOf("openai", { baseUrl: "https://models.example/v1" });
const CLAUDE = "claude-sonnet-4-5";
const SEALED = expect.stringMatching(/^ost1\./);

const asked = { role: "user", content: "Rome?" };
const thinking = { type: "thinking", thinking: "Let me look.", signature: "c2ln" };
const redacted = { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" };
const used = { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } };
const usage = { input_tokens: 1, output_tokens: 1 };
const CALLED = { content: [thinking, redacted, used], stop_reason: "tool_use", usage };

type Event = { readonly type: string };
const streamed = (...events: readonly Event[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const delta = (fields: object) => ({ type: "content_block_delta", index: 0, delta: fields });
const STREAM = streamed(
  { type: "message_start", ...{ message: { usage } } },
  { type: "content_block_start", ...{ index: 0, content_block: { type: "thinking", thinking: "" } } },
  delta({ type: "thinking_delta", thinking: "Let me " }),
  delta({ type: "thinking_delta", thinking: "look." }),
  delta({ type: "signature_delta", signature: "c2ln" }),
  { type: "content_block_stop", ...{ index: 0 } },
  { type: "content_block_start", ...{ index: 1, content_block: redacted } },
  { type: "content_block_stop", ...{ index: 1 } },
  { type: "content_block_start", ...{ index: 2, content_block: used } },
  { type: "content_block_stop", ...{ index: 2 } },
  { type: "message_delta", ...{ delta: { stop_reason: "tool_use" }, usage } },
  { type: "message_stop" },
);

const FORMS = [
  {
    name: "reasoning_details",
    fields: { reasoning: { effort: "low" } },
    list: [
      {
        type: "reasoning.text",
        text: "Let me look.",
        signature: SEALED,
        format: "anthropic-claude-v1",
        index: 0,
      },
      { type: "reasoning.encrypted", data: SEALED, format: "anthropic-claude-v1", index: 1 },
    ],
  },
  {
    name: "thinking_blocks",
    fields: { thinking: { type: "enabled", budget_tokens: 2_000 } },
    list: [
      { type: "thinking", thinking: "Let me look.", signature: SEALED },
      { type: "redacted_thinking", data: SEALED },
    ],
  },
] as const;

/** The history of a conversation after a call, when the tool has returned. */
const after = (message: { readonly tool_calls: readonly { readonly id: string }[] }) => ({
  tools: [WEATHER_TOOL],
  messages: [asked, message, { role: "tool", tool_call_id: message.tool_calls[0]?.id, content: "sunny" }],
});

/** Adds up the elements of a streamed list as the clients do: texts that follow each other are one, and a signature ends it. */
function addedUp(pieces: readonly Record<string, unknown>[]) {
  const list: Record<string, unknown>[] = [];
  for (const piece of pieces) {
    const last = list.at(-1);
    const member = piece.type === "thinking" ? "thinking" : "text";
    if (last === undefined || last.type !== piece.type || last.signature !== undefined)
      list.push({ ...piece });
    else Object.assign(last, piece, { [member]: `${last[member]}${piece[member]}` });
  }
  return list;
}

describe.each(FORMS)("the thoughts of a chat completion in $name", ({ name, fields, list }) => {
  const request = { tools: [WEATHER_TOOL], messages: [asked], ...fields };

  it("are given back to Anthropic's model with their signatures, so that it goes on thinking", async () => {
    vendor.answers(200, CALLED);
    const [{ message }] = (await whole(chat(anthropic, CLAUDE, request))).choices;
    expect(message[name]).toEqual(list);
    expect(JSON.stringify(message)).not.toContain("c2ln");
    const { ignored } = await chat(anthropic, CLAUDE, { ...fields, ...after(message) });
    expect(ignored).toEqual([]);
    const { thinking: field, messages } = vendor.sent[1]?.body ?? {};
    expect(field).toMatchObject({ type: "enabled" });
    expect(messages[1].content).toEqual([thinking, redacted, used]);
  });

  it("add up from a stream to the same, or are sent back in the pieces of the stream", async () => {
    vendor.streams(STREAM);
    const found = await chunks(chat(anthropic, CLAUDE, { ...request, stream: true }));
    const deltas = found.flatMap(({ choices }) => choices.map((choice: { delta: object }) => choice.delta));
    const pieces = deltas.flatMap((one) => one[name] ?? []);
    expect(addedUp(pieces)).toEqual(list);
    const calls = deltas.flatMap((one) => one.tool_calls ?? []);
    const call = { ...calls[0], function: { name: "weather", arguments: '{"city":"Rome"}' } };
    vendor.answers(200, CALLED);
    for (const returned of [pieces, addedUp(pieces)]) {
      const message = { role: "assistant", content: null, [name]: returned, tool_calls: [call] };
      await chat(anthropic, CLAUDE, { ...fields, ...after(message) });
      expect(vendor.sent.at(-1)?.body.messages[1].content).toEqual([thinking, redacted, used]);
    }
  });

  it("are not sent to an upstream that gets the request as it is, unlike its own", async () => {
    vendor.answers(200, CALLED);
    const [{ message }] = (await whole(chat(anthropic, CLAUDE, request))).choices;
    const own = { type: "reasoning.text", text: "Mine.", signature: "b3du", format: "anthropic-claude-v1" };
    vendor.answers(200, { choices: [{ index: 0, message: { content: "ok" }, finish_reason: "stop" }] });
    const both = { ...message, [name]: [own, ...message[name]] };
    await chat(completions, "m", { ...fields, ...after(both) });
    await chat(completions, "m", { ...fields, ...after(message) });
    const { [name]: _, ...others } = message;
    expect(vendor.sent.slice(1).map(({ body }) => body.messages[1])).toEqual([
      { ...others, [name]: [own] },
      others,
    ]);
  });

  it("are left out if this service has not signed them", async () => {
    vendor.answers(200, CALLED);
    const [{ message }] = (await whole(chat(anthropic, CLAUDE, request))).choices;
    const forged = message[name].map((one: { signature?: string; data?: string }) => ({
      ...one,
      ...(one.signature === undefined ? { data: `${one.data}A` } : { signature: "of another service" }),
    }));
    await chat(anthropic, CLAUDE, {
      ...fields,
      ...after({ ...message, [name]: [null, "x", {}, ...forged] }),
    });
    expect(vendor.sent[1]?.body.messages[1].content).toEqual([used]);
  });
});

describe("the reasoning details of a chat completion", () => {
  const fields = { reasoning: { effort: "low" } };

  it("are not in an answer to a client that does not ask for thoughts in the words of OpenRouter or LiteLLM", async () => {
    vendor.answers(200, CALLED);
    for (const asks of [{ reasoning_effort: "low" }, { reasoning: { effort: "low", exclude: true } }]) {
      const [{ message }] = (await whole(chat(anthropic, CLAUDE, { messages: [asked], ...asks }))).choices;
      for (const { name } of FORMS) expect(message).not.toHaveProperty(name);
    }
  });

  it("contain the signature of a call, for clients that do not send extra_content back", async () => {
    vendor.answers(
      200,
      googleAnswer([{ functionCall: { name: "weather", args: {} }, thoughtSignature: "c2ln" }]),
    );
    const request = { tools: [WEATHER_TOOL], messages: [asked], ...fields };
    const [{ message }] = (await whole(chat(google, "gemini-3-pro", request))).choices;
    const [call] = message.tool_calls;
    expect(message.reasoning_details).toEqual([
      { type: "reasoning.encrypted", data: SEALED, id: call.id, format: "google-gemini-v1", index: 0 },
    ]);
    const { extra_content: _, ...plain } = call;
    await chat(google, "gemini-3-pro", { ...fields, ...after({ ...message, tool_calls: [plain] }) });
    expect(vendor.sent[1]?.body.contents[1].parts).toMatchObject([{ thoughtSignature: "c2ln" }]);
  });

  it("give a model of the Responses API its encrypted reasoning back", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
    const call = { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" };
    const output = [{ ...reasoning, encrypted_content: "c2ln" }, call];
    vendor.answers(200, { status: "completed", output, usage });
    const request = { tools: [WEATHER_TOOL], messages: [asked], ...fields };
    const [{ message }] = (await whole(chat(responses, "gpt-5", request))).choices;
    await chat(responses, "gpt-5", { ...fields, ...after(message) });
    expect(vendor.sent[1]?.body.input.slice(1, 3)).toEqual([
      { ...reasoning, encrypted_content: "c2ln" },
      call,
    ]);
  });
});

describe("the thoughts of another model in a chat completion that is sent as it is", () => {
  const said = { role: "assistant", content: "Rome." };
  const fields = { reasoning_content: "Hm.", reasoning: "Hm.", reasoning_details: [], thinking_blocks: [] };
  const request = { messages: [asked, { ...said, ...fields }, { role: "user", content: "And Paris?" }] };
  const fine = { choices: [{ index: 0, message: { content: "ok" }, finish_reason: "stop" }] };
  const upstream = () => upstreamOf("openai", { baseUrl: "https://models.example/v1" });
  /** Answers as Groq, Cerebras and Mistral do. */
  const refusesThoughts = (refusal: object) =>
    vendor.answersBy(({ messages: sent }) =>
      sent.some((message: object) => "reasoning_content" in message)
        ? Response.json(refusal, { status: 400 })
        : Response.json(fine),
    );

  it.each([
    [{ error: { message: "'messages.1' : property 'reasoning_content' is unsupported" } }],
    [{ error: { message: "property 'messages.1.assistant.reasoning_content' is unsupported" } }],
    [
      {
        detail: [
          { loc: ["body", "messages", 1, "reasoning_content"], msg: "Extra inputs are not permitted" },
        ],
      },
    ],
  ])("are left out where the upstream does not know them, at once in later requests: %j", async (refusal) => {
    refusesThoughts(refusal);
    const strict = upstream();
    await chat(strict, "m", request);
    await chat(strict, "m", { ...request, stream: true }).catch(() => {});
    const [first, second, third] = vendor.sent.map(({ body }) => body.messages);
    expect(first).toEqual(request.messages);
    expect(second).toEqual([asked, said, request.messages[2]]);
    expect(third).toEqual(second);
    expect(vendor.sent).toHaveLength(3);
  });

  it("are not left out for another reason, and a refusal that quotes the client is not remembered", async () => {
    const error = { message: "The model is not available", code: "model_not_found" };
    vendor.answers(400, { error });
    await expect(chat(upstream(), "m", request)).rejects.toMatchObject({ status: 400 });
    expect(vendor.sent).toHaveLength(1);
    const quoting = {
      ...request,
      messages: [{ role: "user", content: "reasoning_content" }, ...request.messages],
    };
    refusesThoughts({ error: { message: "'reasoning_content' is unsupported" } });
    const strict = upstream();
    for (const one of [quoting, request]) await chat(strict, "m", one);
    expect(vendor.sent).toHaveLength(5);
  });
});
