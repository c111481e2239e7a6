import { describe, expect, it } from "vitest";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { expectResponseStream, type ResponseEvent } from "./response-stream.ts";
import {
  answersMessage,
  chunk,
  sentTo,
  startResponsesService,
  streamsChunks,
  USAGE,
} from "./responses-service.ts";

const running = sharedByFile(startResponsesService);

const GRAMMAR = 'start: "*** Begin Patch" LF';
const APPLY_PATCH = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files.",
  format: { type: "grammar", syntax: "lark", definition: GRAMMAR },
};
const tool = (name: string) => ({
  type: "function",
  name,
  description: name,
  parameters: { type: "object" },
});
const namespace = (name: string, tools: readonly object[]) => ({
  type: "namespace",
  name,
  description: "",
  tools,
});
const additional = (tools: readonly object[]) => ({ type: "additional_tools", role: "developer", tools });
const called = (index: number, id: string, name: string, pieces: readonly string[], extra: object = {}) => [
  chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" }, ...extra }] }),
  ...pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
];

/** Asks for a stream in which the model makes the calls. */
async function outputOf(body: object, chunks: readonly object[]): Promise<ResponseEvent[]> {
  running.answers.chat = streamsChunks([...chunks, chunk({}, "tool_calls", USAGE)]);
  return expectResponseStream(await running.stream({ input: "go", ...body })).output;
}

const toolNames = () => sentTo(running.chat).tools.map((one: ResponseEvent) => one.function.name);

describe("tools that an input item brings along, as Codex sends them", () => {
  it("are offered to the model, and the item is not a message", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({
      tools: [tool("plain")],
      input: [additional([tool("exec_command"), APPLY_PATCH]), { role: "user", content: "go" }],
      tool_choice: "auto",
    });
    expect(toolNames()).toEqual(["plain", "exec_command", "apply_patch"]);
    expect(sentTo(running.chat).messages).toEqual([{ role: "user", content: "go" }]);
  });

  it("replace tools of the same name", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    const changed = { ...tool("exec_command"), description: "changed" };
    await running.ask({
      input: [additional([tool("exec_command")]), additional([changed]), { role: "user", content: "go" }],
    });
    expect(sentTo(running.chat).tools).toMatchObject([{ function: { description: "changed" } }]);
  });
});

describe("tools in a namespace", () => {
  const tools = [
    namespace("mcp__echo", [tool("say"), tool("get.it")]),
    namespace("functions", [tool("exec")]),
  ];

  it("have flat names at the upstream, bare in the implicit namespace", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({ input: "go", tools });
    expect(toolNames()).toEqual(["mcp__echo__say", "mcp__echo__get_it", "exec"]);
  });

  it("have the description of the namespace once, as the first one's", async () => {
    const described = { ...namespace("mcp__echo", [tool("say"), tool("get")]), description: "Echoes." };
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({ input: "go", tools: [described] });
    expect(sentTo(running.chat).tools.map((one: ResponseEvent) => one.function.description)).toEqual([
      "say\n\nAbout all tools of mcp__echo: Echoes.",
      "get",
    ]);
  });

  it("are called by namespace and name", async () => {
    const output = await outputOf({ tools }, [
      ...called(0, "call_1", "mcp__echo__say", ['{"text":"hi"}']),
      ...called(1, "call_2", "mcp__echo__get_it", ["{}"]),
      ...called(2, "call_3", "exec", ["{}"]),
    ]);
    expect(output).toMatchObject([
      { type: "function_call", namespace: "mcp__echo", name: "say", arguments: '{"text":"hi"}' },
      { type: "function_call", namespace: "mcp__echo", name: "get.it" },
      { type: "function_call", namespace: "functions", name: "exec" },
    ]);
  });

  it("have flat names in the history, too", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({
      tools,
      input: [
        { role: "user", content: "go" },
        { type: "function_call", call_id: "c", namespace: "mcp__echo", name: "say", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: "hi" },
      ],
    });
    expect(sentTo(running.chat).messages[1].tool_calls[0].function.name).toBe("mcp__echo__say");
  });

  it("keep apart from each other however they are named", async () => {
    const long = "n".repeat(100);
    const alike = [tool("a__b"), namespace("a", [tool("b")]), namespace(long, [tool("one"), tool("two")])];
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({ input: "go", tools: alike });
    const names: string[] = toolNames();
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const output = await outputOf(
      { tools: alike },
      names.flatMap((name, index) => called(index, `call_${index}`, name, ["{}"])),
    );
    expect(output.map((item) => [item.namespace, item.name])).toEqual([
      [undefined, "a__b"],
      ["a", "b"],
      [long, "one"],
      [long, "two"],
    ]);
  });

  it("pass on the call of a tool that nobody has offered", async () => {
    const output = await outputOf({ tools }, called(0, "call_1", "unheard", ["{}"]));
    expect(output).toMatchObject([{ type: "function_call", name: "unheard" }]);
    expect(output[0]).not.toHaveProperty("namespace");
  });
});

describe("a custom tool", () => {
  it("is a function with one text, and the model is told the grammar", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({ input: "go", tools: [APPLY_PATCH] });
    const [{ function: offered }] = sentTo(running.chat).tools;
    expect(offered.name).toBe("apply_patch");
    expect(offered.parameters).toMatchObject({
      properties: { input: { type: "string" } },
      required: ["input"],
    });
    expect(offered.description).toContain("Edits files.");
    expect(offered.description).toContain(GRAMMAR);
  });

  it("is called with plain text, decoded as it comes", async () => {
    const text = 'line "one"\n\ttwo \\ three \u{1f600} end';
    const escaped = JSON.stringify({ input: text }).replace("\u{1f600}", "\\ud83d\\ude00");
    // A piece for each character: escapes and pairs of surrogates are split.
    const output = await outputOf({ tools: [APPLY_PATCH] }, called(0, "c1", "apply_patch", [...escaped]));
    expect(output).toMatchObject([
      { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: text, status: "completed" },
    ]);
    expect(output[0]?.id).toMatch(/^ctc_/);
    expect(output[0]).not.toHaveProperty("arguments");
  });

  it("streams no half of a character", async () => {
    running.answers.chat = streamsChunks([
      ...called(0, "c1", "apply_patch", ['{"input":"a\\ud83d', "\\ude", '00b"}']),
      chunk({}, "tool_calls", USAGE),
    ]);
    const events = await running.stream({ input: "go", tools: [APPLY_PATCH] });
    expectResponseStream(events);
    const deltas = events.filter(({ type }) => type === "response.custom_tool_call_input.delta");
    expect(deltas.map(({ delta }) => delta).join("")).toBe("a\u{1f600}b");
    for (const { delta } of deltas) expect(delta.isWellFormed?.() ?? true).toBe(true);
    expect(deltas.length).toBeGreaterThan(1);
  });

  it.each([
    ["with white space", '{ "input" : "x" }', "x"],
    ["another name", '{"patch":"x"}', "x"],
    ["several names", '{"a":"x","input":"y"}', "y"],
    ["plain text", "*** Begin Patch", "*** Begin Patch"],
    ["nothing", "", ""],
    ["broken off", '{"input":"x', "x"],
  ])("takes an input in other forms: %s", async (_, input, expected) => {
    const output = await outputOf({ tools: [APPLY_PATCH] }, called(0, "c1", "apply_patch", [input]));
    expect(output).toMatchObject([{ type: "custom_tool_call", input: expected }]);
  });

  it("has its calls and results in the history", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({
      tools: [APPLY_PATCH],
      input: [
        { role: "user", content: "go" },
        { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: 'a "b"' },
        { type: "custom_tool_call_output", call_id: "c", output: "done" },
      ],
    });
    const [, said, result] = sentTo(running.chat).messages;
    expect(JSON.parse(said.tool_calls[0].function.arguments)).toEqual({ input: 'a "b"' });
    expect(result).toEqual({ role: "tool", tool_call_id: "c", content: "done" });
  });
});

describe("the search for tools that the client runs", () => {
  const search = {
    type: "tool_search",
    execution: "client",
    description: "Finds tools.",
    parameters: { type: "object" },
  };

  it("is a call of its own kind", async () => {
    const output = await outputOf({ tools: [search] }, called(0, "c1", "tool_search", ['{"query":"x"}']));
    expect(output).toMatchObject([
      { type: "tool_search_call", call_id: "c1", execution: "client", arguments: { query: "x" } },
    ]);
  });

  it("offers the tools that were found", async () => {
    running.answers.chat = answersMessage({ content: "ok" });
    const answer = await running.post({
      tools: [search],
      input: [
        { role: "user", content: "go" },
        { type: "tool_search_call", call_id: "c1", execution: "client", arguments: { query: "x" } },
        {
          type: "tool_search_output",
          call_id: "c1",
          execution: "client",
          tools: [namespace("found", [tool("it")])],
        },
      ],
    });
    expect(answer.headers.get("ostiary-ignored-fields")).toBeNull();
    expect(toolNames()).toEqual(["tool_search", "found__it"]);
    const [, said, result] = sentTo(running.chat).messages;
    expect(said.tool_calls[0].function).toEqual({ name: "tool_search", arguments: '{"query":"x"}' });
    expect(result).toMatchObject({
      role: "tool",
      tool_call_id: "c1",
      content: expect.stringContaining("found"),
    });
  });
});

describe("instructions in several messages", () => {
  it("are one message for a model that takes no others, and later ones are said as the user", async () => {
    running.answers.chat = (request) => {
      const { messages } = request.body as { messages: { role: string }[] };
      if (messages.slice(1).every(({ role }) => role !== "system"))
        return answersMessage({ content: "ok" })(request);
      request.response.writeHead(400, { "content-type": "application/json" });
      const message = "jinja template rendering failed. System message must be at the beginning.";
      request.response.end(JSON.stringify({ error: { message, type: "BadRequestError" } }));
    };
    const developer = (content: string) => ({ type: "message", role: "developer", content });
    const input = [developer("second"), { role: "user", content: "go" }, developer("third")];
    for (let turn = 0; turn < 2; turn++) {
      const before = running.chat.received.length;
      await running.ask({ instructions: "first", input });
      expect(sentTo(running.chat).messages).toEqual([
        { role: "system", content: "first\nsecond" },
        { role: "user", content: "go" },
        { role: "user", content: "<system>\nthird\n</system>" },
      ]);
      expect(running.chat.received.length - before).toBe(turn === 0 ? 2 : 1);
    }
  });
});

describe("a thought before a call", () => {
  const tools = [tool("first")];
  const answer = [chunk({ reasoning_content: "Hm" }), ...called(0, "call_1", "first", ["{}"])];
  const result = { type: "function_call_output", call_id: "call_1", output: "1" };

  it("comes back to its upstream, when the client sends encrypted reasoning", async () => {
    const output = await outputOf({ tools, store: false, include: ["reasoning.encrypted_content"] }, answer);
    expect(output).toMatchObject([{ type: "reasoning" }, { type: "function_call" }]);
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({ tools, store: false, input: [{ role: "user", content: "go" }, ...output, result] });
    expect(sentTo(running.chat).messages[1]).toMatchObject({
      reasoning_content: "Hm",
      tool_calls: [{ id: "call_1" }],
    });
  });

  it("comes back with a stored response", async () => {
    running.answers.chat = streamsChunks([...answer, chunk({}, "tool_calls", USAGE)]);
    const { id } = expectResponseStream(await running.stream({ input: "go", tools }));
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({ tools, previous_response_id: id, input: [result] });
    expect(sentTo(running.chat).messages[1]).toMatchObject({ reasoning_content: "Hm" });
  });

  it("comes back to an upstream that refuses messages without thoughts, though it is not encrypted", async () => {
    const output = await outputOf({ tools, store: false }, answer);
    running.answers.chat = (request) => {
      if (JSON.stringify(request.body).includes("reasoning_content"))
        return answersMessage({ content: "ok" })(request);
      const message = "The `reasoning_content` in the thinking mode must be passed back to the API.";
      request.response.writeHead(400, { "content-type": "application/json" });
      request.response.end(JSON.stringify({ error: { message } }));
    };
    await running.ask({ tools, store: false, input: [{ role: "user", content: "go" }, ...output, result] });
    expect(sentTo(running.chat).messages[1]).toMatchObject({ reasoning_content: "Hm" });
  });
});

describe("what a provider wants back with a call", () => {
  const extra = { extra_content: { google: { thought_signature: "c2lnbmVk" } } };
  const tools = [tool("first")];
  const calls = called(0, "call_1", "first", ["{}"], extra);

  it("comes back sealed, when the client sends encrypted reasoning", async () => {
    const output = await outputOf({ tools, store: false, include: ["reasoning.encrypted_content"] }, calls);
    expect(output).toMatchObject([
      { type: "function_call" },
      { type: "reasoning", summary: [], encrypted_content: expect.stringMatching(/^ost1\./) },
    ]);
    expect(JSON.stringify(output)).not.toContain("c2lnbmVk");
    running.answers.chat = answersMessage({ content: "ok" });
    const result = { type: "function_call_output", call_id: "call_1", output: "1" };
    await running.ask({ tools, store: false, input: [{ role: "user", content: "go" }, ...output, result] });
    expect(sentTo(running.chat).messages[1].tool_calls).toMatchObject([{ id: "call_1", ...extra }]);
  });

  it("is kept with a stored response", async () => {
    running.answers.chat = streamsChunks([...calls, chunk({}, "tool_calls", USAGE)]);
    const response = expectResponseStream(await running.stream({ input: "go", tools }));
    expect(JSON.stringify(response)).not.toContain("encrypted_content");
    running.answers.chat = answersMessage({ content: "ok" });
    await running.ask({
      tools,
      previous_response_id: response.id,
      input: [{ type: "function_call_output", call_id: "call_1", output: "1" }],
    });
    expect(sentTo(running.chat).messages[1].tool_calls).toMatchObject([{ id: "call_1", ...extra }]);
  });

  it("is not opened for another account", async () => {
    const output = await outputOf({ tools, store: false, include: ["reasoning.encrypted_content"] }, calls);
    const { key } = await signUpWithKey(running.service.baseUrl);
    running.answers.chat = answersMessage({ content: "ok" });
    const result = { type: "function_call_output", call_id: "call_1", output: "1" };
    const input = [{ role: "user", content: "go" }, ...output, result];
    const answer = await running.post({ tools, store: false, input }, { key });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(sentTo(running.chat))).not.toContain("c2lnbmVk");
  });
});
