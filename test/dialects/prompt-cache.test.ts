import { describe, expect, it } from "vitest";
import { chat, replayVendor, respond, upstreamOf } from "./dialect.ts";

const vendor = replayVendor(/^https:\/\//);
const OPENAI = "https://api.openai.com/v1";
const OTHER = "https://models.example/v1";
const ANSWERS = {
  openai: {
    choices: [{ message: { content: "Fine." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  },
  "openai-responses": { status: "completed", output: [] },
  anthropic: { content: [], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
  google: {
    candidates: [{ content: { parts: [{ text: "Fine." }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
  },
};
const FIELDS = { prompt_cache_retention: "in_memory", prompt_cache_options: { mode: "explicit" } };
const HI = { role: "user", content: "hi" };

async function ask(wire: "chat" | "responses", dialect: keyof typeof ANSWERS, baseUrl: string) {
  vendor.answers(200, ANSWERS[dialect]);
  const upstream = upstreamOf(dialect, { baseUrl });
  const answer =
    wire === "chat"
      ? await chat(upstream, "m", { messages: [HI], ...FIELDS })
      : await respond(upstream, "m", { input: [HI], ...FIELDS });
  if (answer.kind !== "whole") throw new Error("a stream");
  return { body: vendor.sent.at(-1)?.body, ignored: answer.ignored };
}

describe("what a request says of OpenAI's cache", () => {
  it.each([
    ["chat", "openai-responses"],
    ["responses", "openai"],
  ] as const)(
    "is translated from the wire %s to OpenAI's own upstreams of the dialect %s",
    async (wire, dialect) => {
      const { body, ignored } = await ask(wire, dialect, OPENAI);
      expect(body).toMatchObject(FIELDS);
      expect(ignored).toEqual([]);
    },
  );

  it.each([
    ["chat", "openai-responses"],
    ["chat", "anthropic"],
    ["chat", "google"],
    ["responses", "openai"],
    ["responses", "anthropic"],
    ["responses", "google"],
  ] as const)(
    "is left out, and named, from the wire %s to other upstreams of the dialect %s",
    async (wire, dialect) => {
      const { body, ignored } = await ask(wire, dialect, OTHER);
      expect(Object.keys(body)).not.toEqual(expect.arrayContaining(Object.keys(FIELDS)));
      expect(ignored).toEqual(Object.keys(FIELDS));
    },
  );

  it("is refused where it is of another type", async () => {
    for (const fields of [{ prompt_cache_retention: 5 }, { prompt_cache_options: "explicit" }]) {
      const [name] = Object.keys(fields);
      const asked = chat(upstreamOf("anthropic"), "m", { messages: [HI], ...fields });
      await expect(asked).rejects.toMatchObject({ code: "invalid_request", param: name });
    }
  });
});

describe("a key by which requests that begin alike are cached", () => {
  const anthropic = upstreamOf("anthropic");
  const mark = { cache_control: { type: "ephemeral", ttl: "5m" } };
  const text = (words: string) => ({ type: "text", text: words });
  const call = { type: "function_call", call_id: "a", name: "look", arguments: "{}" };
  const developer = (content: string) => ({ role: "developer", content });
  const input = [developer("Rules."), developer("More rules."), HI, call];
  const result = { type: "function_call_output", call_id: "a", output: "seen" };

  it("has Anthropic cache the instructions and the conversation so far, as other providers do without being asked", async () => {
    vendor.answers(200, ANSWERS.anthropic);
    const asked = { input: [...input, result], prompt_cache_key: "k" };
    const { ignored } = await respond(anthropic, "claude-x", { ...asked, instructions: "Be brief." });
    expect(ignored).toEqual([]);
    const { system, messages } = vendor.sent[0]?.body ?? {};
    expect(system).toEqual([text("Be brief."), text("Rules."), { ...text("More rules."), ...mark }]);
    expect(messages[0].content).toEqual([text("hi")]);
    expect(messages[1].content).toEqual([{ type: "tool_use", id: "a", name: "look", input: {} }]);
    expect(messages[2].content).toEqual([
      { type: "tool_result", tool_use_id: "a", content: "seen", ...mark },
    ]);
    await chat(anthropic, "claude-x", {
      messages: [HI, { ...HI, content: [text("so?"), text(" ")] }],
      prompt_cache_key: "k",
    });
    expect(vendor.sent[1]?.body.messages[0].content).toEqual([text("hi"), { ...text("so?"), ...mark }]);
  });

  it("does not add to what the client has marked itself, and without it nothing is cached", async () => {
    vendor.answers(200, ANSWERS.anthropic);
    const own = { ...HI, content: [{ ...text("long"), ...mark }] };
    await chat(anthropic, "claude-x", { messages: [own, HI], prompt_cache_key: "k" });
    await respond(anthropic, "claude-x", { input });
    const [marked, bare] = vendor.sent.map(({ body }) => body);
    expect(marked.messages[0].content).toEqual([{ ...text("long"), ...mark }, text("hi")]);
    expect(JSON.stringify(bare)).not.toContain("cache_control");
  });
});
