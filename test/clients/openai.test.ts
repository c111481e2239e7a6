import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USAGE } from "./stub/script.ts";
import { MODELS, openTarget, type Target } from "./target.ts";

// The npm package openai: its accumulator of streamed responses is the strictest reader there is.
let target: Target;
let client: OpenAI;

beforeAll(async () => {
  target = await openTarget();
  client = new OpenAI({ baseURL: `${target.url}/v1`, apiKey: target.key, maxRetries: 0 });
});

afterAll(() => target?.[Symbol.asyncDispose]());

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "weather",
  description: "The weather in a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};

describe.each(MODELS)("openai with %s", (model) => {
  it("creates a response, with its usage", async () => {
    const response = await client.responses.create({ model, input: "say hello" });
    expect(response).toMatchObject({ object: "response", status: "completed", model, error: null });
    expect(response.output_text).toBe("Hello there.");
    expect(response.usage).toMatchObject({
      input_tokens: USAGE.prompt,
      input_tokens_details: { cached_tokens: USAGE.cached },
      output_tokens: USAGE.completion,
      total_tokens: USAGE.prompt + USAGE.completion,
    });
  });

  it("streams a response, piece by piece", async () => {
    const stream = client.responses.stream({ model, input: "say hello" });
    const deltas: string[] = [];
    const numbers: number[] = [];
    stream.on("response.output_text.delta", ({ delta }) => deltas.push(delta));
    stream.on("event", (event) => numbers.push(event.sequence_number));
    const response = await stream.finalResponse();
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe("Hello there.");
    expect(response.output_text).toBe("Hello there.");
    expect(numbers).toEqual(numbers.map((_, index) => index));
  });

  it("calls functions in parallel, and continues with their results by previous_response_id", async () => {
    const input = "weather in Rome and Oslo";
    const first = await client.responses.create({ model, input, tools: [WEATHER] });
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls.map((call) => JSON.parse(call.arguments))).toEqual([{ city: "Rome" }, { city: "Oslo" }]);
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(2);
    const second = await client.responses.create({
      model,
      previous_response_id: first.id,
      tools: [WEATHER],
      input: calls.map(({ call_id }, at) => ({
        type: "function_call_output",
        call_id,
        output: at === 0 ? "sunny" : "rain",
      })),
    });
    expect(second.output_text).toBe("The tools said: sunny, rain.");
    const third = await client.responses.create({ model, previous_response_id: second.id, input: "recall" });
    expect(third.output_text).toBe("weather in Rome and Oslo | recall");
  });

  it("streams a call's arguments", async () => {
    const stream = client.responses.stream({ model, input: "weather in Rome", tools: [WEATHER] });
    let streamed = "";
    stream.on("response.function_call_arguments.delta", ({ delta }) => {
      streamed += delta;
    });
    const { output } = await stream.finalResponse();
    expect(JSON.parse(streamed)).toEqual({ city: "Rome" });
    expect(output.find((item) => item.type === "function_call")).toMatchObject({ name: "weather" });
  });

  it("parses an answer by its schema", async () => {
    const { output_parsed: parsed } = await client.responses.parse({
      model,
      input: "as json",
      text: { format: zodTextFormat(z.object({ city: z.string() }), "place") },
    });
    expect(parsed).toEqual({ city: "Rome" });
  });

  it("tells that an answer is incomplete", async () => {
    const response = await client.responses.create({ model, input: "at length", max_output_tokens: 64 });
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    const streamed = await client.responses.stream({ model, input: "at length" }).finalResponse();
    expect(streamed.status).toBe("incomplete");
  });

  it("gets instructions to the model, and not to the next response", async () => {
    const first = await client.responses.create({ model, instructions: "Be brief.", input: "recall" });
    expect(first.output_text).toContain("Be brief.");
    const next = await client.responses.create({ model, previous_response_id: first.id, input: "recall" });
    expect(next.output_text).not.toContain("Be brief.");
  });

  it("retrieves, lists and deletes a response", async () => {
    const { id } = await client.responses.create({ model, input: "say hello" });
    expect((await client.responses.retrieve(id)).output_text).toBe("Hello there.");
    const items = [];
    for await (const item of client.responses.inputItems.list(id)) items.push(item);
    expect(items).toMatchObject([{ role: "user" }]);
    await client.responses.delete(id);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(
      client.responses.create({ model, previous_response_id: id, input: "recall" }),
    ).rejects.toMatchObject({ status: expect.toSatisfy((status) => status === 400 || status === 404) });
  });

  it("keeps nothing with store: false", async () => {
    const { id } = await client.responses.create({ model, input: "say hello", store: false });
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it("raises when the upstream breaks off", async () => {
    await expect(client.responses.create({ model, input: "break off" })).rejects.toBeInstanceOf(
      OpenAI.APIError,
    );
    const outcome = client.responses
      .stream({ model, input: "break off" })
      .finalResponse()
      .then(
        ({ status }) => status,
        () => "raised",
      );
    expect(["raised", "failed"]).toContain(await outcome);
  });

  it("raises for a wrong field, naming it", async () => {
    const wrong = { model, input: "say hello", max_output_tokens: -1 };
    await expect(client.responses.create(wrong)).rejects.toMatchObject({
      status: 400,
      param: "max_output_tokens",
    });
  });

  it("creates and streams chat completions", async () => {
    const messages = [{ role: "user" as const, content: "say hello" }];
    const { choices, usage } = await client.chat.completions.create({ model, messages });
    expect(choices[0]?.message.content).toBe("Hello there.");
    expect(usage?.prompt_tokens).toBe(USAGE.prompt);
    const streamed = await client.chat.completions.stream({ model, messages }).finalContent();
    expect(streamed).toBe("Hello there.");
  });
});

describe("openai's list of models", () => {
  it("has the models", async () => {
    const ids = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(expect.arrayContaining([...MODELS]));
  });
});
