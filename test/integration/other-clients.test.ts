import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  AIMessage,
  type AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { APICallError, embedMany, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type CatalogFile, writeCatalog } from "../fixtures/catalog.ts";
import { chunkOf, type ModelServer, startModelServer } from "../fixtures/model-server.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let upstream: ModelServer;
let catalog: CatalogFile;
let service: Service;
let baseURL: string;
let key: string;

beforeAll(async () => {
  upstream = await startModelServer(({ path, text, response }) => {
    response.setHeader("content-type", "text/event-stream");
    // Begins an answer, and never ends it.
    if (!path.includes(":streamGenerateContent"))
      return response.write(chunkOf({ role: "assistant", content: "first" }));
    // As Google: calls the tool in Rome and Oslo, until it gets a result.
    const call = (city: string) => ({ functionCall: { name: "weather", args: { city } } });
    const calls = [{ ...call("Rome"), thoughtSignature: "c2ln" }, call("Oslo")];
    const parts = text.includes("functionResponse") ? [{ text: "Fine." }] : calls;
    const candidate = { content: { role: "model", parts }, finishReason: "STOP" };
    response.end(`data: ${JSON.stringify({ candidates: [candidate] })}\r\n\r\n`);
  });
  catalog = await writeCatalog({
    upstreams: {
      sandbox: { dialect: "sandbox" },
      endless: { dialect: "openai", baseUrl: upstream.baseUrl },
      google: { dialect: "google", baseUrl: upstream.baseUrl },
    },
    models: [
      { id: "sandbox/echo", routes: [{ upstream: "sandbox", model: "echo" }] },
      { id: "sandbox/embedding", routes: [{ upstream: "sandbox", model: "embedding" }] },
      { id: "acme/endless", routes: [{ upstream: "endless", model: "inner" }] },
      { id: "acme/google", routes: [{ upstream: "google", model: "inner" }] },
    ],
  });
  service = await startService({ env: { OSTIARY_CATALOG: catalog.file } });
  baseURL = `${service.baseUrl}/v1`;
  key = (await signUpWithKey(service.baseUrl)).key;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await catalog?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

describe("the AI SDK with its OpenAI-compatible provider", () => {
  const provider = (apiKey = key) =>
    createOpenAICompatible({
      name: "ostiary",
      baseURL,
      apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
  const model = () => provider()("sandbox/echo");

  it("chats and streams, with usage", async () => {
    const { text, usage, finishReason } = await generateText({ model: model(), prompt: "one two three" });
    expect(text).toContain("one two three");
    expect(usage.totalTokens).toBeGreaterThan(0);
    expect(finishReason).toBe("stop");
    const stream = streamText({ model: model(), prompt: "one two three" });
    let streamed = "";
    for await (const delta of stream.textStream) streamed += delta;
    expect(streamed).toContain("one two three");
    expect((await stream.usage).outputTokens).toBeGreaterThan(0);
  });

  it("calls tools, and continues with their results", async () => {
    const called: string[] = [];
    const weather = tool({
      description: "the weather",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        called.push(city);
        return "sunny";
      },
    });
    const { steps } = await generateText({
      model: model(),
      prompt: "call weather",
      tools: { weather },
      toolChoice: "auto",
      stopWhen: stepCountIs(2),
    });
    expect(called).toHaveLength(1);
    expect(steps[0]?.toolCalls[0]?.toolName).toBe("weather");
    const stream = streamText({
      model: model(),
      prompt: "call weather",
      tools: { weather },
      toolChoice: "required",
    });
    expect((await stream.toolCalls)[0]?.toolName).toBe("weather");
  });

  it("streams the calls of a Google model, and gives their signatures back to it", async () => {
    const inputSchema = z.object({ city: z.string() });
    const stream = streamText({
      model: provider()("acme/google"),
      prompt: "the weather in Rome and Oslo",
      tools: { weather: tool({ inputSchema, execute: async () => "sunny" }) },
      stopWhen: stepCountIs(2),
    });
    expect(await stream.text).toBe("Fine.");
    expect(upstream.received.at(-1)?.text).toContain('"thoughtSignature":"c2ln"');
  });

  it("gets objects by a schema, sends images, and embeds", async () => {
    const schema = jsonSchema<{ a: string }>({
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    });
    const { output } = await generateText({
      model: model(),
      output: Output.object({ schema }),
      prompt: "an object",
    });
    expect(typeof output.a).toBe("string");
    const { text } = await generateText({
      model: model(),
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look at this" },
            { type: "file", data: Buffer.from(PIXEL, "base64"), mediaType: "image/png" },
          ],
        },
      ],
    });
    expect(text).toContain("look at this");
    const { embeddings } = await embedMany({
      model: provider().embeddingModel("sandbox/embedding"),
      values: ["one", "two"],
    });
    expect(embeddings).toHaveLength(2);
  });

  it("gets errors with their status, and aborts when told to", async () => {
    const refused = generateText({
      model: provider(`sk-${"A".repeat(49)}`)("sandbox/echo"),
      prompt: "hi",
      maxRetries: 0,
    });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error) && error.statusCode).toBe(401);
    const leaving = new AbortController();
    const stream = streamText({
      model: provider()("acme/endless"),
      prompt: "hi",
      abortSignal: leaving.signal,
    });
    for await (const delta of stream.textStream) {
      expect(delta).toBe("first");
      leaving.abort();
    }
    await upstream.received.at(-1)?.dropped;
  });
});

describe("LangChain's OpenAI client", () => {
  const chatModel = (fields: object = {}) =>
    new ChatOpenAI({
      model: "sandbox/echo",
      apiKey: key,
      configuration: { baseURL },
      maxRetries: 0,
      useResponsesApi: false,
      ...fields,
    });

  it("chats and streams, with usage", async () => {
    const answer = await chatModel().invoke([
      new SystemMessage("be brief"),
      new HumanMessage("one two three"),
    ]);
    expect(answer.text).toContain("one two three");
    expect(answer.usage_metadata).toMatchObject({ total_tokens: expect.any(Number) });
    let streamed = "";
    for await (const chunk of await chatModel().stream("one two three")) streamed += chunk.text;
    expect(streamed).toContain("one two three");
  });

  it("calls tools, and continues with their results", async () => {
    const schema = z.object({ city: z.string() });
    const withTools = chatModel().bindTools([{ name: "weather", description: "the weather", schema }]);
    const first = await withTools.invoke("call weather");
    const [call] = first.tool_calls ?? [];
    expect(call?.name).toBe("weather");
    const next = await chatModel().invoke([
      new HumanMessage("what is it like?"),
      new AIMessage({ content: "", tool_calls: call === undefined ? [] : [call] }),
      new ToolMessage({ content: "sunny", tool_call_id: call?.id ?? "" }),
      new HumanMessage("thanks"),
    ]);
    expect(next.text).toContain("thanks");
  });

  it("streams the calls of a Google model", async () => {
    const schema = z.object({ city: z.string() });
    const google = chatModel({ model: "acme/google" }).bindTools([{ name: "weather", schema }]);
    const answer = await google.stream("the weather in Rome and Oslo").then(async (stream) => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of stream) whole = whole?.concat(chunk) ?? chunk;
      return whole;
    });
    expect(answer?.tool_calls?.map(({ args }) => args)).toEqual([{ city: "Rome" }, { city: "Oslo" }]);
  });

  it("gets objects by a schema, sends images, and embeds", async () => {
    const structured = chatModel().withStructuredOutput(z.object({ a: z.string() }), {
      method: "jsonSchema",
    });
    expect(typeof (await structured.invoke("an object")).a).toBe("string");
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } };
    const content = [{ type: "text", text: "look at this" }, image];
    expect((await chatModel().invoke([new HumanMessage({ content })])).text).toContain("look at this");
    const embeddings = new OpenAIEmbeddings({
      model: "sandbox/embedding",
      apiKey: key,
      configuration: { baseURL },
    });
    expect(await embeddings.embedDocuments(["one", "two"])).toHaveLength(2);
  });

  it("gets errors with their status, and aborts when told to", async () => {
    const error = await chatModel({ apiKey: `sk-${"A".repeat(49)}` })
      .invoke("hi")
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 401 });
    const leaving = new AbortController();
    const stream = await chatModel({ model: "acme/endless" }).stream("hi", { signal: leaving.signal });
    const read = async () => {
      for await (const chunk of stream) if (chunk.text === "first") leaving.abort();
    };
    await read().catch(() => {});
    await upstream.received.at(-1)?.dropped;
  });
});

describe("a client of an API that is not served", () => {
  it.each(["/v1beta", "/v1", ""])("for Google's with the path %j shows what to use instead", async (path) => {
    const google = createGoogleGenerativeAI({ apiKey: key, baseURL: service.baseUrl + path });
    const refused = generateText({ model: google("gemini"), prompt: "hi", maxRetries: 0 });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      statusCode: 404,
      message: expect.stringMatching(/^Google's API is not served\. Use a client for OpenAI's/),
      data: { error: { code: 404, status: "NOT_FOUND" } },
    });
  });

  it("for Google's list of models has Google's form of a refused key", async () => {
    const response = await fetch(`${baseURL}/models`, { headers: { "x-goog-api-key": key } });
    expect(response.status).toBe(401);
    expect((await response.json()).error).toEqual({
      code: 401,
      message: expect.stringContaining("Authorization: Bearer"),
      status: "UNAUTHENTICATED",
    });
  });

  it.each(["chat", "ps", "pull", "v1/api/tags"])(
    "for Ollama's %s reads the error as a text",
    async (path) => {
      const response = await fetch(`${service.baseUrl}/${path.includes("/") ? path : `api/${path}`}`, {
        method: path === "ps" ? "GET" : "POST",
      });
      expect(response.status).toBe(404);
      expect((await response.json()).error).toMatch(/^Ollama's API is not served\./);
    },
  );
});
