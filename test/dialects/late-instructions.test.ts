import { describe, expect, it } from "vitest";
import { chat, messages, replayVendor, respond, upstreamOf, whole } from "./dialect.ts";

const anthropic = upstreamOf("anthropic");
const google = upstreamOf("google");
const vendor = replayVendor(
  /^https:\/\/(?:api\.anthropic\.com\/v1\/messages|models\.example\/v1\/messages|generativelanguage\.googleapis\.com\/v1beta\/models\/)/,
);
const BETA = "mid-conversation-system-2026-04-07";
const ANSWER = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Fine." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
};

const system = (content: string) => ({ role: "system", content });
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const call = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
};
const result = { role: "tool", tool_call_id: "a", content: "sunny" };
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];

/** What is sent for messages, in short: each message's side, and the texts of its blocks or their types. */
async function sentFor(model: string, messages: readonly object[]) {
  vendor.answers(200, ANSWER);
  await whole(chat(anthropic, model, { messages, tools }));
  const { body, headers } = vendor.sent.at(-1) ?? {};
  return {
    system: body.system?.map(({ text }: { text: string }) => text),
    messages: body.messages.map(shortOf),
    isLate: headers?.get("anthropic-beta")?.includes(BETA) ?? false,
  };
}

function shortOf({ role, content }: { role: string; content: { type: string; text?: string }[] }) {
  return [role, ...content.map(({ type, text }) => text ?? type)];
}

const marked = (text: string) => `<system>\n${text}\n</system>`;

describe("instructions within a conversation, for Anthropic", () => {
  it("are a message of their own after what the user says, for models that take that", async () => {
    const sent = await sentFor("claude-opus-5", [system("one"), user("hi"), system("two"), system("three")]);
    expect(sent).toEqual({
      system: ["one"],
      messages: [
        ["user", "hi"],
        ["system", "two", "three"],
      ],
      isLate: true,
    });
  });

  it("stay in their place where they are the only ones", async () => {
    const messages = [user("hi"), call, result, system("be brief"), assistant("ok"), user("well?")];
    const sent = await sentFor("claude-opus-4-8", messages);
    expect(sent.system).toBeUndefined();
    expect(sent.messages).toEqual([
      ["user", "hi"],
      ["assistant", "tool_use"],
      ["user", "tool_result"],
      ["system", "be brief"],
      ["assistant", "ok"],
      ["user", "well?"],
    ]);
  });

  it.each(["claude-sonnet-5", "claude-opus-4-7", "another-vendors-model"])(
    "are the user's, with a mark, for %s, which takes none",
    async (model) => {
      const sent = await sentFor(model, [user("hi"), system("be brief"), assistant("ok"), user("well?")]);
      expect(sent).toEqual({
        system: undefined,
        messages: [
          ["user", "hi", marked("be brief")],
          ["assistant", "ok"],
          ["user", "well?"],
        ],
        isLate: false,
      });
    },
  );

  it.each([
    ["after the model's message", [assistant("ok"), system("x")], [["user", marked("x")]]],
    [
      "before what the user says",
      [assistant("ok"), system("x"), user("well?")],
      [["user", marked("x"), "well?"]],
    ],
  ])("are the user's, with a mark, %s, where no model takes them", async (_, messages, last) => {
    const sent = await sentFor("claude-opus-5", [user("hi"), ...messages]);
    expect(sent).toMatchObject({ system: undefined, isLate: false });
    expect(sent.messages).toEqual([["user", "hi"], ["assistant", "ok"], ...last]);
  });

  it("are the user's, with a mark, between two of the user's messages", async () => {
    const sent = await sentFor("claude-opus-5", [user("hi"), system("x"), user("well?")]);
    expect(sent).toEqual({
      system: undefined,
      messages: [["user", "hi", marked("x"), "well?"]],
      isLate: false,
    });
  });

  it("do not come between a call and its result, which Anthropic refuses", async () => {
    const sent = await sentFor("claude-opus-5", [user("hi"), call, system("x"), user("y"), result]);
    expect(sent.messages).toEqual([
      ["user", "hi"],
      ["assistant", "tool_use"],
      ["user", "tool_result", marked("x"), "y"],
    ]);
  });

  it("are the user's where the platform of the model refuses them, which is remembered", async () => {
    const message = "role 'system' is not supported on this model";
    const messages = [user("hi"), system("be brief")];
    const upstream = upstreamOf("anthropic", { name: "platform" });
    vendor.answers(200, ANSWER);
    vendor.answersOnce(400, { type: "error", error: { type: "invalid_request_error", message } });
    await whole(chat(upstream, "claude-from-next-year", { messages }));
    await whole(chat(upstream, "claude-from-next-year", { messages }));
    expect(vendor.sent.map(({ body }) => body.messages.map(shortOf))).toEqual([
      [
        ["user", "hi"],
        ["system", "be brief"],
      ],
      [["user", "hi", marked("be brief")]],
      [["user", "hi", marked("be brief")]],
    ]);
  });

  it("stay in their place among the items of the Responses API, too", async () => {
    vendor.answers(200, ANSWER);
    const input = [user("hi"), assistant("ok"), { role: "developer", content: "be brief" }, user("well?")];
    await whole(respond(anthropic, "claude-opus-5", { input }));
    expect(vendor.sent[0]?.body).not.toHaveProperty("system");
    expect(vendor.sent[0]?.body.messages.map(shortOf)).toEqual([
      ["user", "hi"],
      ["assistant", "ok"],
      ["user", marked("be brief"), "well?"],
    ]);
  });
});

describe("instructions within a conversation of Claude Code, for a model that takes none", () => {
  const text = (words: string) => ({ type: "text", text: words });
  const cache_control = { type: "ephemeral" };
  const use = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "weather", input: {} }] };
  const told = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "sunny" }] };
  const added = { name: "added", description: "", input_schema: { type: "object" } };
  const request = {
    max_tokens: 9,
    tools: [
      { ...added, name: "weather" },
      { ...added, description: "old" },
    ],
    messages: [
      user("hi"),
      { role: "system", content: [text("one"), { ...text("two"), cache_control }] },
      {
        role: "system",
        content: [{ type: "tool_addition", tool: { type: "tool_definition", definition: added } }],
      },
      use,
      system("three"),
      told,
      { role: "system", content: "for now", clear_at: "next_user_message" },
      assistant("ok"),
      system("four"),
      user("well?"),
      { role: "system", output_config: { effort: "low" } },
    ],
  };
  const sentMessages = [
    { role: "user", content: [text("hi"), { ...text(marked("one\ntwo")), cache_control }] },
    use,
    { role: "user", content: [...told.content, text(marked("three"))] },
    assistant("ok"),
    { role: "user", content: [text("well?"), text(marked("four"))] },
  ];
  const other = () => upstreamOf("anthropic", { baseUrl: "https://models.example/v1" });

  it.each([
    ["claude-sonnet-4-5", 400, { error: { message: "role 'system' is not supported on this model" } }],
    ["minimax", 400, { error: { message: "chat content has invalid message role: system (2013)" } }],
    ["deepseek", 400, { error: { message: "messages[1].role: unknown variant `system`, expected `user`" } }],
    [
      "glm",
      422,
      { detail: [{ loc: ["body", "messages", 1, "role"], msg: "Input should be 'user' or 'assistant'" }] },
    ],
    ["qwen", 400, { error: { message: "System message must be at the beginning." } }],
    ["ollama", 500, { type: "error", error: { message: "system message must be at the beginning" } }],
  ])("are the user's once the server of %s has refused them", async (model, status, refusal) => {
    vendor.answersBy(({ messages: sent }) =>
      sent.some(({ role }: { role: string }) => role === "system")
        ? Response.json(refusal, { status })
        : Response.json(ANSWER),
    );
    const upstream = other();
    for (let times = 0; times < 2; times++) await whole(messages(upstream, model, request));
    const [first, second, third] = vendor.sent.map(({ body }) => body);
    expect(first.messages).toEqual(request.messages);
    expect(second.messages).toEqual(sentMessages);
    expect(second.tools).toEqual([request.tools[0], added]);
    expect(third).toEqual(second);
    expect(vendor.sent).toHaveLength(3);
  });

  it("are the user's if another provider's server refuses the request without a word, each time", async () => {
    vendor.answersBy(({ messages: sent }) =>
      sent.some(({ role }: { role: string }) => role === "system")
        ? Response.json({ error: { message: "Invalid request Error" } }, { status: 400 })
        : Response.json(ANSWER),
    );
    const upstream = other();
    for (let times = 0; times < 2; times++) await whole(messages(upstream, "kimi", request));
    expect(vendor.sent).toHaveLength(4);
    const refused = messages(upstream, "claude-opus-4-5", request);
    await expect(refused).rejects.toMatchObject({ status: 400 });
    expect(vendor.sent).toHaveLength(5);
  });

  it("are sent once if the server refuses the request for another reason", async () => {
    vendor.answers(400, { error: { message: "max_tokens is too large" } });
    await expect(messages(other(), "kimi", request)).rejects.toMatchObject({ status: 400 });
    expect(vendor.sent).toHaveLength(1);
  });

  it("stay as they are for a model that takes them", async () => {
    vendor.answers(200, ANSWER);
    await whole(messages(other(), "claude-opus-5", request));
    expect(vendor.sent.map(({ body }) => body.messages)).toEqual([request.messages]);
  });
});

describe("instructions within a conversation, for Google", () => {
  it("do not come between a call and its result, which Google refuses", async () => {
    const parts = [{ text: "Fine." }];
    vendor.answers(200, { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] });
    const messages = [user("hi"), call, system("x"), user("y"), result];
    await whole(chat(google, "gemini-3-pro", { messages, tools }));
    expect(vendor.sent[0]?.body.contents).toMatchObject([
      { role: "user", parts: [{ text: "hi" }] },
      { role: "model", parts: [{ functionCall: { name: "weather" } }] },
      { role: "user", parts: [{ functionResponse: { name: "weather" } }] },
      { role: "user", parts: [{ text: marked("x") }] },
      { role: "user", parts: [{ text: "y" }] },
    ]);
  });
});
