import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { chatWhole, HI, image, startMessagesService, TOOL } from "./messages-service.ts";

const service = sharedByFile(startMessagesService);

const sent = () => service.sent();

describe("a request of the Messages API for an upstream of chat completions", () => {
  it("carries everything that chat completions can express, in its order", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    await service.post({
      ...HI,
      system: [
        { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } },
        { type: "text", text: "Be kind." },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "What is this?" }, image()] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "of another provider" },
            { type: "text", text: "Let me look." },
            { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [{ type: "text", text: "sunny" }, image()],
            },
            { type: "text", text: "So?", cache_control: { type: "ephemeral" } },
          ],
        },
        { role: "system", content: "Answer in French." },
        { role: "assistant", content: "Oui." },
        { role: "user", content: [searchResult(), { type: "text", text: "And?" }] },
      ],
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ["END"],
      tools: [TOOL],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      output_config: { format: { type: "json_schema", schema: { type: "object" } } },
      metadata: { user_id: "u" },
    });
    const url = "data:image/png;base64,iVBORw0KGgo=";
    expect(sent()).toEqual({
      model: "inner",
      messages: [
        { role: "system", content: "Be brief.\nBe kind." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url } },
          ],
        },
        {
          role: "assistant",
          content: "Let me look.",
          tool_calls: [
            { id: "toolu_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
          ],
        },
        { role: "tool", tool_call_id: "toolu_1", content: "sunny\n[image below]" },
        { role: "user", content: [{ type: "image_url", image_url: { url } }] },
        { role: "user", content: "So?" },
        { role: "system", content: "Answer in French." },
        { role: "assistant", content: "Oui." },
        {
          role: "user",
          content: [
            { type: "text", text: "Facts\nSource: https://x.test\nWater is wet." },
            { type: "text", text: "And?" },
          ],
        },
      ],
      max_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      stop: ["END"],
      tools: [
        {
          type: "function",
          function: { name: "weather", description: TOOL.description, parameters: TOOL.input_schema },
        },
      ],
      tool_choice: "required",
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
    });
  });

  it("keeps the titles and contexts of documents, which the model reads", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    const about = { type: "document", title: "Report", context: "From 2026." };
    const pdf = { type: "base64", media_type: "application/pdf", data: "AAAA" };
    const content = [
      { ...about, source: { type: "text", media_type: "text/plain", data: "plain" } },
      { ...about, source: { type: "content", content: [{ type: "text", text: "in blocks" }] } },
      { ...about, source: pdf },
      { type: "document", title: "", context: null, source: { type: "content", content: "bare" } },
    ];
    expect((await service.post({ ...HI, messages: [{ role: "user", content }] })).status).toBe(200);
    const text = (value: string) => ({ type: "text", text: value });
    expect(sent().messages[0].content).toEqual([
      text("Report\nFrom 2026.\nplain"),
      text("Report\nFrom 2026."),
      text("in blocks"),
      text("From 2026."),
      { type: "file", file: { filename: "Report", file_data: "data:application/pdf;base64,AAAA" } },
      text("bare"),
    ]);
  });

  it("leaves out tools that only Anthropic runs, and names them", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    const response = await service.post({
      ...HI,
      tools: [{ type: "web_search_20250305", name: "web_search" }, TOOL],
      tool_choice: { type: "auto" },
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: [
            { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
            { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
            { type: "text", text: "Found." },
          ],
        },
        { role: "user", content: "so?" },
      ],
      top_k: 5,
      container: "c",
      context_management: { edits: [] },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("ostiary-ignored-fields")).toBe(
      "messages.1.content.0, messages.1.content.1, tools.0, container, context_management, top_k",
    );
    expect(sent().tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
      "weather",
    ]);
    expect(sent().messages[1]).toEqual({ role: "assistant", content: "Found." });
  });

  it("has no line for Anthropic's bills, which differs in each request, so that caches of prompts find its beginning", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    const line = (cch: string) => `x-anthropic-billing-header: cc_version=2.1.177.01c; cch=${cch};`;
    const rules = { type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } };
    const instructions = async (system: unknown) => {
      const response = await service.post({ ...HI, system });
      expect(response.headers.get("ostiary-ignored-fields")).toMatch(/^system(?:\.0)?$/);
      return sent().messages[0];
    };
    const expected = { role: "system", content: "You are an agent." };
    expect(await instructions([{ type: "text", text: line("36ee5") }, rules])).toEqual(expected);
    expect(await instructions(`${line("0aaa9")}\n${rules.text}`)).toEqual(expected);
    expect((await instructions(line("0aaa9"))).role).toBe("user");
  });

  it.each([
    [{ type: "adaptive" }, undefined],
    [{ type: "disabled" }, "none"],
  ])("is answered by a model without thinking, with thinking %j", async (thinking, effort) => {
    service.answers.chat = chatWhole({ content: "Fine." });
    expect((await service.post({ ...HI, max_tokens: 2_000, thinking })).status).toBe(200);
    expect(sent().reasoning_effort).toBe(effort);
  });

  it("may search for tools and add them within the conversation, as Claude Code does", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    const definition = { ...TOOL, name: "added" };
    const response = await service.post({
      ...HI,
      tools: [{ ...TOOL, defer_loading: true }],
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: [
            { type: "compaction", content: "They said hi." },
            { type: "tool_use", id: "a", name: "ToolSearch", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "a",
              content: [{ type: "tool_reference", tool_name: "weather" }],
            },
          ],
        },
        {
          role: "system",
          content: [
            { type: "tool_addition", tool: { type: "tool_definition", definition } },
            { type: "tool_removal", tool: { type: "tool_reference", name: "weather" } },
          ],
        },
      ],
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("ostiary-ignored-fields")).toBe("messages.3.content.1");
    expect(sent().tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
      "weather",
      "added",
    ]);
    expect(sent().messages.slice(1)).toMatchObject([
      { role: "assistant", content: "They said hi.", tool_calls: [{ id: "a" }] },
      { role: "tool", content: "Found tool: weather" },
    ]);
  });

  it("may have values that are newer than this service, as clients send them to every model", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    const newer = {
      thinking: { type: "adaptive", display: "updates" },
      output_config: { effort: "newest" },
      service_tier: "newest",
    };
    expect((await service.post({ ...HI, ...newer })).status).toBe(200);
    expect(sent().reasoning_effort).toBeUndefined();
  });

  it.each([
    { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
    { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 2_000 },
    { thinking: { type: "disabled" } },
  ])("is sent again without its effort if the model has none: %j", async (asked) => {
    service.answers.chat = (request) => {
      if (request.body.reasoning_effort === undefined) return chatWhole({ content: "Fine." })(request);
      const message = "Unrecognized request argument supplied: reasoning_effort";
      request.response.writeHead(400, { "content-type": "application/json" });
      request.response.end(JSON.stringify({ error: { message, param: null, code: null } }));
    };
    const response = await service.post({ ...HI, ...asked });
    expect(response.status).toBe(200);
    expect(response.headers.get("ostiary-ignored-fields")).toBe("thinking");
  });

  it("is sent again without an effort that only follows from its budget, if the model takes no temperature with it", async () => {
    service.answers.chat = (request) => {
      if (request.body.reasoning_effort === undefined) return chatWhole({ content: "Fine." })(request);
      const message = "Unsupported value: 'temperature' does not support 0.5 with this model.";
      request.response.writeHead(400, { "content-type": "application/json" });
      request.response.end(
        JSON.stringify({ error: { message, param: "temperature", code: "unsupported_value" } }),
      );
    };
    const thinking = { type: "enabled", budget_tokens: 5_000 };
    const asked = { ...HI, max_tokens: 6_000, top_p: 0.95, thinking };
    const response = await service.post(asked);
    expect(response.headers.get("ostiary-ignored-fields")).toBe("thinking");
    expect(sent()).toMatchObject({ top_p: 0.95 });
    const effort = { ...asked, output_config: { effort: "low" } };
    expect((await service.post(effort)).status).toBe(400);
  });

  it("may ask for a single token, as clients do to try a model", async () => {
    service.answers.chat = chatWhole({ content: "H" }, "length");
    const response = await service.post({ ...HI, max_tokens: 1 });
    expect(await response.json()).toMatchObject({ stop_reason: "max_tokens", content: [{ text: "H" }] });
  });

  it("can't only write its prompt to a cache", async () => {
    const response = await service.post({ ...HI, max_tokens: 0 });
    expect(response.status).toBe(400);
    const message = "max_tokens: must be at least 1 for this model";
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", message } });
  });

  it("can't ask for a summary in the place of an answer", async () => {
    const response = await service.post({ ...HI, compaction: { type: "summarize" } });
    expect(response.status).toBe(400);
    const message = expect.stringMatching(/^compaction: is not supported by this model's provider/);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", message } });
  });
});

describe("a request for more tokens than the model gives", () => {
  it("is sent for as many as it gives, because clients ask for as many as Anthropic's models give", async () => {
    service.answers.chat = chatWhole({ content: "Fine." });
    expect((await service.post({ ...HI, model: "acme/short", max_tokens: 32_000 })).status).toBe(200);
    expect(sent().max_tokens).toBe(50);
    expect((await service.post({ ...HI, model: "acme/short", max_tokens: 20 })).status).toBe(200);
    expect(sent().max_tokens).toBe(20);
  });
});

describe("a context that is too long", () => {
  it("is told in the words by which clients shorten a conversation", async () => {
    service.answers.chat = ({ response }) => {
      const error = {
        message: "This model's maximum context length is 8192 tokens.",
        code: "context_length_exceeded",
      };
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    };
    const response = await service.post(HI);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        type: "invalid_request_error",
        message: expect.stringMatching(/^prompt is too long: This model's/),
      },
    });
  });
});

function searchResult() {
  return {
    type: "search_result",
    title: "Facts",
    source: "https://x.test",
    content: [{ type: "text", text: "Water is wet." }],
  };
}
