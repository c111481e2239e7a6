import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { USAGE } from "./stub/script.ts";
import { MODELS, openTarget, type Target } from "./target.ts";

let target: Target;
let client: Anthropic;

beforeAll(async () => {
  target = await openTarget();
  client = new Anthropic({ baseURL: target.url, apiKey: target.key, maxRetries: 0 });
});

afterAll(() => target?.[Symbol.asyncDispose]());

const user = (content: string) => [{ role: "user" as const, content }];
const WEATHER: Anthropic.Tool = {
  name: "weather",
  description: "The weather in a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

describe.each(MODELS)("@anthropic-ai/sdk with %s", (model) => {
  it("creates a message, with its usage: cached tokens beside the others", async () => {
    const message = await client.messages.create({ model, max_tokens: 100, messages: user("say hello") });
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      model,
      content: [{ type: "text", text: "Hello there." }],
      stop_reason: "end_turn",
      usage: {
        input_tokens: USAGE.prompt - USAGE.cached,
        cache_read_input_tokens: USAGE.cached,
        output_tokens: USAGE.completion,
      },
    });
  });

  it("streams a message, and tells the size of the prompt at its start", async () => {
    const stream = client.messages.stream({ model, max_tokens: 100, messages: user("say hello") });
    const deltas: string[] = [];
    let started = 0;
    stream.on("text", (delta) => deltas.push(delta));
    stream.on("streamEvent", (event) => {
      if (event.type === "message_start") started = event.message.usage.input_tokens;
    });
    const message = await stream.finalMessage();
    expect(started).toBeGreaterThan(0);
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe("Hello there.");
    expect(message.stop_reason).toBe("end_turn");
    expect(message.usage.output_tokens).toBe(USAGE.completion);
  });

  it("calls tools in parallel, and continues with their results", async () => {
    const messages: Anthropic.MessageParam[] = user("weather in Rome and Oslo");
    const stream = client.messages.stream({ model, max_tokens: 100, tools: [WEATHER], messages });
    const first = await stream.finalMessage();
    expect(first.stop_reason).toBe("tool_use");
    const calls = first.content.filter((block) => block.type === "tool_use");
    expect(calls.map(({ input }) => input)).toEqual([{ city: "Rome" }, { city: "Oslo" }]);
    const second = await client.messages.create({
      model,
      max_tokens: 100,
      tools: [WEATHER],
      messages: [
        ...messages,
        { role: "assistant", content: first.content },
        {
          role: "user",
          content: calls.map(({ id }, at) => ({
            type: "tool_result",
            tool_use_id: id,
            content: at === 0 ? "sunny" : [{ type: "text", text: "rain" }],
          })),
        },
      ],
    });
    expect(second.content).toMatchObject([{ type: "text", text: "The tools said: sunny, rain." }]);
  });

  it("shows thoughts, and takes them back in the next turn", async () => {
    const messages: Anthropic.MessageParam[] = user("think");
    const options = {
      model,
      max_tokens: 4_000,
      thinking: { type: "enabled" as const, budget_tokens: 1_024 },
    };
    const first = await client.messages.stream({ ...options, messages }).finalMessage();
    expect(first.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    const second = await client.messages.create({
      ...options,
      messages: [...messages, { role: "assistant", content: first.content }, ...user("recall")],
    });
    expect(second.content).toMatchObject([{ type: "text", text: expect.stringContaining("think | recall") }]);
  });

  it("takes adaptive thinking, instructions in the middle, and marks for the cache", async () => {
    const message = await client.messages.create({
      model,
      max_tokens: 100,
      system: [
        { type: "text", text: "First." },
        { type: "text", text: "Second.", cache_control: { type: "ephemeral" } },
      ],
      thinking: { type: "adaptive" },
      messages: [
        ...user("one"),
        { role: "assistant", content: "Hello there." },
        { role: "system", content: "Third." } as unknown as Anthropic.MessageParam,
        ...user("recall"),
      ],
    });
    const [block] = message.content;
    const text = block?.type === "text" ? block.text : "";
    for (const said of ["one | recall", "First.", "Second.", "Third."]) expect(text).toContain(said);
  });

  it("answers a probe of one token", async () => {
    const message = await client.messages.create({ model, max_tokens: 1, messages: user("say hello") });
    expect(message.type).toBe("message");
  });

  it("counts tokens, those of tools and their results too", async () => {
    const count = async (options: Partial<Anthropic.MessageCountTokensParams>) =>
      (await client.messages.countTokens({ model, messages: user("say hello"), ...options })).input_tokens;
    const plain = await count({});
    expect(plain).toBeGreaterThan(0);
    expect(await count({ tools: [WEATHER] })).toBeGreaterThan(plain);
    const called: Anthropic.MessageParam[] = [
      ...user("say hello"),
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "sunny all day" }] },
    ];
    expect(await count({ messages: called })).toBeGreaterThan(plain);
  });

  it("raises when the upstream breaks off, refuses, or is busy", async () => {
    const broken = client.messages.stream({ model, max_tokens: 100, messages: user("break off") });
    await expect(broken.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    const wrong = client.messages.create({ model, max_tokens: 100, messages: user("be wrong") });
    await expect(wrong).rejects.toBeInstanceOf(Anthropic.BadRequestError);
    const busy = client.messages.create({ model, max_tokens: 100, messages: user("be busy") });
    await expect(busy).rejects.toMatchObject({ type: "overloaded_error" });
  });
});

describe("@anthropic-ai/sdk", () => {
  it("raises typed errors, with the request's id", async () => {
    const stranger = new Anthropic({ baseURL: target.url, apiKey: "sk-no-such-key", maxRetries: 0 });
    const message = { model: MODELS[0], max_tokens: 100, messages: user("say hello") };
    const refused = await stranger.messages.create(message).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(refused).toMatchObject({
      type: "authentication_error",
      requestID: expect.stringMatching(/^req_/),
    });
    const unknown = client.messages.create({ ...message, model: "no-such-model" });
    await expect(unknown).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    const wrong = client.messages.create({ ...message, max_tokens: 0 });
    await expect(wrong).rejects.toThrow(/max_tokens/);
  });

  it("lists the models", async () => {
    const ids = [];
    for await (const { id, type } of client.models.list()) {
      expect(type).toBe("model");
      ids.push(id);
    }
    expect(ids).toEqual(expect.arrayContaining([...MODELS]));
  });

  it("authenticates by authToken too, as Claude Code does", async () => {
    const bearer = new Anthropic({ baseURL: target.url, apiKey: null, authToken: target.key, maxRetries: 0 });
    const { content } = await bearer.messages.create({
      model: MODELS[0],
      max_tokens: 100,
      messages: user("say hello"),
    });
    expect(content).toMatchObject([{ text: "Hello there." }]);
  });
});
