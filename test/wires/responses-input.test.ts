import { beforeAll, describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { answersMessage, startResponsesService } from "./responses-service.ts";

const running = sharedByFile(startResponsesService);
beforeAll(() => {
  running.answers.chat = answersMessage({ content: "ok" });
});

const items = (...input: unknown[]) => ({ input });
const said = (content: unknown) => items({ role: "user", content });
const tool = (fields: object) => ({ tools: [{ type: "function", name: "a", ...fields }] });
const pairs = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));

/** What is wrong, and the field that the error names. */
const WRONG: readonly (readonly [object, string])[] = [
  [{ input: undefined }, "input"],
  [{ input: null }, "input"],
  [{ input: 1 }, "input"],
  [{ input: [] }, "input"],
  [{ model: 1 }, "model"],
  [{ prompt_cache_options: 5 }, "prompt_cache_options"],
  [{ prompt_cache_retention: [[]] }, "prompt_cache_retention"],
  [tool({ description: 5 }), "tools.0.description"],
  [tool({ strict: "yes" }), "tools.0.strict"],
  [{ tool_choice: { type: "allowed_tools", tools: "x" } }, "tool_choice.tools"],
  [{ text: { format: { type: "json_schema", name: "n", schema: {}, strict: "x" } } }, "text.format.strict"],
  [
    { input: [{ role: "user", content: [{ type: "input_image", image_url: "https://a.b/c", detail: 5 }] }] },
    "input.0.content.0.detail",
  ],
  [{ instructions: 1 }, "instructions"],
  [{ stream: "yes" }, "stream"],
  [{ store: "yes" }, "store"],
  [{ background: true }, "background"],
  [{ conversation: "conv_1" }, "conversation"],
  [{ conversation: { id: "conv_1" } }, "conversation"],
  [{ prompt: { id: "pmpt_1" } }, "prompt"],
  [{ previous_response_id: 1 }, "previous_response_id"],
  [{ previous_response_id: "" }, "previous_response_id"],
  [{ max_output_tokens: 0 }, "max_output_tokens"],
  [{ max_output_tokens: 1.5 }, "max_output_tokens"],
  [{ max_output_tokens: "many" }, "max_output_tokens"],
  [{ max_tool_calls: 0 }, "max_tool_calls"],
  [{ temperature: 2.1 }, "temperature"],
  [{ top_p: -0.1 }, "top_p"],
  [{ top_logprobs: 21 }, "top_logprobs"],
  [{ parallel_tool_calls: 1 }, "parallel_tool_calls"],
  [{ truncation: "some" }, "truncation"],
  [{ include: "all" }, "include"],
  [{ include: [1] }, "include.0"],
  [{ metadata: "a" }, "metadata"],
  [{ metadata: { a: 1 } }, "metadata.a"],
  [{ metadata: pairs(17) }, "metadata"],
  [{ metadata: { a: "v".repeat(513) } }, "metadata.a"],
  [{ reasoning: "much" }, "reasoning"],
  [{ reasoning: { effort: 1 } }, "reasoning.effort"],
  [{ reasoning: { effort: "colossal" } }, "reasoning.effort"],
  [{ text: "json" }, "text"],
  [{ text: { verbosity: "loud" } }, "text.verbosity"],
  [{ text: { format: { type: "xml" } } }, "text.format.type"],
  [{ text: { format: { type: "json_schema", schema: {} } } }, "text.format.name"],
  [{ text: { format: { type: "json_schema", name: "a", schema: 1 } } }, "text.format.schema"],
  [{ service_tier: 1 }, "service_tier"],
  [{ user: {} }, "user"],
  [{ prompt_cache_key: 1 }, "prompt_cache_key"],
  [{ stream_options: 1 }, "stream_options"],
  [{ tools: {} }, "tools"],
  [{ tools: [1] }, "tools.0"],
  [{ tools: [{ name: "a" }] }, "tools.0.type"],
  [{ tools: [{ type: "function" }] }, "tools.0.name"],
  [tool({ name: 1 }), "tools.0.name"],
  [tool({ parameters: "a" }), "tools.0.parameters"],
  [{ tools: [{ type: "custom" }] }, "tools.0.name"],
  [{ tools: [{ type: "namespace", name: "a" }] }, "tools.0.tools"],
  [{ tools: [{ type: "namespace", name: "a", tools: [{ type: "function" }] }] }, "tools.0.tools.0.name"],
  [{ tool_choice: "often" }, "tool_choice"],
  [{ tool_choice: {} }, "tool_choice"],
  [{ tool_choice: "required" }, "tool_choice"],
  [{ ...tool({}), tool_choice: { type: "function", name: "b" } }, "tool_choice"],
  [items(1), "input.0"],
  [items({}), "input.0.type"],
  [items({ type: 1 }), "input.0.type"],
  [items({ role: "robot", content: "a" }), "input.0.role"],
  [items({ type: "message", content: "a" }), "input.0.role"],
  [said(undefined), "input.0.content"],
  [said(1), "input.0.content"],
  [said([1]), "input.0.content.0"],
  [said([{ type: "input_text" }]), "input.0.content.0.text"],
  [said([{ type: "novelty" }]), "input.0.content.0"],
  [said([{ type: "input_image" }]), "input.0.content.0.image_url"],
  [said([{ type: "input_image", image_url: 1 }]), "input.0.content.0.image_url"],
  [said([{ type: "input_image", image_url: "file:///etc/passwd" }]), "input.0.content.0.image_url"],
  [said([{ type: "input_image", file_id: "file_1" }]), "input.0.content.0.file_id"],
  [said([{ type: "input_file", file_id: "file_1" }]), "input.0.content.0.file_id"],
  [said([{ type: "input_file" }]), "input.0.content.0.file_data"],
  [said([{ type: "input_file", file_data: "no data" }]), "input.0.content.0.file_data"],
  [
    items({ role: "developer", content: [{ type: "input_image", image_url: "https://a.b/c" }] }),
    "input.0.content.0",
  ],
  [items({ type: "function_call", name: "a", arguments: "{}" }), "input.0.call_id"],
  [items({ type: "function_call", call_id: "a", arguments: "{}" }), "input.0.name"],
  [items({ type: "function_call", call_id: "a", name: "a", arguments: {} }), "input.0.arguments"],
  [items({ type: "custom_tool_call", call_id: "a", name: "a" }), "input.0.input"],
  [items({ type: "function_call_output", output: "1" }), "input.0.call_id"],
  [items({ type: "function_call_output", call_id: "a" }), "input.0.output"],
  [items({ type: "function_call_output", call_id: "a", output: "1" }), "input.0.call_id"],
  [items({ type: "item_reference" }), "input.0.id"],
  [items({ type: "reasoning", summary: 1 }), "input.0.summary"],
  [items({ type: "reasoning", summary: [], encrypted_content: 1 }), "input.0.encrypted_content"],
  [items({ type: "additional_tools", tools: 1 }), "input.0.tools"],
  [items({ type: "additional_tools", tools: [{ type: "custom" }] }), "input.0.tools.0.name"],
  [{ max_tokens: 5 }, "max_tokens"],
  [{ max_completion_tokens: 5 }, "max_completion_tokens"],
  [{ response_format: { type: "json_object" } }, "response_format"],
  [{ reasoning_effort: "low" }, "reasoning_effort"],
  [{ verbosity: "low" }, "verbosity"],
  [{ Input: "a" }, "input"],
  [{ api_base: "http://a.b" }, "api_base"],
];

describe("a request that is not valid", () => {
  it.each(WRONG)("is refused with 400 and its field: %j", async (body, param) => {
    const before = running.chat.received.length;
    for (const stream of [false, true]) {
      const answer = await running.post({ input: "hello", stream, ...body });
      expect(answer.status).toBe(400);
      const { error } = await answer.json();
      expect(error).toMatchObject({ type: "invalid_request_error", code: "invalid_request", param });
      expect(error.message).not.toBe("");
    }
    expect(running.chat.received.length).toBe(before);
  });

  it("is refused for the models of the Responses API, too", async () => {
    for (const [body, param] of [
      [{ background: true }, "background"],
      [{ temperature: 3 }, "temperature"],
      [items({ type: "function_call", call_id: "a" }), "input.0.name"],
    ] as const) {
      const answer = await running.post({ model: "acme/native", input: "hello", ...body });
      expect(answer.status).toBe(400);
      expect((await answer.json()).error.param).toBe(param);
    }
    expect(running.native.received).toHaveLength(0);
  });

  it.each([
    ["/v1/chat/completions", { input: [{ role: "user", content: "hi" }] }, "messages", "/v1/responses"],
    ["/v1/chat/completions", { input: "hi", messages: null }, "messages", "/v1/responses"],
    ["/v1/responses", { messages: [{ role: "user", content: "hi" }] }, "input", "/v1/chat/completions"],
  ])("is refused with the path of the API that its body is of: %s %j", async (path, body, param, other) => {
    const answer = await fetch(`${running.service.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${running.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/chat", ...body }),
    });
    expect(answer.status).toBe(400);
    const { error } = await answer.json();
    expect(error).toMatchObject({ code: "invalid_request", param });
    expect(error.message).toContain(`POST ${other}`);
  });

  it("names an unknown model", async () => {
    const answer = await running.post({ model: "acme/none", input: "hello" });
    expect(answer.status).toBe(404);
    expect((await answer.json()).error).toMatchObject({ code: "model_not_found", param: "model" });
  });
});

describe("a request of which nothing is left for a model", () => {
  const EMPTY: readonly (readonly [string, object])[] = [
    ["an unknown item", items({ type: "bogus" })],
    ["an unknown item beside instructions", { ...items({ type: "bogus" }), instructions: "Be brief." }],
    ["a thought", items({ type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] })],
    ["a thought of another provider", items({ type: "reasoning", summary: [], encrypted_content: "x" })],
    ["a message without parts", said([])],
  ];

  it.each(EMPTY)("is refused, and names the input: %s", async (_, body) => {
    const before = running.chat.received.length;
    const answer = await running.post(body);
    expect(answer.status).toBe(400);
    const { error } = await answer.json();
    expect(error).toMatchObject({ code: "invalid_request", param: "input" });
    expect(error.message).toContain("nothing that this model can read");
    expect(running.chat.received.length).toBe(before);
  });

  it("is not one that continues a response and adds nothing", async () => {
    const first = await running.ask({ input: "hello" });
    for (const body of [{}, items(), items({ type: "reasoning", summary: [] })]) {
      const answer = await running.post({ ...body, previous_response_id: first.id });
      expect(answer.status).toBe(200);
    }
  });

  it("is passed on by an upstream of the Responses API, which knows more items", async () => {
    const before = running.native.received.length;
    running.answers.native = ({ response }) => response.writeHead(500).end("{}");
    await running.post({ model: "acme/native", ...items({ type: "bogus" }) });
    expect(running.native.received.length).toBeGreaterThan(before);
  });
});

describe("values that ask for nothing", () => {
  it("are accepted", async () => {
    const nothing = Object.fromEntries(
      ["instructions", "tools", "tool_choice", "text", "reasoning", "metadata", "include", "conversation"]
        .concat(["prompt", "previous_response_id", "max_output_tokens", "truncation", "user", "background"])
        .concat(["max_tokens", "response_format"])
        .map((name) => [name, null]),
    );
    const answer = await running.post({ input: "hello", ...nothing, stream: false });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("ostiary-ignored-fields")).toBeNull();
  });
});

describe("a change of settings within the input, as the AI SDK sends it", () => {
  const update = (fields: object) => ({ type: "configuration_update", ...fields });
  const schema = { type: "object", properties: { a: { type: "number", maximum: 1.0 } } };
  const format = { type: "json_schema", name: "a", schema };
  const hi = { role: "user", content: "hi" };
  const sent = async (body: object) => {
    const answer = await running.post({ reasoning: { effort: "high" }, ...body });
    expect(answer.status).toBe(200);
    const asked = running.chat.received.at(-1)?.body;
    const { reasoning_effort: effort, messages } = asked ?? {};
    const ignored = answer.headers.get("ostiary-ignored-fields");
    return { effort, format: asked?.response_format, messages, ignored };
  };

  it("sets the effort and the format until a later one replaces it", async () => {
    const low = update({ reasoning: { effort: "low" } });
    const json = update({ text: { format } });
    expect(await sent({ input: [low, hi] })).toMatchObject({
      effort: "low",
      messages: [hi],
      ignored: null,
    });
    const both = await sent({ input: [low, hi, json, update({ reasoning: { effort: "max" } })] });
    expect(both).toMatchObject({ effort: "max", format: { type: "json_schema" } });
    const plain = await sent({ input: [json, hi, update({ text: { format: { type: "text" } } })] });
    expect(plain).toMatchObject({ effort: "high", format: undefined });
    const fields = { input: [hi, update({ reasoning: { effort: null } })], text: { format } };
    expect(await sent(fields)).toMatchObject({ effort: undefined, format: { type: "json_schema" } });
  });

  it("is told of what else it would change, and refused for what no model has", async () => {
    const more = update({ id: "cu_1", reasoning: { effort: "low", mode: "pro" }, tools: [] });
    expect((await sent({ input: [hi, more] })).ignored).toBe("input.1.tools, input.1.reasoning.mode");
    for (const [wrong, param] of [
      [{ reasoning: { effort: "ultra" } }, "input.1.reasoning.effort"],
      [{ text: { format: { type: "xml" } } }, "input.1.text.format.type"],
    ] as const) {
      const answer = await running.post({ input: [hi, update(wrong)] });
      expect([answer.status, (await answer.json()).error.param]).toEqual([400, param]);
    }
  });
});

describe("operations beside it that are not served", () => {
  it.each(["responses/compact", "responses/input_tokens", "responses/resp_1/cancel", "alpha/search"])(
    "answer 404 with what to do: %s",
    async (path) => {
      const answer = await fetch(`${running.service.baseUrl}/v1/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${running.key}`, "content-type": "application/json" },
        body: "{}",
      });
      expect(answer.status).toBe(404);
      expect((await answer.json()).error).toMatchObject({
        code: "not_found",
        message: expect.stringContaining(" "),
      });
    },
  );

  it("name the right path for a base URL without /v1", async () => {
    const answer = await fetch(`${running.service.baseUrl}/responses`, { method: "POST", body: "{}" });
    expect((await answer.json()).error.message).toContain("/v1/responses");
  });
});

describe("the list of models", () => {
  it("has Codex's shape beside OpenAI's for a client that sends its version", async () => {
    const headers = { authorization: `Bearer ${running.key}` };
    const list = async (query: string) =>
      await (await fetch(`${running.service.baseUrl}/v1/models${query}`, { headers })).json();
    const plain = await list("");
    expect(plain).not.toHaveProperty("models");
    expect(await list("?client_version=0.150.0")).toEqual({ ...plain, models: [] });
    expect(await list("?client_version=")).toEqual(plain);
  });
});
