import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { MODELS, openTarget, type Target } from "./target.ts";

let target: Target;

beforeAll(async () => {
  setTracingDisabled(true);
  target = await openTarget();
});

afterAll(() => target?.[Symbol.asyncDispose]());

const runner = () =>
  new Runner({
    modelProvider: new OpenAIProvider({ baseURL: `${target.url}/v1`, apiKey: target.key }),
    tracingDisabled: true,
  });

describe.each(MODELS)("the OpenAI Agents SDK with %s", (model) => {
  it("answers, streamed and not", async () => {
    const agent = new Agent({ name: "greeter", instructions: "Greet.", model });
    const result = await runner().run(agent, "say hello");
    expect(result.finalOutput).toBe("Hello there.");
    const stream = await runner().run(agent, "say hello", { stream: true });
    let text = "";
    for await (const event of stream) {
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") {
        text += event.data.delta;
      }
    }
    expect(text).toBe("Hello there.");
  });

  it("calls a function, and answers with its result", async () => {
    const cities: string[] = [];
    const weather = tool({
      name: "weather",
      description: "the weather",
      parameters: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        cities.push(city);
        return "sunny";
      },
    });
    const agent = new Agent({
      name: "forecaster",
      instructions: "Tell the weather.",
      model,
      tools: [weather],
    });
    const result = await runner().run(agent, "weather in Rome");
    expect(cities).toEqual(["Rome"]);
    expect(result.finalOutput).toBe("The tools said: sunny.");
  });

  it("continues by the id of the last response", async () => {
    const agent = new Agent({ name: "greeter", instructions: "Greet.", model });
    const first = await runner().run(agent, "say hello");
    const previousResponseId = first.lastResponseId;
    expect(previousResponseId).toBeDefined();
    const second = await runner().run(
      agent,
      "recall",
      previousResponseId === undefined ? {} : { previousResponseId },
    );
    expect(second.finalOutput).toContain("say hello | recall");
  });
});
