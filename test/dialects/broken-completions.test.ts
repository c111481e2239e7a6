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

  it("ends its turn if the server tells of calls that it has not made", async () => {
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

  it("is a failure if it tells an error", async () => {
    other.streams('data: {"error":{"message":"no"}}\n\n');
    await expect(chunks(chat(openai, "m", { ...MESSAGE, stream: true }))).rejects.toMatchObject(MALFORMED);
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
