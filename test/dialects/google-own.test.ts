import { describe, expect, it } from "vitest";
import { EMPTY_CONVERSATION, type Turn } from "../../server/src/conversation/conversation.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { DIALECTS, openDialects } from "../../server/src/upstream/dialects.ts";
import { FetchTransport } from "../fixtures/fetch-transport.ts";
import { chat, converse, messages, replayVendor, respond, upstreamOf, whole } from "./dialect.ts";
import { answer, MALFORMED } from "./google-answers.ts";

// What the AI SDK's package can't be compared with, because it loses or refuses it.
const vendor = replayVendor("https://generativelanguage.googleapis.com/v1beta/models/*");
const upstream = upstreamOf("google");
const HI = { messages: [{ role: "user", content: "hi" }] };
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

  it("does not end with what the model has said, because the client's last message is empty", async () => {
    fine();
    const said = { role: "assistant", content: "Hello." };
    const asked = { messages: [...HI.messages, said, { role: "user", content: "" }] };
    await expect(chat(upstream, "gemini-3-pro", asked)).rejects.toMatchObject({
      code: "invalid_request",
      param: "messages.2.content",
    });
    expect(vendor.sent).toHaveLength(0);
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
    expect(await resultFor("gemini-2.5-pro", [image], true)).toEqual([
      {
        functionResponse: { id: "a", name: "weather", response: { name: "weather", error: "Tool failed." } },
      },
      { inlineData },
      { text: "Tool failed and returned this image as a response" },
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

  it("asks for thoughts of a chat completion that asks the model to think, as other models show them", async () => {
    vendor.answers(200, {
      candidates: [
        { content: { parts: [{ text: "Hm", thought: true }, { text: "Fine." }] }, finishReason: "STOP" },
      ],
    });
    const asked = (effort: string) => chat(upstream, "gemini-2.5-flash", { ...HI, reasoning_effort: effort });
    const { choices } = await whole(asked("low"));
    expect(choices[0].message).toMatchObject({ content: "Fine.", reasoning_content: "Hm" });
    await asked("none");
    await chat(upstream, "gemini-2.5-flash", HI);
    expect(vendor.sent.map(({ body }) => body.generationConfig.thinkingConfig)).toEqual([
      { includeThoughts: true, thinkingBudget: 6_554 },
      { thinkingBudget: 0 },
      undefined,
    ]);
  });

  it("asks for no more tokens than are paid for", async () => {
    fine();
    await chat(upstream, "gemini-3-pro", HI, { maxTokens: 70 });
    await chat(upstream, "gemini-3-pro", { ...HI, max_tokens: 50 }, { maxTokens: 70 });
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

describe("embeddings of Google", () => {
  const dialect = openDialects(DIALECTS, {
    transport: new FetchTransport(),
    now: () => new Date(0),
    monotonicMs: () => 0,
  }).get("google");
  async function embed(fields: object) {
    const body = JsonBody.parse(JSON.stringify({ model: "acme/embed", ...fields }));
    if (body === null || dialect === undefined) throw new Error("no object, or no dialect");
    const { signal } = new AbortController();
    const names = { upstreamModel: "gemini-embedding-001", publicModel: "acme/embed" };
    return await dialect.embed({ upstream, ...names, signal, body });
  }

  it("of one text", async () => {
    vendor.answers(200, { embedding: { values: [1.5, -2] }, usageMetadata: { promptTokenCount: 3 } });
    const { body, usage } = await embed({ input: "hi", dimensions: 2, user: "u", input_type: null });
    expect(vendor.sent[0]?.body).toEqual({
      model: "models/gemini-embedding-001",
      content: { parts: [{ text: "hi" }] },
      outputDimensionality: 2,
    });
    expect(JSON.parse(body)).toEqual({
      object: "list",
      model: "acme/embed",
      data: [{ object: "embedding", index: 0, embedding: [0.6, -0.8] }],
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

  const texts = Array.from({ length: 201 }, (_, index) => `${index}`);
  const embedsAll = (left = Number.POSITIVE_INFINITY) =>
    vendor.answersBy((asked) => {
      if (left-- <= 0) return Response.json({ error: { code: 429, message: "Busy." } }, { status: 429 });
      const requests: { content: { parts: [{ text: string }] } }[] = asked.requests ?? [asked];
      const found = requests.map(({ content }) => ({ values: [Number(content.parts[0].text)] }));
      const usageMetadata = { promptTokenCount: requests.length };
      return Response.json(
        asked.requests === undefined
          ? { embedding: found[0], usageMetadata }
          : { embeddings: found, usageMetadata },
      );
    });

  it("of more texts than Google takes at once are asked for in several requests", async () => {
    embedsAll();
    const { body, usage } = await embed({ input: texts });
    expect(vendor.sent.map((sent) => sent.body.requests?.length ?? 1)).toEqual([100, 100, 1]);
    const found = texts.map((text, index) => ({ object: "embedding", index, embedding: [Number(text)] }));
    expect(JSON.parse(body)).toMatchObject({ data: found, usage: { prompt_tokens: 201 } });
    expect(usage).toMatchObject({ promptTokens: 201 });
  });

  it("fail together, and report what was used before the failure", async () => {
    embedsAll(2);
    const failure = { failure: { code: "server_is_overloaded" }, usage: { promptTokens: 200 } };
    await expect(embed({ input: texts })).rejects.toMatchObject(failure);
  });

  it.each([
    [{ input: [[1, 2]] }, "input"],
    [{ input: "a", dimensions: "many" }, "dimensions"],
    [{ input: "a", input_type: "query" }, "input_type"],
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
