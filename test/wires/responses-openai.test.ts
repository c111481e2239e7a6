import OpenAI, { APIError, BadRequestError, NotFoundError } from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { answersMessage, chunk, startResponsesService, streamsChunks, USAGE } from "./responses-service.ts";

const running = sharedByFile(startResponsesService);
let client: OpenAI;
beforeAll(() => {
  client = new OpenAI({ apiKey: running.key, baseURL: `${running.service.baseUrl}/v1`, maxRetries: 0 });
});

const MODEL = "acme/chat";
const weather = {
  type: "function" as const,
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};
const callChunk = (index: number, id: string, input: string) =>
  chunk({
    tool_calls: [{ index, id, type: "function", function: { name: "get_weather", arguments: input } }],
  });

describe("the official openai package", () => {
  it("creates, retrieves, lists and deletes a response", async () => {
    running.answers.chat = answersMessage({ content: "from afar" });
    const response = await client.responses.create({ model: MODEL, input: "hello" });
    expect(response.output_text).toBe("from afar");
    expect(response._request_id).toMatch(/^req_/);
    expect((await client.responses.retrieve(response.id)).output).toEqual(response.output);
    const items = await client.responses.inputItems.list(response.id);
    expect(items.data).toHaveLength(1);
    await client.responses.delete(response.id);
    await expect(client.responses.retrieve(response.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it("accumulates a stream with thoughts, text and parallel calls", async () => {
    running.answers.chat = streamsChunks([
      chunk({ reasoning_content: "hmm" }),
      chunk({ content: "look: " }),
      chunk({ content: "there" }),
      callChunk(0, "call_a", '{"city":'),
      callChunk(1, "call_b", '{"city":"Rome"}'),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
      chunk({}, "tool_calls", USAGE),
    ]);
    const stream = client.responses.stream({ model: MODEL, input: "hello", tools: [weather] });
    const types = new Set<string>();
    for await (const event of stream) types.add(event.type);
    expect(types).toContain("response.completed");
    const response = await stream.finalResponse();
    expect(response.status).toBe("completed");
    expect(response.output_text).toBe("look: there");
    expect(response.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "message",
      "function_call",
      "function_call",
    ]);
    expect(response.usage?.total_tokens).toBe(42);
  });

  it("accumulates custom calls and refusals", async () => {
    running.answers.chat = streamsChunks([
      chunk({ refusal: "I can't" }),
      chunk({
        tool_calls: [
          { index: 0, id: "c", type: "function", function: { name: "patch", arguments: '{"input":"x"}' } },
        ],
      }),
      chunk({}, "tool_calls", USAGE),
    ]);
    const stream = client.responses.stream({
      model: MODEL,
      input: "hello",
      tools: [{ type: "custom", name: "patch" }],
    });
    const response = await stream.finalResponse();
    expect(response.output).toMatchObject([
      { type: "message", content: [{ type: "refusal", refusal: "I can't" }] },
      { type: "custom_tool_call", input: "x" },
    ]);
  });

  it("parses structured output", async () => {
    running.answers.chat = answersMessage({ content: '{"x":1}' });
    const format = zodTextFormat(z.object({ x: z.number() }), "point");
    const response = await client.responses.parse({ model: MODEL, input: "hello", text: { format } });
    expect(response.output_parsed).toEqual({ x: 1 });
  });

  it("continues a response with the results of its calls", async () => {
    running.answers.chat = streamsChunks([callChunk(0, "call_a", "{}"), chunk({}, "tool_calls", USAGE)]);
    const first = await client.responses
      .stream({ model: MODEL, input: "hello", tools: [weather] })
      .finalResponse();
    running.answers.chat = answersMessage({ content: "sunny" });
    const second = await client.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: "call_a", output: "sun" }],
    });
    expect(second.output_text).toBe("sunny");
  });

  it("raises typed errors", async () => {
    await expect(client.responses.create({ model: MODEL, input: "a", temperature: 3 })).rejects.toMatchObject(
      {
        constructor: BadRequestError,
        param: "temperature",
        code: "invalid_request",
      },
    );
    const unknown = client.responses.create({ model: MODEL, input: "a", previous_response_id: "resp_none" });
    await expect(unknown).rejects.toBeInstanceOf(NotFoundError);
  });

  it("raises when a stream breaks off, also to who reads event by event, as LangChain and LiteLLM do", async () => {
    running.answers.chat = streamsChunks([chunk({ content: "half" })], "eof");
    const failure = {
      constructor: APIError,
      type: "server_error",
      code: "server_error",
      message: expect.stringContaining("broke off"),
    };
    const accumulated = client.responses.stream({ model: MODEL, input: "hello" }).finalResponse();
    await expect(accumulated).rejects.toMatchObject(failure);
    let text = "";
    const read = async () => {
      const events = await client.responses.create({ model: MODEL, input: "hello", stream: true });
      for await (const event of events) if (event.type === "response.output_text.delta") text += event.delta;
    };
    await expect(read()).rejects.toMatchObject(failure);
    expect(text).toBe("half");
  });
});
