import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { USAGE } from "./stub/script.ts";
import { MODELS, openTarget, type Target } from "./target.ts";

let target: Target;

beforeAll(async () => {
  // It warns of every model that it does not know.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  target = await openTarget();
});

afterAll(() => target?.[Symbol.asyncDispose]());

const PROVIDERS = {
  // Its default is the Responses API.
  "@ai-sdk/openai": (model: string) =>
    createOpenAI({ baseURL: `${target.url}/v1`, apiKey: target.key })(model),
  "@ai-sdk/anthropic": (model: string) =>
    createAnthropic({ baseURL: `${target.url}/v1`, apiKey: target.key })(model),
};

const CASES = (Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[]).flatMap((provider) =>
  MODELS.map((model) => [provider, model] as const),
);

describe.each(CASES)("%s with %s", (provider, name) => {
  const model = () => PROVIDERS[provider](name);

  it("generates and streams text, with usage", async () => {
    const { text, usage, finishReason } = await generateText({ model: model(), prompt: "say hello" });
    expect(text).toBe("Hello there.");
    expect(finishReason).toBe("stop");
    expect(usage).toMatchObject({ inputTokens: USAGE.prompt, outputTokens: USAGE.completion });
    const stream = streamText({ model: model(), prompt: "say hello" });
    const deltas: string[] = [];
    for await (const delta of stream.textStream) deltas.push(delta);
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe("Hello there.");
    expect((await stream.usage).outputTokens).toBe(USAGE.completion);
  });

  it("calls tools, and continues with their results", async () => {
    const cities: string[] = [];
    const weather = tool({
      description: "the weather",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        cities.push(city);
        return "sunny";
      },
    });
    const options = { model: model(), tools: { weather }, stopWhen: stepCountIs(3) };
    const { text } = await generateText({ ...options, prompt: "weather in Rome and Oslo" });
    expect(cities).toEqual(["Rome", "Oslo"]);
    expect(text).toContain("sunny");
    const stream = streamText({ ...options, prompt: "weather in Rome" });
    expect(await stream.text).toContain("sunny");
    expect(cities).toEqual(["Rome", "Oslo", "Rome"]);
  });

  it("takes a second turn with what the first has answered", async () => {
    const messages: ModelMessage[] = [{ role: "user", content: "say hello" }];
    const first = await generateText({ model: model(), messages });
    messages.push(...first.response.messages, { role: "user", content: "recall" });
    const second = await generateText({ model: model(), messages });
    expect(second.text).toContain("say hello | recall");
    const [{ body } = { body: {} }] = target.stub.received.slice(-1);
    expect(JSON.stringify(body)).toContain("Hello there.");
  });

  it("streams a thought, and takes it back in the next turn", async () => {
    const messages: ModelMessage[] = [{ role: "user", content: "think" }];
    const stream = streamText({ model: model(), messages });
    expect(await stream.text).toBe("42.");
    messages.push(...(await stream.response).messages, { role: "user", content: "recall" });
    const second = await generateText({ model: model(), messages });
    expect(second.text).toContain("think | recall");
  });

  it("gets an object by a schema", async () => {
    const { output } = await generateText({
      model: model(),
      prompt: "as json",
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    expect(output).toEqual({ city: "Rome" });
  });

  it("is told that an answer is cut off at the maximum", async () => {
    const { finishReason } = await generateText({ model: model(), prompt: "at length", maxOutputTokens: 64 });
    expect(finishReason).toBe("length");
  });

  it("raises when the upstream breaks off", async () => {
    const failures: unknown[] = [];
    const stream = streamText({
      model: model(),
      prompt: "break off",
      maxRetries: 0,
      onError: ({ error }) => void failures.push(error),
    });
    await stream.consumeStream();
    expect(failures).toHaveLength(1);
  });
});
