import { describe, expect, it } from "vitest";
import type { Turn } from "../../server/src/conversation/conversation.ts";
import { EMPTY_CONVERSATION } from "../../server/src/conversation/conversation.ts";
import { messageIn } from "../wires/messages-events.ts";
import { chat, converse, messages, replayVendor, streamText, upstreamOf, whole } from "./dialect.ts";

const google = upstreamOf("google");
const anthropic = upstreamOf("anthropic");
const MODEL = "gemini-3-pro";
const GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models";
const OPENAI = "https://api.openai.com/v1";
const OTHER = "https://models.example/v1";
const vendor = replayVendor(
  new RegExp(`^(?:${GOOGLE}/gemini-[\\w.-]+:|https://api.anthropic.com/v1/messages|${OPENAI}/|${OTHER}/)`),
);

const TOOL = { name: "weather", description: "", input_schema: { type: "object", properties: {} } };
const HI = { max_tokens: 100, messages: [{ role: "user", content: "hi" }] };
const thought = { text: "Hm", thought: true, thoughtSignature: "dGhvdWdodA==" };
const call = { functionCall: { name: "weather", args: {} }, thoughtSignature: "Y2FsbA==" };
const generated = (...parts: object[]) => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
});

// biome-ignore lint/suspicious/noExplicitAny: a wire format, compared with what it should be
type Any = any;

describe("a message for Google", () => {
  async function secondTurn(content: Any[]): Promise<Any> {
    vendor.answers(200, generated({ text: "Fine." }));
    const id = content.find(({ type }) => type === "tool_use").id;
    const result = { type: "tool_result", tool_use_id: id, content: "sunny" };
    await whole(
      messages(google, MODEL, {
        ...HI,
        tools: [TOOL],
        messages: [
          ...HI.messages,
          { role: "assistant", content },
          { role: "user", content: [result] },
          { role: "system", content: "Be brief." },
        ],
      }),
    );
    return vendor.sent.at(-1)?.body;
  }

  it("leaves out, and names, that the AI SDK allows only one call to every model", async () => {
    vendor.answers(200, generated({ text: "Fine." }));
    const choice = { type: "tool", name: "weather", disable_parallel_tool_use: true };
    const answer = await messages(google, MODEL, { ...HI, tools: [TOOL], tool_choice: choice });
    expect(answer.kind === "whole" && answer.ignored).toEqual(["tool_choice.disable_parallel_tool_use"]);
  });

  it("keeps the signatures of thoughts and calls across turns, sealed", async () => {
    vendor.answers(200, generated(thought, call));
    const asked = { ...HI, tools: [TOOL], thinking: { type: "adaptive" } };
    const { content, stop_reason: reason } = await whole(messages(google, MODEL, asked));
    expect(reason).toBe("tool_use");
    expect(content.map(({ type }: Any) => type)).toEqual(["thinking", "redacted_thinking", "tool_use"]);
    expect(JSON.stringify(content)).not.toMatch(/dGhvdWdodA|Y2FsbA/);
    const { contents } = await secondTurn(content);
    expect(contents[1].parts).toMatchObject([thought, call]);
  });

  it("keeps them in a stream, too, and for a client that sees no thoughts", async () => {
    vendor.streams(`data: ${JSON.stringify(generated(thought, call))}\n\n`);
    const asked = { ...HI, tools: [TOOL], stream: true };
    const { content } = messageIn(await streamText(messages(google, MODEL, asked)));
    expect(content.map(({ type }: Any) => type)).toEqual(["redacted_thinking", "tool_use"]);
    const { contents } = await secondTurn(content);
    expect(contents[1].parts).toMatchObject([call]);
  });

  it("has instructions from within the conversation in their place", async () => {
    vendor.answers(200, generated(call));
    const { content } = await whole(messages(google, MODEL, { ...HI, tools: [TOOL] }));
    const { contents } = await secondTurn(content);
    expect(JSON.stringify(contents.at(-1))).toContain("<system>\\nBe brief.\\n</system>");
  });

  it.each([
    ["gemini-2.5-flash", 31_999, 24_576],
    ["gemini-2.5-pro", 31_999, 31_999],
    ["gemini-2.5-pro", 60_000, 32_768],
    ["gemini-3-pro", 60_000, 60_000],
  ])("keeps a budget for thoughts within what %s takes", async (model, budget, sent) => {
    vendor.answers(200, generated({ text: "Fine." }));
    const thinking = { type: "enabled", budget_tokens: budget };
    await messages(google, model, { ...HI, max_tokens: 64_000, thinking });
    const thinkingConfig = { includeThoughts: true, thinkingBudget: sent };
    expect(vendor.sent[0]?.body.generationConfig.thinkingConfig).toEqual(thinkingConfig);
  });

  it("turns thinking off where the client does, as far as the model can", async () => {
    vendor.answers(200, generated({ text: "Fine." }));
    const ask = (model: string, type = "disabled") => messages(google, model, { ...HI, thinking: { type } });
    for (const model of [MODEL, "gemini-2.5-flash", "gemini-2.5-pro"]) await ask(model);
    await ask("gemini-2.5-flash", "between_tools");
    expect(vendor.sent.map(({ body }) => body.generationConfig.thinkingConfig)).toEqual([
      { thinkingLevel: "low" },
      { thinkingBudget: 0 },
      { thinkingBudget: 128 },
      { thinkingBudget: 0 },
    ]);
  });

  it("is sent without thinking to a model that has none", async () => {
    const message = "Unable to submit request because Thinking is not supported by this model.";
    vendor.answers(200, generated({ text: "Fine." }));
    vendor.answers(400, { error: { code: 400, message, status: "INVALID_ARGUMENT" } }, { once: true });
    const answer = await messages(google, MODEL, { ...HI, thinking: { type: "adaptive" } });
    expect(answer.kind === "whole" && answer.ignored).toEqual(["thinking"]);
    expect(vendor.sent).toHaveLength(2);
    expect(vendor.sent[1]?.body.generationConfig.thinkingConfig).toBeUndefined();
  });
});

describe("a message for OpenAI", () => {
  const whole = {
    id: "x",
    object: "chat.completion",
    choices: [{ message: { content: "Fine." }, finish_reason: "stop" }],
  };
  const response = { object: "response", status: "completed", output: [] };
  const efforts = [
    [{ type: "enabled", budget_tokens: 1_024 }, "low"],
    [{ type: "enabled", budget_tokens: 4_999 }, "low"],
    [{ type: "enabled", budget_tokens: 5_000 }, "medium"],
    [{ type: "enabled", budget_tokens: 9_999 }, "medium"],
    [{ type: "enabled", budget_tokens: 10_000 }, "high"],
    [{ type: "adaptive" }, undefined],
    [{ type: "disabled" }, "none"],
    [{ type: "between_tools" }, "none"],
    [undefined, undefined],
  ] as const;

  it.each(efforts)("asks with %j for the effort %s", async (thinking, effort) => {
    const ask = (dialect: string) =>
      messages(upstreamOf(dialect, { baseUrl: OPENAI }), "gpt-5", { ...HI, max_tokens: 20_000, thinking });
    vendor.answers(200, response);
    await ask("openai-responses");
    vendor.answers(200, whole);
    const answer = await ask("openai");
    const [responses, chat] = vendor.sent;
    expect(responses?.body.reasoning?.effort).toBe(effort);
    expect(chat?.body.reasoning_effort).toBe(effort);
    expect(answer.ignored).toEqual(thinking?.type === "adaptive" ? ["thinking"] : []);
  });

  const longId = `chatcmpl-tool-${"0123456789abcdef".repeat(4)}`;
  const afterLongId = {
    ...HI,
    tools: [TOOL],
    messages: [
      ...HI.messages,
      { role: "assistant", content: [{ type: "tool_use", id: longId, name: "weather", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: longId, content: "sunny" }] },
    ],
  };

  it("has shorter ids of calls where other servers have longer ones than OpenAI takes", async () => {
    vendor.answers(200, whole);
    await messages(upstreamOf("openai", { baseUrl: OPENAI }), "gpt-5", afterLongId);
    const [, said, result] = vendor.sent[0]?.body.messages ?? [];
    expect(said.tool_calls[0].id).toMatch(/^call_\w{32}$/);
    expect(result.tool_call_id).toBe(said.tool_calls[0].id);
    vendor.answers(200, response);
    await messages(upstreamOf("openai-responses", { baseUrl: OPENAI }), "gpt-5", afterLongId);
    const [, item, output] = vendor.sent[1]?.body.input ?? [];
    expect(item.call_id).toMatch(/^call_\w{32}$/);
    expect(output.call_id).toBe(item.call_id);
  });

  it.each([
    ["openai-responses", response],
    ["openai", whole],
  ])(
    "names the user of Claude Code, whose id is longer than OpenAI takes, by a hash: %s",
    async (dialect, answer) => {
      const ask = (user: string) => {
        vendor.answers(200, answer);
        const asked = { ...HI, metadata: { user_id: user } };
        return messages(upstreamOf(dialect, { baseUrl: OPENAI }), "gpt-5", asked);
      };
      const long = `user_${"0".repeat(64)}_account__session_6e5cbd59-6a3e-4b4c-9a70-d4e40c9f12ba`;
      for (const user of [long, long, `${long}1`, "u-1"]) await ask(user);
      const [first, again, other, short] = vendor.sent.map(({ body }) => body.safety_identifier);
      expect(first).toMatch(/^\w{32}$/);
      expect(again).toBe(first);
      expect(other).not.toBe(first);
      expect(short).toBe("u-1");
      // OpenAI caches the beginning of the session's prompts by it.
      expect(vendor.sent.map(({ body }) => body.prompt_cache_key)).toEqual([first, again, other, undefined]);
    },
  );

  it("does not name the user to other servers of chat completions, which may refuse the field", async () => {
    vendor.answers(200, whole);
    const user = JSON.stringify({ device_id: "d", session_id: "s" });
    const asked = { ...HI, metadata: { user_id: user } };
    await messages(upstreamOf("openai", { baseUrl: OTHER }), "m", asked);
    const { safety_identifier: named, prompt_cache_key: key } = vendor.sent[0]?.body ?? {};
    expect([named, key]).toEqual([undefined, undefined]);
    vendor.answers(200, response);
    await messages(upstreamOf("openai-responses", { baseUrl: OTHER }), "m", asked);
    expect(vendor.sent[1]?.body.prompt_cache_key).toBeUndefined();
  });

  const openai = upstreamOf("openai", { baseUrl: OPENAI });
  const [hi, said] = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "Hello." },
  ];
  const low = { role: "system", output_config: { effort: "low" } };
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sunny" }] };
  const called = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "w", input: {} }] };

  it.each([
    ["after the user's last words", [hi, low], "low"],
    ["before them", [hi, said, low, hi], "low"],
    ["before the results of tools, which are no words", [hi, called, low, result], "high"],
    ["after those", [hi, called, result, low], "high"],
    ["and another one later", [hi, low, said, { ...low, output_config: { effort: "max" } }, hi], "max"],
    ["that nobody else knows", [hi, { ...low, output_config: { effort: "ultra" } }], undefined],
  ])("asks for the effort that the conversation sets %s", async (_, turns, effort) => {
    vendor.answers(200, whole);
    await messages(openai, "gpt-5", { max_tokens: 100, messages: turns, output_config: { effort: "high" } });
    expect(vendor.sent[0]?.body.reasoning_effort).toBe(effort);
    expect(JSON.stringify(vendor.sent[0]?.body)).not.toContain("system");
  });

  it("has instructions for one turn only until the user's next message", async () => {
    vendor.answers(200, whole);
    const brief = { role: "system", content: "Be brief.", clear_at: "next_user_message" };
    const sent = async (turns: object[]) => {
      await messages(openai, "gpt-5", { max_tokens: 100, messages: turns });
      return vendor.sent.at(-1)?.body.messages.map(({ role }: { role: string }) => role);
    };
    expect(await sent([hi, brief])).toEqual(["user", "system"]);
    expect(await sent([hi, brief, said, hi])).toEqual(["user", "assistant", "user"]);
  });

  it("asks for the effort that stands beside a budget", async () => {
    vendor.answers(200, whole);
    const thinking = { type: "enabled", budget_tokens: 10_000 };
    const asked = { ...HI, max_tokens: 20_000, thinking, output_config: { effort: "xhigh" } };
    await messages(upstreamOf("openai", { baseUrl: OPENAI }), "gpt-5", asked);
    expect(vendor.sent[0]?.body.reasoning_effort).toBe("xhigh");
  });
});

describe("a chat completion that credit covers only in part", () => {
  it("is limited in the field that its upstream knows", async () => {
    const completion = { object: "chat.completion", choices: [{ message: { content: "Fine." } }] };
    vendor.answers(200, completion);
    const asked = { messages: HI.messages };
    await chat(upstreamOf("openai", { baseUrl: OPENAI }), "gpt-5", asked, { maxTokens: 50, ownLimit: 50 });
    await chat(upstreamOf("openai", { baseUrl: OTHER }), "other", asked, { maxTokens: 50, ownLimit: 50 });
    const [openai, other] = vendor.sent.map(({ body }) => body);
    expect(openai).toEqual({ model: "gpt-5", ...asked, max_completion_tokens: 50 });
    expect(other).toEqual({ model: "other", ...asked, max_tokens: 50 });
  });
});

describe("a chat completion that allows some of its tools only", () => {
  const tool = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
  const allowed = (mode: string, ...names: string[]) => ({
    messages: HI.messages,
    tools: [tool("weather"), tool("time"), tool("news")],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode, tools: names.map((name) => ({ type: "function", function: { name } })) },
    },
  });

  it("offers those, in the mode that is asked for", async () => {
    vendor.answers(200, generated({ text: "Fine." }));
    await chat(google, MODEL, allowed("required", "time", "news"));
    const [declared] = vendor.sent[0]?.body.tools ?? [];
    expect(declared.functionDeclarations.map(({ name }: Any) => name)).toEqual(["time", "news"]);
    expect(vendor.sent[0]?.body.toolConfig).toEqual({ functionCallingConfig: { mode: "ANY" } });
    await expect(chat(google, MODEL, allowed("required", "other"))).rejects.toMatchObject({
      param: "tool_choice",
    });
  });
});

describe("a chat completion with instructions alone", () => {
  const asked = {
    messages: [
      { role: "system", content: "Tell a joke." },
      { role: "developer", content: "About Rome." },
    ],
  };

  it("says them as the user, whom Anthropic's and Google's models answer", async () => {
    const answer = { type: "message", role: "assistant", model: "m", content: [], stop_reason: "end_turn" };
    vendor.answers(200, { id: "msg_1", ...answer, usage: { input_tokens: 1, output_tokens: 1 } });
    await chat(anthropic, "claude-sonnet-4-5", asked);
    const said = ["Tell a joke.", "About Rome."].map((text) => ({ type: "text", text }));
    expect(vendor.sent[0]?.body.messages).toEqual([{ role: "user", content: said }]);
    expect(vendor.sent[0]?.body).not.toHaveProperty("system");
    vendor.answers(200, generated({ text: "Fine." }));
    await chat(google, MODEL, asked);
    expect(vendor.sent[1]?.body.contents).toEqual([
      { role: "user", parts: [{ text: "Tell a joke." }] },
      { role: "user", parts: [{ text: "About Rome." }] },
    ]);
  });
});

describe("a conversation of another wire for Anthropic", () => {
  it("keeps what is to be cached, part by part, and Anthropic's own signatures", async () => {
    const answer = { type: "message", role: "assistant", model: "m", content: [], stop_reason: "end_turn" };
    vendor.answers(200, { id: "msg_1", ...answer, usage: { input_tokens: 1, output_tokens: 1 } });
    const text = (words: string, cache: "5m" | "1h" | null = null) =>
      ({ kind: "text", text: words, cache, at: "" }) as const;
    const signature = (provider: string) => ({ provider, fields: { signature: "EqQBCg==" } });
    const part = { cache: null, at: "" };
    const turns: Turn[] = [
      { role: "system", parts: [text("one"), text("two", "5m"), text("three", "1h")] },
      { role: "user", parts: [text("hi")] },
      {
        role: "assistant",
        parts: [
          { kind: "reasoning", text: "hm", signature: signature("anthropic"), ...part },
          { kind: "reasoning", text: "other", signature: signature("google"), ...part },
          { kind: "call", id: "a", name: "weather", input: "{}", signature: null, ...part },
        ],
      },
      {
        role: "tool",
        parts: [{ kind: "result", callId: "a", parts: [text("sunny")], isError: true, cache: "5m", at: "" }],
      },
    ];
    await converse(anthropic, "claude-sonnet-4-5", { ...EMPTY_CONVERSATION, turns, maxTokens: 10 });
    const { system, messages: sent } = vendor.sent[0]?.body ?? {};
    const ephemeral = (ttl: string) => ({ cache_control: { type: "ephemeral", ttl } });
    expect(system).toEqual([
      { type: "text", text: "one" },
      { type: "text", text: "two", ...ephemeral("5m") },
      { type: "text", text: "three", ...ephemeral("1h") },
    ]);
    expect(sent[1].content).toMatchObject([
      { type: "thinking", thinking: "hm", signature: "EqQBCg==" },
      { type: "tool_use", id: "a" },
    ]);
    expect(sent[2].content).toMatchObject([{ type: "tool_result", is_error: true, ...ephemeral("5m") }]);
  });
});
