import { describe, expect, it } from "vitest";
import { chat, chunks, messages, replayVendor, respond, streamText, upstreamOf, whole } from "./dialect.ts";

// Chat completions that servers should not give, and what a client of the Messages API is told then.
const other = replayVendor("https://models.example/v1/chat/completions");
const openai = upstreamOf("openai", { baseUrl: "https://models.example/v1" });
const MESSAGE = { messages: [{ role: "user", content: "hi" }], max_tokens: 100 };
const MALFORMED = { failure: { code: "upstream_error" } };

function completion(toolCalls: object[] | undefined, content: unknown = null) {
  return {
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, tool_calls: toolCalls },
        finish_reason: "tool_calls",
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5 },
  };
}

describe("a chat completion for a client of Anthropic", () => {
  const called = (input: unknown, id = "a") => ({
    id,
    type: "function",
    function: { name: "w", arguments: input },
  });

  it("is a failure if a call's arguments are no JSON: its tool must not run without them", async () => {
    other.answers(200, completion([called('{"path": "/tmp/x" oops')]));
    await expect(messages(openai, "m", MESSAGE)).rejects.toMatchObject(MALFORMED);
  });

  it("may have arguments as an object, and text in parts", async () => {
    other.answers(200, completion([called({ path: "/tmp/x" })], [{ type: "text", text: "in parts" }]));
    expect((await whole(messages(openai, "m", MESSAGE))).content).toMatchObject([
      { type: "text", text: "in parts" },
      { type: "tool_use", input: { path: "/tmp/x" } },
    ]);
  });

  it("has calls whose ids differ, also after they were cleaned", async () => {
    other.answers(200, completion([called("{}", "a.b"), called("{}", "a:b")]));
    const { content } = await whole(messages(openai, "m", MESSAGE));
    expect(new Set(content.map(({ id }: { id: string }) => id)).size).toBe(2);
  });

  it("is a failure if what its provider wants back is nested too deeply to be written", async () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const call = { ...called("{}"), extra_content: { google: "DEEP" } };
    other.streams(JSON.stringify(completion([call])).replace('"DEEP"', deep));
    await expect(messages(openai, "m", MESSAGE)).rejects.toMatchObject(MALFORMED);
  });

  it("ends its turn if the server reports calls that it has not made", async () => {
    other.answers(200, completion([], "no call"));
    expect(await whole(messages(openai, "m", MESSAGE))).toMatchObject({
      stop_reason: "end_turn",
      content: [{ type: "text", text: "no call" }],
    });
  });

  it("is a failure if a call has no name", async () => {
    other.answers(200, completion([{ id: "a", type: "function", function: { name: "", arguments: "{}" } }]));
    await expect(messages(openai, "m", MESSAGE)).rejects.toMatchObject(MALFORMED);
  });
});

describe("a stream of chat completion chunks", () => {
  it("is malformed if a text is nested too deeply, after the chunks before it", async () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const chunkOf = (content: string) =>
      `data: {"model":"m","choices":[{"index":0,"delta":{"content":${content}}}]}\n\n`;
    other.streams(chunkOf('"first"') + chunkOf('"second"') + chunkOf(deep));
    const answer = await chat(openai, "m", { ...MESSAGE, stream: true });
    if (answer.kind !== "stream") throw new Error("not a stream");
    let text = "";
    await expect(
      (async () => {
        for await (const piece of answer.events) text += piece;
      })(),
    ).rejects.toMatchObject(MALFORMED);
    expect(text).toContain("second");
  });

  it("has not finished by an empty reason, which some servers write in every chunk", async () => {
    const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: "" }] });
    const pieces = ["Hel", "lo"].map((text) => `data: ${JSON.stringify(chunk(text))}\n\n`);
    const streams = [
      () => chat(openai, "m", { ...MESSAGE, stream: true }),
      () => messages(openai, "m", { ...MESSAGE, stream: true }),
      () => respond(openai, "m", { input: "hi", stream: true }),
    ];
    for (const stream of streams) {
      other.streams(...pieces);
      await expect(streamText(stream())).rejects.toMatchObject({
        message: expect.stringContaining("a finish"),
      });
      other.streams(...pieces, "data: [DONE]\n\n");
      expect(await streamText(stream())).toContain("lo");
    }
    other.answers(200, { choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "" }] });
    expect(await whole(messages(openai, "m", MESSAGE))).toMatchObject({ stop_reason: "end_turn" });
    const last = { choices: [{ index: 0, delta: {}, finish_reason: "length" }] };
    other.streams(...pieces, `data: ${JSON.stringify(last)}\n\n`, `data: ${JSON.stringify(chunk(""))}\n\n`);
    expect(await streamText(messages(openai, "m", { ...MESSAGE, stream: true }))).toContain('"max_tokens"');
  });

  it("may have events without data, by which some servers keep the connection open", async () => {
    const chunk = { choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] };
    const events = `data:\n\ndata: ${JSON.stringify(chunk)}\n\ndata: \n\ndata: [DONE]\n\n`;
    for (const stream of [
      () => chat(openai, "m", { ...MESSAGE, stream: true }),
      () => messages(openai, "m", { ...MESSAGE, stream: true }),
      () => respond(openai, "m", { input: "hi", stream: true }),
    ]) {
      other.streams(events);
      expect(await streamText(stream())).toContain("Hello");
    }
  });

  it("may have the message at once, and after its pieces once more", async () => {
    const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } };
    const all = `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
    const piece = { choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }] };
    for (const events of [all, `data: ${JSON.stringify(piece)}\n\n${all}`]) {
      for (const stream of [
        () => messages(openai, "m", { ...MESSAGE, stream: true }),
        () => respond(openai, "m", { input: "hi", stream: true }),
      ]) {
        other.streams(events);
        expect((await streamText(stream())).match(/"(?:text|delta)":"Hello"/g)?.length).toBeGreaterThan(0);
      }
      other.streams(events);
      const text = await streamText(messages(openai, "m", { ...MESSAGE, stream: true }));
      expect(text.match(/Hello/g)).toHaveLength(1);
    }
  });

  it("is a failure if it reports an error", async () => {
    other.streams('data: {"error":{"message":"no"}}\n\n');
    await expect(chunks(chat(openai, "m", { ...MESSAGE, stream: true }))).rejects.toMatchObject(MALFORMED);
  });
});

describe("a chat completion without a choice", () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 0 };
  const ways = [
    ["forwarded", (more: object) => chat(openai, "m", { ...MESSAGE, ...more })],
    ["for a client of Anthropic", (more: object) => messages(openai, "m", { ...MESSAGE, ...more })],
    ["for a client of responses", (more: object) => respond(openai, "m", { input: "hi", ...more })],
  ] as const;

  it.each(ways)("is a failure that may have a usage, %s", async (_, ask) => {
    other.answers(200, { choices: [], usage });
    const counted = expect.objectContaining({ promptTokens: 1_000 });
    await expect(ask({})).rejects.toMatchObject({ status: 200, ...MALFORMED, usage: counted });
    const chunk = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
    for (const text of [chunk, "data: {}\n\n", ""]) {
      other.streams(`${text}data: [DONE]\n\n`);
      await expect(streamText(ask({ stream: true }))).rejects.toMatchObject({ status: 200, ...MALFORMED });
    }
  });
});

describe("an error in the place of a chat completion", () => {
  const HI_STREAM = { ...MESSAGE, stream: true };
  const RESPONSE = { input: "hi", stream: true };

  it.each([
    // vLLM and SGLang.
    [{ message: "no", type: "BadRequestError", code: 400 }, 400, "invalid_request"],
    [{ message: "no", type: "invalid_request_error", param: "top_p", code: null }, 400, "invalid_request"],
    [{ message: "maximum context length is 8", code: 400 }, 400, "context_length_exceeded"],
    // OpenRouter and Azure.
    [{ message: "no", code: 429 }, 429, "server_is_overloaded"],
    [{ message: "no", code: "429" }, 429, "server_is_overloaded"],
    [{ message: "no", type: "tokens", code: "rate_limit_exceeded" }, 429, "server_is_overloaded"],
    [{ message: "no", type: "server_error", code: 200 }, 500, "upstream_error"],
    ["no", 500, "upstream_error"],
  ])("is the failure that %j is by its code or type, also in a stream", async (error, status, code) => {
    const refused = { status, failure: { code } };
    other.streams(`data: ${JSON.stringify({ error, choices: [] })}\n\n`);
    await expect(chunks(chat(openai, "m", HI_STREAM))).rejects.toMatchObject(refused);
    await expect(streamText(messages(openai, "m", HI_STREAM))).rejects.toMatchObject(refused);
    await expect(streamText(respond(openai, "m", RESPONSE))).rejects.toMatchObject(refused);
    other.answers(200, { error });
    await expect(chat(openai, "m", MESSAGE)).rejects.toMatchObject(refused);
    await expect(messages(openai, "m", MESSAGE)).rejects.toMatchObject(refused);
  });

  it("may be that of a choice, as OpenRouter has it", async () => {
    const refused = { status: 429, failure: { code: "server_is_overloaded" } };
    const error = { message: "no", code: 429 };
    const failed = { index: 0, finish_reason: "error", error };
    other.streams(`data: ${JSON.stringify({ choices: [{ ...failed, delta: { content: "" } }] })}\n\n`);
    await expect(chunks(chat(openai, "m", HI_STREAM))).rejects.toMatchObject(refused);
    await expect(streamText(messages(openai, "m", HI_STREAM))).rejects.toMatchObject(refused);
    await expect(streamText(respond(openai, "m", RESPONSE))).rejects.toMatchObject(refused);
    other.answers(200, { choices: [{ ...failed, message: { role: "assistant", content: "Hel" } }] });
    await expect(chat(openai, "m", MESSAGE)).rejects.toMatchObject(refused);
    await expect(messages(openai, "m", MESSAGE)).rejects.toMatchObject(refused);
  });

  it("may be no more than the reason, as Mistral has it: the answer is not complete then", async () => {
    const refused = { status: 500, failure: { code: "upstream_error" } };
    const usage = { prompt_tokens: 10, completion_tokens: 2 };
    const failed = { index: 0, finish_reason: "error" };
    other.streams(
      `data: ${JSON.stringify({ choices: [{ ...failed, delta: { content: "Hel" } }], usage })}\n\n`,
    );
    await expect(streamText(messages(openai, "m", HI_STREAM))).rejects.toMatchObject(refused);
    await expect(streamText(respond(openai, "m", RESPONSE))).rejects.toMatchObject(refused);
    other.answers(200, { choices: [{ ...failed, message: { role: "assistant", content: "Hel" } }], usage });
    await expect(messages(openai, "m", MESSAGE)).rejects.toMatchObject({
      ...refused,
      usage: { promptTokens: 10, completionTokens: 2 },
    });
  });

  it.each(["error", "network_error"])(
    "may be no more than the reason %s, for a client of the same format, too",
    async (reason) => {
      const usage = { prompt_tokens: 10, completion_tokens: 2 };
      const refused = { status: 500, failure: { code: "upstream_error" }, usage: { completionTokens: 2 } };
      const failed = { index: 0, finish_reason: reason };
      other.answers(200, { choices: [{ ...failed, message: { role: "assistant", content: "Hel" } }], usage });
      await expect(chat(openai, "m", MESSAGE)).rejects.toMatchObject(refused);
      const chunk = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
      const text = chunk({ choices: [{ ...failed, delta: { content: "Hel" } }] });
      for (const end of ["data: [DONE]\n\n", ""]) {
        other.streams(text, chunk({ choices: [], usage }) + end);
        const answer = await chat(openai, "m", HI_STREAM);
        if (answer.kind === "whole") throw new Error("no stream");
        const events = answer.events[Symbol.asyncIterator]();
        expect((await events.next()).value).toContain("Hel");
        await expect(events.next().then(() => events.next())).rejects.toMatchObject(refused);
      }
    },
  );

  it.each([false, null, "", 0])("counts as no error if it is %j", async (error) => {
    const choices = [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }];
    other.streams(`data: ${JSON.stringify({ error, choices })}\n\ndata: [DONE]\n\n`);
    expect(await chunks(chat(openai, "m", HI_STREAM))).toMatchObject([{ choices }]);
    expect(await streamText(messages(openai, "m", HI_STREAM))).toContain('"text":"Hello"');
  });

  it("has the usage that was told with it", async () => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 500 };
    const first = { choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: null }] };
    const list = [first, { error: { message: "no" }, usage }];
    other.streams(...list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`));
    for (const ask of [chat, messages]) {
      const answer = await ask(openai, "m", HI_STREAM);
      await expect(streamText(Promise.resolve(answer))).rejects.toMatchObject(MALFORMED);
      const soFar = answer.kind === "stream" ? answer.usageSoFar?.() : null;
      expect(soFar).toMatchObject({ promptTokens: 1_000, completionTokens: 500 });
    }
  });
});

describe("a chat completion that is cut off at the beginning of a call", () => {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const called = { index: 0, id: "a", type: "function", function: { name: "w", arguments: "" } };

  it.each([
    ["length", { status: "incomplete", arguments: "" }],
    // A tool without parameters may be called without arguments.
    ["tool_calls", { status: "completed", arguments: "{}" }],
  ])("does not have the call's tool run, where it ends with %s", async (finish, call) => {
    other.streams(chunk({ tool_calls: [called] }), chunk({}, finish), "data: [DONE]\n\n");
    const text = await streamText(respond(openai, "m", { input: "hi", stream: true }));
    const done = text.split("\n").filter((line) => line.includes('"type":"response.output_item.done"'));
    expect(done.map((line) => JSON.parse(line.slice("data: ".length)).item)).toMatchObject([call]);
  });
});

describe("a chat completion that is cut off within a call", () => {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const called = (index: number, input: string) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name: "w", arguments: input },
  });
  const itemsOf = (text: string) =>
    text
      .split("\n")
      .filter((line) => line.includes('"type":"response.output_item.done"'))
      .map((line) => JSON.parse(line.slice("data: ".length)).item);
  const CUT = '{"path": "/tmp/\\u00';

  // vLLM tells of the call though the maximum was reached, and some servers tell no reason.
  it.each(["length", "tool_calls", "stop", null])("is incomplete where it ends with %s", async (reason) => {
    const calls = [called(0, "{}"), called(1, CUT)];
    other.streams(chunk({ tool_calls: calls }), chunk({}, reason), "data: [DONE]\n\n");
    const events = await streamText(respond(openai, "m", { input: "hi", stream: true }));
    expect(itemsOf(events)).toMatchObject([
      { status: "completed", arguments: "{}" },
      { status: "incomplete", arguments: CUT },
    ]);
    const streamed = await streamText(messages(openai, "m", { ...MESSAGE, stream: true }));
    expect(streamed).toContain('"stop_reason":"max_tokens"');
    const message = { role: "assistant", content: null, tool_calls: calls };
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    other.answers(200, { choices: [{ index: 0, message, finish_reason: reason }], usage });
    expect(await whole(respond(openai, "m", { input: "hi" }))).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "completed" }, { status: "incomplete", arguments: CUT }],
    });
    expect(await whole(messages(openai, "m", MESSAGE))).toMatchObject({ stop_reason: "max_tokens" });
  });

  it("is incomplete where the call is of a tool whose input is text", async () => {
    const tools = [{ type: "custom", name: "w" }];
    other.streams(chunk({ tool_calls: [called(0, '{"input":"*** Begin')] }), chunk({}, "tool_calls"));
    const events = await streamText(respond(openai, "m", { input: "hi", stream: true, tools }));
    expect(itemsOf(events)).toMatchObject([
      { type: "custom_tool_call", status: "incomplete", input: "*** Begin" },
    ]);
  });

  it.each(["", "eos", "end_turn"])("has calls whatever its reason is, such as %j", async (reason) => {
    other.streams(chunk({ tool_calls: [called(0, "{}")] }), chunk({}, reason), "data: [DONE]\n\n");
    const text = await streamText(messages(openai, "m", { ...MESSAGE, stream: true }));
    expect(text).toContain('"stop_reason":"tool_use"');
  });

  it.each([
    ["sensitive", "refusal"],
    ["model_context_window_exceeded", "max_tokens"],
  ])("is told in Anthropic's words for Zhipu's %s", async (reason, told) => {
    other.streams(chunk({ content: "Hi" }, reason), "data: [DONE]\n\n");
    const text = await streamText(messages(openai, "m", { ...MESSAGE, stream: true }));
    expect(text).toContain(`"stop_reason":"${told}"`);
  });
});
