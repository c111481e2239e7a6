import { describe, expect, it } from "vitest";
import { EMPTY_CONVERSATION, type Turn } from "../../server/src/conversation/conversation.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { DIALECTS, openDialects } from "../../server/src/upstream/dialects.ts";
import { FetchTransport } from "../fixtures/fetch-transport.ts";
import {
  chat,
  chunks,
  converse,
  messageOf,
  messages,
  replayVendor,
  respond,
  upstreamOf,
  WEATHER_TOOL,
  whole,
} from "./dialect.ts";

// What the AI SDK's package can't be compared with, because it loses or refuses it.
const vendor = replayVendor("https://generativelanguage.googleapis.com/v1beta/models/*");
const upstream = upstreamOf("google");
const HI = { messages: [{ role: "user", content: "hi" }] };
const MALFORMED = { failure: { code: "upstream_error" } };
const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

function answer(parts: unknown, finish: object = { finishReason: "STOP" }, usageMetadata: object = USAGE) {
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...finish }],
    usageMetadata,
    modelVersion: "gemini",
    responseId: "q8ZxaLr2",
  };
}

const streamOf = (...list: object[]) =>
  list.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
const fine = () => vendor.answers(200, answer([{ text: "Fine." }]));

describe("a request to Google", () => {
  it("has neither empty texts nor empty contents, which Google refuses", async () => {
    fine();
    await chat(upstream, "gemini-3-pro", {
      messages: [
        { role: "system", content: "" },
        ...HI.messages,
        { role: "assistant", content: "" },
        { role: "user", content: "" },
        { role: "system", content: "" },
        ...HI.messages,
      ],
    });
    const content = { role: "user", parts: [{ text: "hi" }] };
    expect(vendor.sent[0]?.body).toEqual({ generationConfig: {}, contents: [content, content] });
  });

  it("has Google fetch images that are named by a URL", async () => {
    fine();
    const url = (path: string) => ({ type: "image_url", image_url: { url: `https://example.com/${path}` } });
    await chat(upstream, "gemini-3-pro", {
      messages: [{ role: "user", content: [url("a.PNG?size=2"), url("image")] }],
    });
    expect(vendor.sent[0]?.body.contents[0].parts).toEqual([
      { fileData: { mimeType: "image/png", fileUri: "https://example.com/a.PNG?size=2" } },
      { fileData: { fileUri: "https://example.com/image" } },
    ]);
  });

  it("begins with the instructions for models without a field for them", async () => {
    fine();
    const system = { role: "system", content: "Be brief." };
    const said = { role: "assistant", content: "Hello." };
    await chat(upstream, "gemma-3-27b-it", { messages: [system, ...HI.messages] });
    await chat(upstream, "gemma-3-27b-it", { messages: [system, said] });
    const [one, two] = vendor.sent.map(({ body }) => body);
    expect(one).not.toHaveProperty("systemInstruction");
    expect(one.contents).toEqual([{ role: "user", parts: [{ text: "Be brief.\n\n" }, { text: "hi" }] }]);
    expect(two.contents).toEqual([
      { role: "user", parts: [{ text: "Be brief.\n\n" }] },
      { role: "model", parts: [{ text: "Hello." }] },
    ]);
  });

  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
  };
  const inlineData = { mimeType: "image/png", data: "iVBORw0KGgo=" };
  async function resultFor(model: string, content: object[], isError: boolean) {
    fine();
    const used = { type: "tool_use", id: "a", name: "weather", input: {} };
    const result = { type: "tool_result", tool_use_id: "a", content, is_error: isError };
    await messages(upstream, model, {
      max_tokens: 100,
      tools: [{ name: "weather", input_schema: { type: "object" } }],
      messages: [...HI.messages, { role: "assistant", content: [used] }, { role: "user", content: [result] }],
    });
    return vendor.sent.at(-1)?.body.contents[2].parts;
  }

  it("has the result of each call, with its images, and tells that it is an error", async () => {
    const text = { type: "text", text: "sunny" };
    const url = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
    expect(await resultFor("gemini-3-pro", [text, image, url], true)).toEqual([
      {
        functionResponse: {
          id: "a",
          name: "weather",
          response: { name: "weather", error: "sunny\nhttps://example.com/a.png" },
          parts: [{ inlineData }],
        },
      },
    ]);
    // Google refuses a call without a result.
    expect(await resultFor("gemini-2.5-pro", [image], false)).toEqual([
      {
        functionResponse: {
          id: "a",
          name: "weather",
          response: { name: "weather", content: "Tool executed successfully." },
        },
      },
      { inlineData },
      { text: "Tool executed successfully and returned this image as a response" },
    ]);
  });

  it("asks for thoughts if the client wants to see them", async () => {
    fine();
    const asked = (reasoning: object) => respond(upstream, "gemini-3-pro", { input: "hi", reasoning });
    await asked({ effort: "low", summary: "auto" });
    await asked({ effort: "low" });
    expect(vendor.sent.map(({ body }) => body.generationConfig.thinkingConfig)).toEqual([
      { includeThoughts: true, thinkingLevel: "low" },
      { thinkingLevel: "low" },
    ]);
  });

  it("asks for no more tokens than are paid for", async () => {
    fine();
    await chat(upstream, "gemini-3-pro", HI, true, 70);
    await chat(upstream, "gemini-3-pro", { ...HI, max_tokens: 50 }, true, 70);
    expect(vendor.sent.map(({ body }) => body.generationConfig.maxOutputTokens)).toEqual([70, 50]);
  });

  it("has no credential if the upstream has none", async () => {
    fine();
    await chat(upstreamOf("google", { credential: null }), "gemini-3-pro", HI);
    expect(vendor.sent[0]?.headers.has("x-goog-api-key")).toBe(false);
  });

  it("is refused as invalid when its schema is nested too deeply", async () => {
    const schema = JSON.parse(`${'{"items":'.repeat(50_000)}{}${"}".repeat(50_000)}`);
    const turns: Turn[] = [{ role: "user", parts: [{ kind: "text", text: "hi", cache: null, at: "" }] }];
    const format = { kind: "schema", name: "s", description: null, schema, strict: null } as const;
    await expect(
      converse(upstream, "gemini-3-pro", { ...EMPTY_CONVERSATION, turns, format }),
    ).rejects.toMatchObject({ code: "invalid_request" });
    expect(vendor.sent).toEqual([]);
  });
});

describe("an answer of Google", () => {
  it.each([
    ["of a blocked prompt", { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: USAGE }],
    ["of a blocked answer", answer([], { finishReason: "SAFETY" })],
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
    vendor.answers(200, failed);
    await expect(chat(upstream, "gemini-3-pro", HI)).rejects.toMatchObject({ status: 500, ...MALFORMED });
    vendor.streams(streamOf(answer([{ text: "so" }], {}), failed));
    const stream = chunks(chat(upstream, "gemini-3-pro", { ...HI, stream: true }));
    await expect(stream).rejects.toMatchObject({ status: 500, ...MALFORMED });
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

  it("tells the tokens of tools, caches, thoughts, audio and images", async () => {
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
    expect((await chat(upstream, "gemini-3-pro", HI)).usage).toEqual({
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

  it("fails if a later request does", async () => {
    vendor.answers(503, { error: { code: 503, message: "m", status: "UNAVAILABLE" } });
    vendor.streamsOnce(streamOf(longer("one")));
    const stream = chunks(chat(upstream, "gemini-4-argon", { ...HI, stream: true }));
    await expect(stream).rejects.toMatchObject({ status: 503, failure: { code: "server_is_overloaded" } });
  });
});

describe("embeddings of Google", () => {
  const dialect = openDialects(DIALECTS, { transport: new FetchTransport(), now: () => new Date(0) }).get(
    "google",
  );
  async function embed(fields: object) {
    const body = JsonBody.parse(JSON.stringify({ model: "acme/embed", ...fields }));
    if (body === null || dialect === undefined) throw new Error("no object, or no dialect");
    const { signal } = new AbortController();
    const names = { upstreamModel: "gemini-embedding-001", publicModel: "acme/embed" };
    return await dialect.embed({ upstream, ...names, signal, body });
  }

  it("of one text", async () => {
    vendor.answers(200, { embedding: { values: [0.5, -1] }, usageMetadata: { promptTokenCount: 3 } });
    const { body, usage } = await embed({ input: "hi", dimensions: 2 });
    expect(vendor.sent[0]?.body).toEqual({
      model: "models/gemini-embedding-001",
      content: { parts: [{ text: "hi" }] },
      outputDimensionality: 2,
    });
    expect(JSON.parse(body)).toEqual({
      object: "list",
      model: "acme/embed",
      data: [{ object: "embedding", index: 0, embedding: [0.5, -1] }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
    expect(usage).toEqual({ promptTokens: 3, completionTokens: 0, cachedTokens: 0 });
  });

  it("of several texts, as bytes", async () => {
    vendor.answers(200, { embeddings: [{ values: [0.5] }, { values: [-1] }] });
    const { body, usage } = await embed({ input: ["a", "b"], encoding_format: "base64" });
    const model = "models/gemini-embedding-001";
    expect(vendor.sent[0]?.body).toEqual({
      requests: [
        { model, content: { parts: [{ text: "a" }] } },
        { model, content: { parts: [{ text: "b" }] } },
      ],
    });
    const bytes = (value: number) => Buffer.from(new Float32Array([value]).buffer).toString("base64");
    expect(JSON.parse(body).data).toEqual([
      { object: "embedding", index: 0, embedding: bytes(0.5) },
      { object: "embedding", index: 1, embedding: bytes(-1) },
    ]);
    expect(usage).toBeNull();
  });

  it.each([
    [{ input: [[1, 2]] }, "input"],
    [{ input: Array.from({ length: 101 }, () => "a") }, "input"],
    [{ input: "a", dimensions: "many" }, "dimensions"],
  ])("are refused when they can't be asked for: %#", async (fields, param) => {
    await expect(embed(fields)).rejects.toMatchObject({ code: "invalid_request", param });
    expect(vendor.sent).toEqual([]);
  });

  it.each([[{}], [{ embedding: { values: ["1"] } }], [{ embeddings: [{ values: [1] }, { values: [1] }] }]])(
    "are malformed: %j",
    async (found) => {
      vendor.answers(200, found);
      await expect(embed({ input: "a" })).rejects.toMatchObject({ status: 200, ...MALFORMED });
    },
  );
});
