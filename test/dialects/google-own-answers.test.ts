import { describe, expect, it } from "vitest";
import {
  chat,
  chunks,
  messageOf,
  messages,
  replayVendor,
  respond,
  upstreamOf,
  WEATHER_TOOL,
  whole,
} from "./dialect.ts";
import { answer, MALFORMED, streamOf, USAGE } from "./google-answers.ts";

// What the AI SDK's package can't be compared with, because it loses or refuses it.
const vendor = replayVendor("https://generativelanguage.googleapis.com/v1beta/models/*");
const upstream = upstreamOf("google");
const HI = { messages: [{ role: "user", content: "hi" }] };

describe("an answer of Google", () => {
  it.each([
    ["of a blocked prompt", { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: USAGE }],
    ["of a blocked answer", answer([], { finishReason: "SAFETY" })],
    ["of an answer that an operator's rule has blocked", answer([], { finishReason: "MODEL_ARMOR" })],
    ["of an answer that is escalated", answer([], { finishReason: "ESCALATION" })],
    ["of an answer for a limited account", answer([], { finishReason: "PUP_LIMITED_DISABLED" })],
  ])("%s is filtered", async (_, blocked) => {
    vendor.answers(200, blocked);
    const found = await whole(chat(upstream, "gemini-3-pro", HI));
    expect(found).toMatchObject({
      choices: [{ finish_reason: "content_filter", message: { content: "" } }],
      usage: { prompt_tokens: 10 },
    });
    vendor.streams(streamOf(blocked));
    const stream = messageOf(await chunks(chat(upstream, "gemini-3-pro", { ...HI, stream: true })));
    expect(stream).toMatchObject({ finish: "content_filter", usage: { prompt_tokens: 10 } });
  });

  it("that only says why a prompt might have been blocked is an answer", async () => {
    const promptFeedback = { blockReason: "BLOCK_REASON_UNSPECIFIED", safetyRatings: [] };
    vendor.answers(200, { ...answer([{ text: "Fine." }]), promptFeedback });
    expect((await whole(chat(upstream, "gemini-3-pro", HI))).choices[0].message.content).toBe("Fine.");
  });

  it.each([
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
  ])("that ends with %s is a failure", async (finishReason) => {
    const failed = answer([], { finishReason });
    // It is charged.
    const expected = { status: 500, ...MALFORMED, usage: { promptTokens: 10 } };
    vendor.answers(200, failed);
    await expect(chat(upstream, "gemini-3-pro", HI)).rejects.toMatchObject(expected);
    vendor.streams(streamOf(answer([{ text: "so" }], {}), failed));
    const stream = chunks(chat(upstream, "gemini-3-pro", { ...HI, stream: true }));
    await expect(stream).rejects.toMatchObject(expected);
  });

  it.each([
    [{ code: 503, message: "m", status: "UNAVAILABLE" }, 503, "server_is_overloaded"],
    [{ code: null, message: "m", status: "RESOURCE_EXHAUSTED" }, 429, "server_is_overloaded"],
    [{ message: "m", status: "DEADLINE_EXCEEDED" }, 504, "upstream_timeout"],
    [{ message: "m" }, 500, "upstream_error"],
  ])("whose stream reports %j has the status %i", async (error, status, code) => {
    vendor.streams(streamOf(answer([{ text: "so" }], {}), { error }));
    const stream = chunks(chat(upstream, "gemini-3-pro", { ...HI, stream: true }));
    await expect(stream).rejects.toMatchObject({ status, failure: { code } });
  });

  it.each([
    ["no object", "[]"],
    ["no candidate", JSON.stringify({ candidates: ["text"] })],
    ["no content", JSON.stringify({ candidates: [{ content: "text" }] })],
    ["no parts", JSON.stringify(answer("text"))],
    ["no part", JSON.stringify(answer(["text"]))],
    ["a call without a name", JSON.stringify(answer([{ functionCall: { args: {} } }]))],
    ["a piece of a call", JSON.stringify(answer([{ functionCall: { name: "f", partialArgs: [] } }]))],
    ["an error that is nested too deeply", `{"error":{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}}`],
    [
      "a call that is nested too deeply",
      JSON.stringify(answer([{ functionCall: { name: "f", args: "ARGS" } }])).replace(
        '"ARGS"',
        `{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
      ),
    ],
  ])("with %s is malformed", async (_, text) => {
    vendor.streams(text);
    await expect(chat(upstream, "gemini-3-pro", HI)).rejects.toMatchObject({ status: 200, ...MALFORMED });
    vendor.streams(`data: ${text}\n\n`);
    const stream = chunks(chat(upstream, "gemini-3-pro", { ...HI, stream: true }));
    await expect(stream).rejects.toMatchObject({ status: 200, ...MALFORMED });
  });

  it("reports the tokens of tools, caches, thoughts, audio and images", async () => {
    const told = {
      promptTokenCount: 100,
      toolUsePromptTokenCount: 20,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 7,
      thoughtsTokenCount: 5,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 50 },
        { modality: "AUDIO", tokenCount: 40 },
        { modality: "IMAGE", tokenCount: 10 },
      ],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 6 }],
    };
    vendor.answers(200, answer([{ text: "Fine." }], { finishReason: "STOP" }, told));
    const reported = await chat(upstream, "gemini-3-pro", HI);
    const { usage: written } = await whole(Promise.resolve(reported));
    expect(written.prompt_tokens_details).toEqual({ cached_tokens: 30, audio_tokens: 40 });
    expect(reported.usage).toEqual({
      promptTokens: 120,
      completionTokens: 12,
      cachedTokens: 30,
      reasoningTokens: 5,
      audioPromptTokens: 40,
      imagePromptTokens: 10,
      imageCompletionTokens: 6,
    });
    for (const usage of [
      {},
      { candidatesTokenCount: 7 },
      { promptTokenCount: -1 },
      { promptTokenCount: "9" },
    ]) {
      vendor.answers(200, answer([{ text: "Fine." }], { finishReason: "STOP" }, usage));
      expect((await chat(upstream, "gemini-3-pro", HI)).usage).toBeNull();
    }
  });

  it("has a thought for each part, and for each signature in a stream", async () => {
    const thoughts = [
      { text: "one", thought: true, thoughtSignature: "MQ==" },
      { text: "two", thought: true },
      { text: "", thought: true, thoughtSignature: "Mg==" },
      { text: "Fine." },
    ];
    const include = ["reasoning.encrypted_content"];
    const asked = { input: "hi", include, reasoning: { effort: "low", summary: "auto" } };
    vendor.answers(200, answer(thoughts));
    const { output } = await whole(respond(upstream, "gemini-3-pro", asked));
    expect(output.map(({ type }: { type: string }) => type)).toEqual([
      "reasoning",
      "reasoning",
      "reasoning",
      "message",
    ]);
    vendor.streams(streamOf(...thoughts.map((part) => answer([part], {})), answer([])));
    const events = await respond(upstream, "gemini-3-pro", { ...asked, stream: true });
    if (events.kind !== "stream") throw new Error("not a stream");
    let text = "";
    for await (const piece of events.events) text += piece;
    const done = text.split("\n\n").filter((event) => event.includes('"response.output_item.done"'));
    expect(done.filter((event) => event.includes('"type":"reasoning"'))).toHaveLength(2);
  });

  it("may be asked for again if its stream fails before anything of it has come", async () => {
    const error = { code: 503, message: "m", status: "UNAVAILABLE" };
    vendor.streams(streamOf(answer([], {})), streamOf({ error }));
    const begun = await messages(upstream, "gemini-3-pro", { ...HI, max_tokens: 10, stream: true });
    if (begun.kind !== "stream") throw new Error("not a stream");
    const received: string[] = [];
    const reading = async () => {
      for await (const text of begun.events) received.push(text);
    };
    await expect(reading()).rejects.toMatchObject({ status: 503 });
    expect(received).toEqual([]);
  });

  it("is the text that a model writes in the place of a call of the tool for JSON", async () => {
    vendor.answers(200, answer([{ text: "I can't." }]));
    const json_schema = { name: "s", schema: { type: "object" } };
    const found = await whole(
      chat(upstream, "gemini-2.5-pro", {
        ...HI,
        tools: [WEATHER_TOOL],
        response_format: { type: "json_schema", json_schema },
      }),
    );
    expect(vendor.sent[0]?.body.tools[0].functionDeclarations[1].name).toBe("json");
    expect(found.choices[0].message.content).toBe("I can't.");
  });
});

describe("an answer that takes several requests", () => {
  const longer = (token: string) =>
    answer([{ text: `${token} ` }], { finishReason: "CONTINUATION", continuationToken: token });
  const total = { prompt_tokens: 30, completion_tokens: 15 };

  it("is one answer, whose tokens are those of all requests", async () => {
    vendor.answers(200, answer([{ text: "three" }]));
    vendor.answersOnce(200, longer("two"));
    vendor.answersOnce(200, longer("one"));
    const found = await whole(chat(upstream, "gemini-4-argon", HI));
    expect(found).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "one two three" } }],
      usage: total,
    });
    expect(vendor.sent.map(({ body }) => body.continuationToken)).toEqual([undefined, "one", "two"]);
    expect({ ...vendor.sent[2]?.body, continuationToken: undefined }).toEqual({
      ...vendor.sent[0]?.body,
      continuationToken: undefined,
    });
  });

  it("is one stream, too", async () => {
    vendor.streams(streamOf(answer([{ text: "two" }])));
    vendor.streamsOnce(streamOf(longer("one")));
    const found = messageOf(await chunks(chat(upstream, "gemini-4-argon", { ...HI, stream: true })));
    expect(found).toMatchObject({
      content: "one two",
      finish: "stop",
      usage: { prompt_tokens: 20, completion_tokens: 10 },
    });
  });

  it("is cut off where it could go on forever", async () => {
    vendor.answers(200, longer("more"));
    const found = await whole(chat(upstream, "gemini-4-argon", HI));
    expect(found.choices[0].finish_reason).toBe("length");
    expect(vendor.sent).toHaveLength(64);
  });

  it("fails if a later request does, and has the tokens of those before it", async () => {
    vendor.answers(503, { error: { code: 503, message: "m", status: "UNAVAILABLE" } });
    vendor.streamsOnce(streamOf(longer("two")));
    vendor.streamsOnce(streamOf(longer("one")));
    const begun = await chat(upstream, "gemini-4-argon", { ...HI, stream: true });
    const stream = chunks(Promise.resolve(begun));
    await expect(stream).rejects.toMatchObject({ status: 503, failure: { code: "server_is_overloaded" } });
    if (begun.kind !== "stream") throw new Error("not a stream");
    expect(begun.usageSoFar?.()).toEqual({ promptTokens: 20, completionTokens: 10, cachedTokens: 0 });
  });
});
