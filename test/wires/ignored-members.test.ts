import { beforeAll, describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { chatWhole, HI, NATIVE_MESSAGE, startMessagesService, TOOL } from "./messages-service.ts";

// Members within fields that are translated, which have no equivalent elsewhere: a client is told that they were left out.
const service = sharedByFile(startMessagesService);
beforeAll(() => {
  service.answers.chat = chatWhole({ content: "ok" });
  service.answers.native = ({ response }) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(NATIVE_MESSAGE));
});

const messages = (body: object) => service.post({ ...HI, ...body });

function post(path: string, body: object): Promise<Response> {
  return fetch(service.service.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${service.owner.key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const chat = (body: object) =>
  post("/v1/chat/completions", {
    model: "acme/native",
    messages: [{ role: "user", content: "hi" }],
    ...body,
  });
const responses = (body: object) => post("/v1/responses", { model: "acme/chat", input: "hi", ...body });

async function ignoredBy(answer: Response): Promise<string | null> {
  expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
  return answer.headers.get("ostiary-ignored-fields");
}

async function refusalBy(answer: Response): Promise<string> {
  expect(answer.status).toBe(400);
  return (await answer.json()).error.message;
}

describe("a request of the Messages API", () => {
  const SOURCE = { type: "text", media_type: "text/plain", data: "grass is green" };

  it("is told of citations that other providers do not give", async () => {
    const document = { type: "document", source: SOURCE };
    const result = {
      type: "search_result",
      title: "t",
      source: "s",
      content: [{ type: "text", text: "x" }],
    };
    const withCitations = [document, result].map((block) => ({ ...block, citations: { enabled: true } }));
    const content = [...withCitations, { ...document, citations: { enabled: false } }];
    expect(await ignoredBy(await messages({ messages: [{ role: "user", content }] }))).toBe(
      "messages.0.content.0.citations, messages.0.content.1.citations",
    );
  });

  it("is told of members of messages and blocks, and not of what a model has written beside its text", async () => {
    const text = { type: "text", text: "x" };
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
    };
    const call = { type: "tool_use", id: "a", name: "weather", input: {}, caller: { type: "direct" } };
    const citations = [{ type: "char_location", cited_text: "x" }];
    const answer = await messages({
      system: [{ ...text, tone: "x" }],
      messages: [
        {
          role: "user",
          content: [
            { ...image, detail: "high" },
            { ...text, is_new: false },
          ],
          priority: 1,
        },
        {
          role: "assistant",
          content: [
            { ...text, citations },
            { ...call, deadline: 5 },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "a",
              is_error: false,
              cache_control: { type: "ephemeral" },
              content: [{ type: "document", source: SOURCE, title: "t", context: "c", pages: [1] }],
              took: 3,
            },
            { type: "search_result", title: "t", source: "s", content: [{ ...text, rank: 1 }], score: 2 },
          ],
        },
      ],
      tools: [TOOL],
    });
    expect((await ignoredBy(answer))?.split(", ")).toEqual([
      "system.0.tone",
      "messages.0.priority",
      "messages.0.content.0.detail",
      "messages.1.content.1.deadline",
      "messages.2.content.0.took",
      "messages.2.content.1.score",
      "messages.2.content.0.content.0.pages",
      "messages.2.content.1.content.0.rank",
    ]);
  });

  it("is told of members of tools, and not of those that change nothing", async () => {
    const tools = [
      { ...TOOL, type: "custom", cache_control: { type: "ephemeral" }, eager_input_streaming: true },
      { ...TOOL, name: "b", defer_loading: true, strict: null },
      { ...TOOL, name: "c", input_examples: [{ city: "Bern" }], allowed_callers: ["code_execution"] },
    ];
    expect(await ignoredBy(await messages({ tools }))).toBe(
      "tools.2.input_examples, tools.2.allowed_callers",
    );
  });

  it("is told of an effort, a budget and a tier that nobody else knows", async () => {
    const config = { effort: "ultra", task_budget: { type: "tokens", total: 1_000 } };
    const answer = await messages({ output_config: config, service_tier: "priority" });
    expect(await ignoredBy(answer)).toBe("service_tier, output_config.effort, output_config.task_budget");
    expect(
      await ignoredBy(await messages({ output_config: { effort: "low" }, service_tier: "auto" })),
    ).toBeNull();
  });

  it("is refused if it demands a call of a tool that is left out, or that it does not have", async () => {
    const typed = [
      { type: "web_search_20250305", name: "web_search" },
      { type: "bash_20250124", name: "bash" },
    ];
    const cannotCall = "tool_choice: requires a tool that this model can call";
    const isNotSupported =
      "tool_choice: is not supported by this model's provider; remove it, or choose another model";
    const isMissing = "tool_choice: must name one of the tools";
    const demand = async (tools: readonly object[] | undefined, choice: object) =>
      refusalBy(await messages({ tools, tool_choice: choice }));
    expect(await demand(typed, { type: "any" })).toBe(cannotCall);
    expect(await demand(undefined, { type: "any" })).toBe("tool_choice: requires tools");
    for (const name of ["web_search", "bash"]) {
      expect(await demand(typed, { type: "tool", name })).toBe(isNotSupported);
      expect(await demand([...typed, TOOL], { type: "tool", name })).toBe(isNotSupported);
    }
    expect(await demand([...typed, TOOL], { type: "tool", name: "missing" })).toBe(isMissing);
    expect(await demand(undefined, { type: "tool", name: "missing" })).toBe(isMissing);
    for (const type of ["auto", "none"]) {
      expect(await ignoredBy(await messages({ tools: typed, tool_choice: { type } }))).toBe(
        "tools.0, tools.1",
      );
    }
    expect(await ignoredBy(await messages({ tools: [...typed, TOOL], tool_choice: { type: "any" } }))).toBe(
      "tools.0, tools.1",
    );
  });
});

describe("a request of the Responses API", () => {
  const TOOLS = [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }];

  it("is told of members of tools, of reasoning and of the text", async () => {
    const tools = [
      { ...TOOLS[0], strict: false, defer_loading: true, is_new: false },
      { ...TOOLS[0], name: "g", output_schema: {} },
      { type: "namespace", name: "n", tools: [{ ...TOOLS[0], output_schema: {} }] },
      { type: "custom", name: "c", description: "d", format: { type: "text" }, examples: [] },
    ];
    const answer = await responses({
      tools,
      reasoning: { effort: "low", mode: "pro", context: "x" },
      text: { format: { type: "text" }, verbosity: "low", tone: "x" },
    });
    expect(await ignoredBy(answer)).toBe(
      "reasoning.mode, reasoning.context, text.tone, tools.1.output_schema, tools.2.tools.0.output_schema, tools.3.examples",
    );
    expect(await ignoredBy(await responses({ tools: TOOLS, reasoning: { effort: "low" } }))).toBeNull();
  });
});

describe("a chat completion", () => {
  const FUNCTION = { name: "f", description: "d", parameters: { type: "object", properties: {} } };
  const TOOLS = [{ type: "function", function: FUNCTION }];

  it("is told of members of tools", async () => {
    const tools = [
      { type: "function", function: { ...FUNCTION, strict: null, returns: {} }, cost: 1 },
      { type: "function", function: { ...FUNCTION, name: "g" }, defer_loading: true },
    ];
    expect(await ignoredBy(await chat({ tools }))).toBe("tools.0.cost, tools.0.function.returns");
  });

  it("is refused if a field is of another type than it has, as its own provider would", async () => {
    for (const [name, value] of [
      ["user", 3],
      ["safety_identifier", {}],
      ["prompt_cache_key", 1],
      ["service_tier", 3],
      ["verbosity", 3],
    ] as const) {
      expect(await refusalBy(await chat({ [name]: value }))).toBe(`${name}: must be a text`);
    }
    expect(await refusalBy(await chat({ metadata: "x" }))).toBe("metadata: must be an object");
    const called = (member: object) =>
      chat({ tools: [{ type: "function", function: { ...FUNCTION, ...member } }] });
    const tool = "tools.0.function";
    expect(await refusalBy(await called({ description: ["d"] }))).toBe(`${tool}.description: must be a text`);
    expect(await refusalBy(await called({ strict: "yes" }))).toBe(`${tool}.strict: must be true or false`);
    expect(await refusalBy(await called({ parameters: "{}" }))).toContain(`${tool}.parameters`);
    const formatted = (member: object) =>
      chat({ response_format: { type: "json_schema", json_schema: { name: "f", schema: {}, ...member } } });
    const format = "response_format.json_schema";
    expect(await refusalBy(await formatted({ schema: "{}" }))).toBe(`${format}.schema: must be an object`);
    expect(await refusalBy(await formatted({ strict: 1 }))).toBe(`${format}.strict: must be true or false`);
  });

  it("is refused if it allows or chooses tools that it does not have", async () => {
    const allowed = (tools: unknown, mode = "auto") => ({
      tools: TOOLS,
      tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools } },
    });
    const missing = { type: "function", function: { name: "missing" } };
    const no = "tool_choice: allowed_tools must name some of the tools";
    expect(await refusalBy(await chat(allowed([missing], "required")))).toBe(no);
    expect(await refusalBy(await chat(allowed([])))).toBe(no);
    expect(await refusalBy(await chat(allowed(undefined)))).toBe(no);
    expect(await refusalBy(await chat({ tools: TOOLS, tool_choice: { type: "allowed_tools" } }))).toBe(no);
    expect(await refusalBy(await chat({ tools: TOOLS, tool_choice: missing }))).toBe(
      "tool_choice: must name one of the tools",
    );
    expect(await ignoredBy(await chat(allowed([{ type: "function", function: { name: "f" } }])))).toBeNull();
  });

  it("says what to do about a part that can't be translated", async () => {
    const part = (one: object) => chat({ messages: [{ role: "user", content: [one] }] });
    expect(await refusalBy(await part({ type: "image_url", image_url: "https://a.test/b.png" }))).toBe(
      "messages.0.content.0.image_url: must be an object with a url",
    );
    const unsupported = "is not supported by this model's provider; remove it, or choose another model";
    expect(await refusalBy(await part({ type: "video_url", video_url: { url: "https://a.test" } }))).toBe(
      `messages.0.content.0: ${unsupported}`,
    );
    const content = [{ type: "input_video", url: "https://a.test" }];
    expect(await refusalBy(await responses({ input: [{ role: "user", content }] }))).toBe(
      `input.0.content.0: ${unsupported}`,
    );
  });
});

describe("the detail of a file of a response", () => {
  it("is named, because only OpenAI's models have one", async () => {
    const file = { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" };
    const asked = (detail: unknown) =>
      responses({ input: [{ role: "user", content: [{ ...file, detail }] }] });
    expect(await ignoredBy(await asked("high"))).toBe("input.0.content.0.detail");
    for (const usual of ["auto", null, undefined]) expect(await ignoredBy(await asked(usual))).toBeNull();
  });
});

describe("a message that is empty", () => {
  const USER = { role: "user", content: "hi" };

  it.each([[""], ["  "], [[]], [[{ type: "text", text: "" }]]])(
    "is refused where its provider would not know what to answer: %j",
    async (content) => {
      const answer = await chat({ messages: [{ role: "user", content }] });
      expect(await refusalBy(answer)).toBe(
        "messages: has nothing that this model can read. Send at least one message",
      );
    },
  );

  it("is left out of a conversation that says something", async () => {
    const turns = ["hi", "", "there"].map((content) => ({ role: "user", content }));
    expect(await ignoredBy(await chat({ messages: turns }))).toBeNull();
  });

  it("is left out beside those of the model, as Anthropic refuses it", async () => {
    const said = (text: string) => ({ role: "assistant", content: text });
    const turns = [USER, said("a"), { role: "user", content: " " }, said("b"), USER];
    expect(await ignoredBy(await chat({ messages: [{ role: "user", content: "" }, ...turns] }))).toBeNull();
    const sent = service.native.received.at(-1)?.body.messages;
    const text = (one: string) => ({ type: "text", text: one });
    expect(sent).toEqual([
      { role: "user", content: [text("hi")] },
      { role: "assistant", content: [text("a"), text("b")] },
      { role: "user", content: [text("hi")] },
    ]);
  });

  it.each([
    ["", ".content"],
    [[], ""],
    [[{ type: "text", text: " " }], ".content.0"],
  ])(
    "is refused at the end, after one of the model's, which the model would go on with: %j",
    async (content, place) => {
      const turns = [USER, { role: "assistant", content: "a" }, { role: "user", content }];
      expect(await refusalBy(await chat({ messages: turns }))).toBe(
        `messages${place === "" ? "" : `.2${place}`}: must not be empty after a message of the model`,
      );
      const after = [
        { role: "user", content: "and?" },
        { role: "user", content },
      ];
      expect(await ignoredBy(await chat({ messages: [...turns.slice(0, 2), ...after] }))).toBeNull();
    },
  );
});

describe("a part of a message", () => {
  const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };

  it("of a chat completion is sent without members that others do not have, and the client is told", async () => {
    const part = { type: "text", text: "hi" };
    const content = [
      { ...part, cache_control: { type: "ephemeral" }, annotations: null },
      { ...part, ...breakpoint },
    ];
    const messages = [
      { role: "system", content: [{ ...part, ...breakpoint }] },
      { role: "user", content },
    ];
    expect(await ignoredBy(await chat({ messages }))).toBe(
      "messages.0.content.0.prompt_cache_breakpoint, messages.1.content.1.prompt_cache_breakpoint",
    );
  });

  it("of a response, too, and not of what a model has said before", async () => {
    const said = { type: "output_text", text: "Yes?", annotations: [], logprobs: [] };
    const input = [
      { role: "user", content: [{ type: "input_text", text: "hi", ...breakpoint }] },
      { type: "message", role: "assistant", id: "msg_1", status: "completed", content: [said] },
      { type: "function_call", call_id: "a", name: "w", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "a",
        output: [{ type: "input_text", text: "x", ...breakpoint }],
      },
    ];
    expect(await ignoredBy(await responses({ input }))).toBe(
      "input.0.content.0.prompt_cache_breakpoint, input.3.output.0.prompt_cache_breakpoint",
    );
  });

  it("is not the only one: items have members that others do not have, such as the phase of a message", async () => {
    const said = { type: "output_text", text: "Yes?" };
    const call = { type: "function_call", id: "fc_1", status: "completed", call_id: "a", arguments: "{}" };
    const result = { call_id: "a", output: "x" };
    const input = [
      { role: "user", content: "hi", tone: "x" },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        status: "completed",
        phase: "commentary",
        content: [said],
      },
      { ...call, name: "w", namespace: null, caller: { type: "program" }, async: true },
      { ...result, type: "function_call_output", id: "fco_1", status: null, caller: { type: "program" } },
      { type: "reasoning", id: "rs_1", summary: [], content: [], encrypted_content: null, async: false },
    ];
    expect(await ignoredBy(await responses({ input }))).toBe(
      "input.0.tone, input.1.phase, input.2.caller, input.2.async, input.3.caller",
    );
  });

  it("is not the only one: a namespace of tools has no other members elsewhere", async () => {
    const tools = [
      { type: "namespace", name: "n", description: "d", tools: [{ type: "function", name: "f" }], x: 1 },
    ];
    expect(await ignoredBy(await responses({ tools }))).toBe("tools.0.x");
  });
});
